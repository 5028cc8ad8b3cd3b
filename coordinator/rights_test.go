package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
)

// What each server may do follows from the plan, and all else is refused. The
// table is the whole deployment: a node, who may read it, who may write it.
func TestRightsFollowFromThePlan(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		b.publish(t, threeTier())
		type servers = []contract.ServerPath
		cell := func(server contract.ServerPath, name contract.CellName) coordinator.Path {
			return site.Cell(contract.CellRef{Cell: name, Server: server})
		}
		table := []struct {
			path          coordinator.Path
			reads, writes servers
		}{
			{site.Root(), nil, nil},
			{site.Ready(), nil, nil},
			{site.Plan(), nil, nil},
			{site.Files(), nil, nil},
			{site.File(mysqlScript), servers{"db"}, nil},
			{site.File(webScript), servers{"app"}, nil},
			{site.Servers(), nil, nil},
			{cell("db", "db:first_address"), servers{"db", "app"}, servers{"db"}},
			{cell("db", "db.mysql:endpoint"), servers{"db", "app"}, servers{"db"}},
			{cell("db", "db.mysql"), servers{"db", "lb"}, servers{"db"}},
			{cell("app", "app.web:port"), servers{"app", "lb"}, servers{"app"}},
			{cell("app", "app.web"), servers{"app"}, servers{"app"}},
			{cell("lb", "lb.proxy"), servers{"lb"}, servers{"lb"}},
		}
		for _, s := range threeTier().Servers {
			own := servers{s.Path}
			table = append(table, []struct {
				path          coordinator.Path
				reads, writes servers
			}{
				{site.Server(s.Path), own, own},
				{site.ServerPlan(s.Path), own, nil},
				{site.Keys(s.Path), own, nil},
				{site.State(s.Path), own, own},
				{site.Log(s.Path, s.Roles[0].Name), own, own},
				{site.Agent(s.Path), nil, nil},
				{site.Cells(s.Path), nil, nil},
			}...)
		}
		all := servers{"db", "app", "lb"}
		sessions := map[contract.ServerPath]coordinator.Store{}
		for _, s := range all {
			sessions[s] = b.session(t, s)
		}
		strangers := map[string]coordinator.Store{
			"nobody":             b.open(t),
			"another secret's":   b.open(t, coordinator.ServerCredential("db", another.ServerToken(site, "db"))),
			"another stack's db": b.open(t, coordinator.ServerCredential("db", secret.ServerToken("site2", "db"))),
			"a false operator":   b.open(t, another.Operator(site)),
		}
		operator := b.operator(t)
		for _, row := range table {
			for _, s := range all {
				expectRights(t, string(s), sessions[s], row.path, slices.Contains(row.reads, s), slices.Contains(row.writes, s))
			}
			for who, s := range strangers {
				expectRights(t, who, s, row.path, false, false)
			}
			expectRights(t, "the operator", operator, row.path, true, true)
		}
		for _, s := range all {
			for _, of := range all {
				err := createChild(t.Context(), sessions[s], site.Agent(of))
				if allowed := err == nil; allowed != (s == of) {
					t.Errorf("%s announces %s: %v", s, of, err)
				}
			}
			for _, row := range table {
				if strings.HasSuffix(string(row.path), "/agent") {
					continue
				}
				if err := createChild(t.Context(), sessions[s], row.path); !errors.Is(err, coordinator.ErrRefused) {
					t.Errorf("%s makes a node below %s: %v", s, row.path, err)
				}
			}
			if err := sessions[s].DeleteTree(t.Context(), site.Server(s)); !errors.Is(err, coordinator.ErrRefused) {
				t.Errorf("%s deletes its own server: %v", s, err)
			}
		}
	})
}

// expectRights tries to read a node and to write back what it holds.
func expectRights(t *testing.T, who string, s coordinator.Store, path coordinator.Path, reads, writes bool) {
	t.Helper()
	_, err := s.Read(t.Context(), path)
	expect(t, who+" reads "+string(path), reads, err)
	data := []byte("{}")
	if strings.Contains(string(path), "/cells/") {
		data = []byte(`{"state":"empty"}`)
	}
	if writes {
		return // tried by the protocol's tests; here it would change the deployment
	}
	err = s.Commit(t.Context(), coordinator.Op{Path: path, Version: coordinator.AnyVersion, Write: true, Data: data})
	expect(t, who+" writes "+string(path), false, err)
}

func expect(t *testing.T, what string, allowed bool, err error) {
	t.Helper()
	switch {
	case allowed && err != nil:
		t.Errorf("%s: %v", what, err)
	case !allowed && !errors.Is(err, coordinator.ErrRefused):
		t.Errorf("%s: %v, want ErrRefused", what, err)
	}
}

func createChild(ctx context.Context, s coordinator.Store, parent coordinator.Path) error {
	return s.Create(ctx, []coordinator.NewNode{{Path: parent.Join("extra")}})
}

// More than eight readers of a cell, or users of a file, are a set with an
// identity of its own; nobody else is in it.
func TestReadersSets(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		for _, n := range []int{8, 9, 40} {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				p := fanOut(n)
				p.Servers = append(p.Servers, contract.Server{Path: "other"})
				b.publish(t, p)
				defer deploy.Destroy(context.Background(), b.operator(t), site)
				if err := b.agent(t, "head").Put(t.Context(), "head.boss:key", json.RawMessage(`"k"`), noon); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					m := b.agent(t, contract.ServerPath(fmt.Sprintf("node/%d", i)))
					if got, err := m.Await(t.Context(), "head.boss:key", member.AwaitOptions{}); err != nil || string(got) != `"k"` {
						t.Fatalf("reader %d: %s, %v", i, got, err)
					}
					if _, err := m.File(t.Context(), webScript); err != nil {
						t.Fatalf("the file of reader %d: %v", i, err)
					}
				}
				other := b.session(t, "other")
				if _, err := member.Join(other, site, "other", tokenOf("other")).Plan(t.Context()); err != nil {
					t.Fatal(err)
				}
				expectRights(t, "a server that is no reader", other, site.Cell(contract.CellRef{Cell: "head.boss:key", Server: "head"}), false, false)
				expectRights(t, "a server that does not use it", other, site.File(webScript), false, false)
			})
		}
	})
}
