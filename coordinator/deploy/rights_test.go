package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// What each server may do follows from the plan, and all else is refused. The
// table is the whole deployment: a node, who may read it, who may write it.
func TestRightsFollowFromThePlan(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		type servers = []contract.ServerPath
		cell := func(server contract.ServerPath, name contract.CellName) store.Path {
			return deploytest.Site.Cell(contract.CellRef{Cell: name, Server: server})
		}
		table := []struct {
			path          store.Path
			reads, writes servers
		}{
			{deploytest.Site.Root(), nil, nil},
			{deploytest.Site.Ready(), nil, nil},
			{deploytest.Site.Plan(), nil, nil},
			{deploytest.Site.Files(), nil, nil},
			{deploytest.Site.File(deploytest.MysqlScript), servers{"db"}, nil},
			{deploytest.Site.File(deploytest.WebScript), servers{"app"}, nil},
			{deploytest.Site.Servers(), nil, nil},
			{cell("db", "db:first_address"), servers{"db", "app"}, servers{"db"}},
			{cell("db", "db.mysql:endpoint"), servers{"db", "app"}, servers{"db"}},
			{cell("db", "db.mysql"), servers{"db", "lb"}, servers{"db"}},
			{cell("app", "app.web:port"), servers{"app", "lb"}, servers{"app"}},
			{cell("app", "app.web"), servers{"app"}, servers{"app"}},
			{cell("lb", "lb.proxy"), servers{"lb"}, servers{"lb"}},
		}
		for _, s := range deploytest.ThreeTier().Servers {
			own := servers{s.Path}
			table = append(table, []struct {
				path          store.Path
				reads, writes servers
			}{
				{deploytest.Site.Server(s.Path), own, own},
				{deploytest.Site.ServerPlan(s.Path), own, nil},
				{deploytest.Site.Keys(s.Path), own, nil},
				{deploytest.Site.State(s.Path), own, own},
				{deploytest.Site.Log(s.Path, s.Roles[0].Name), own, own},
				{deploytest.Site.Agent(s.Path), nil, nil},
				{deploytest.Site.Cells(s.Path), nil, nil},
			}...)
		}
		all := servers{"db", "app", "lb"}
		sessions := map[contract.ServerPath]store.Session{}
		for _, s := range all {
			sessions[s] = b.Session(t, s)
		}
		strangers := map[string]store.Session{
			"nobody":             b.Open(t),
			"another secret's":   b.Open(t, protocol.ServerCredential("db", deploytest.Another.ServerToken(deploytest.Site, "db"))),
			"another stack's db": b.Open(t, protocol.ServerCredential("db", deploytest.Secret.ServerToken("site2", "db"))),
			"a false operator":   b.Open(t, deploytest.Another.Operator(deploytest.Site)),
		}
		operator := b.Operator(t)
		for _, row := range table {
			for _, s := range all {
				deploytest.ExpectRights(t, string(s), sessions[s], row.path, slices.Contains(row.reads, s), slices.Contains(row.writes, s))
			}
			for who, s := range strangers {
				deploytest.ExpectRights(t, who, s, row.path, false, false)
			}
			deploytest.ExpectRights(t, "the operator", operator, row.path, true, true)
		}
		for _, s := range all {
			for _, of := range all {
				err := deploytest.CreateChild(t.Context(), sessions[s], deploytest.Site.Agent(of))
				if allowed := err == nil; allowed != (s == of) {
					t.Errorf("%s announces %s: %v", s, of, err)
				}
			}
			for _, row := range table {
				if strings.HasSuffix(string(row.path), "/agent") {
					continue
				}
				if err := deploytest.CreateChild(t.Context(), sessions[s], row.path); !errors.Is(err, store.ErrRefused) {
					t.Errorf("%s makes a node below %s: %v", s, row.path, err)
				}
			}
			if err := sessions[s].DeleteTree(t.Context(), deploytest.Site.Server(s)); !errors.Is(err, store.ErrRefused) {
				t.Errorf("%s deletes its own server: %v", s, err)
			}
		}
	})
}

// More than eight readers of a cell, or users of a file, are a set with an
// identity of its own; nobody else is in it.
func TestReadersSets(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		for _, n := range []int{8, 9, 40} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				p := deploytest.FanOut(n)
				p.Servers = append(p.Servers, contract.Server{Path: "other"})
				b.Publish(t, p)
				defer deploy.Destroy(context.Background(), b.Operator(t), deploytest.Site)
				if err := b.Agent(t, "head").Put(t.Context(), "head.boss:key", json.RawMessage(`"k"`), deploytest.Noon); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					m := b.Agent(t, contract.ServerPath(fmt.Sprintf("node/%d", i)))
					if got, err := m.Await(t.Context(), "head.boss:key", member.AwaitOptions{}); err != nil || string(got) != `"k"` {
						t.Fatalf("reader %d: %s, %v", i, got, err)
					}
					if _, err := m.File(t.Context(), deploytest.WebScript); err != nil {
						t.Fatalf("the file of reader %d: %v", i, err)
					}
				}
				other := b.Session(t, "other")
				if _, err := member.Join(other, deploytest.Site, "other", deploytest.TokenOf("other")).Plan(t.Context()); err != nil {
					t.Fatal(err)
				}
				deploytest.ExpectRights(t, "a server that is not a reader", other, deploytest.Site.Cell(contract.CellRef{Cell: "head.boss:key", Server: "head"}), false, false)
				deploytest.ExpectRights(t, "a server that does not use it", other, deploytest.Site.File(deploytest.WebScript), false, false)
			})
		}
	})
}
