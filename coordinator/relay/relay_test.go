package relay_test

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
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// What a relay may do is written down here whole; every other node of the deployment is
// closed to it, and so is every write.
func TestRelayRights(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		p.Signal = contract.RelaySignals
		p.Servers[0].Roles[0].Outputs[0].Heat = true
		follower := &p.Servers[len(p.Servers)-1].Roles[0]
		follower.Follows = append(follower.Follows, contract.Follow{Cell: "db.mysql:endpoint", Member: &contract.Member{Group: "tier/db", Server: "db"}})
		p.Servers[0].Deploy = map[string]contract.DeployValue{"k": {Expr: json.RawMessage(`{"get_param":"k"}`), Carried: true}}
		b.Publish(t, p)
		key := relayKey(t)
		s, operator := b.Open(t, key.Credential()), b.Operator(t)
		reads := []store.Path{deploytest.Site.Root(), deploytest.Site.Plan(), deploytest.Site.ServersKeys(), deploytest.Site.Heat(), deploytest.Site.Relays(), deploytest.Site.Members("tier/db"),
			deploytest.Site.HeatNumber(),
			deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})}
		for _, server := range p.Servers {
			reads = append(reads, deploytest.Site.Server(server.Path), deploytest.Site.State(server.Path), deploytest.Site.Next(server.Path), deploytest.Site.HeatValues(server.Path))
		}
		writes := []store.Path{deploytest.Site.Heat(), deploytest.Site.Members("tier/db"), deploytest.Site.HeatNumber()}
		for _, server := range p.Servers {
			writes = append(writes, deploytest.Site.Next(server.Path), deploytest.Site.HeatValues(server.Path))
		}
		walk(t, operator, deploytest.Site.Root(), func(path store.Path) {
			_, err := s.Read(t.Context(), path)
			deploytest.Expect(t, "a relay reads "+string(path), slices.Contains(reads, path), err)
			node, err := operator.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: node.Data})
			deploytest.Expect(t, "a relay writes "+string(path), slices.Contains(writes, path), err)
			err = deploytest.CreateChild(t.Context(), s, path)
			deploytest.Expect(t, "a relay makes a node below "+string(path), path == deploytest.Site.Relays(), err)
			if err := store.Allow(t.Context(), s, path, store.Grant{To: key.Credential().Principal(), May: store.MayAll}); !errors.Is(err, store.ErrRefused) {
				t.Errorf("a relay gives itself rights on %s: %v", path, err)
			}
		})
	})
}

func relayKey(t *testing.T) protocol.RelayKey {
	key, err := deploytest.Secret.Relay(deploytest.Site)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// walk visits what stood when it began.
func walk(t *testing.T, s store.Session, path store.Path, visit func(store.Path)) {
	t.Helper()
	children, err := s.Children(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range children {
		walk(t, s, path.Join(name), visit)
	}
	visit(path)
}

// A key in a file is the key; what is not a key says so and quotes nothing of it.
func TestRelayKeyFile(t *testing.T) {
	key := relayKey(t)
	again, err := protocol.ParseRelayKey(key.File())
	if err != nil || string(again.File()) != string(key.File()) || again.Credential() != key.Credential() {
		t.Errorf("read again: %v", err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", key, key, key), key.Credential().Password) {
		t.Error("a key prints itself")
	}
	if strings.Contains(string(key.File()), deploytest.Secret.Hex()) {
		t.Error("the key holds the secret")
	}
	text := string(key.File())
	for _, bad := range []string{"", "{}", deploytest.Secret.Hex(), strings.Replace(text, `"format": 1`, `"format": 2`, 1),
		strings.Replace(text, key.Credential().Password, "", 1), strings.Replace(text, `"deployment": "`, `"deployment": "/`, 1), strings.Replace(text, `"key": "`, `"key": "AAAA`, 1)} {
		if _, err := protocol.ParseRelayKey([]byte(bad)); err == nil || strings.Contains(err.Error(), key.Credential().Password) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Nothing that a relay reads is trusted for standing there.
func TestRelayTrustsNothing(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		p.Signal, p.Servers[0].Roles[0].Outputs[0].Heat = contract.RelaySignals, true
		b.Publish(t, p)
		key, operator := relayKey(t), b.Operator(t)
		join := func() error {
			_, err := relay.Join(t.Context(), b.Open(t, key.Credential()), key)
			return err
		}
		if err := join(); err != nil {
			t.Fatal(err)
		}
		s, err := relay.Join(t.Context(), b.Open(t, key.Credential()), key)
		if err != nil {
			t.Fatal(err)
		}
		endpoint := contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"}
		if err := b.Agent(t, "db").Put(t.Context(), endpoint.Cell, []byte(`["x"]`), deploytest.Noon); err != nil {
			t.Fatal(err)
		}
		if value, err := s.Value(t.Context(), endpoint); !errors.Is(err, protocol.ErrOtherType) {
			t.Errorf("a list for a string: %s, %v", value, err)
		}
		for _, path := range []store.Path{deploytest.Site.Root(), deploytest.Site.Plan(), deploytest.Site.ServersKeys()} {
			node, err := operator.Read(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			write := func(data string) {
				if err := operator.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte(data)}); err != nil {
					t.Fatal(err)
				}
			}
			write(strings.Replace(strings.Replace(string(node.Data), "db", "bd", 1), `"format":3,"id":"`, `"format":3,"id":"x`, 1))
			if err := join(); !errors.Is(err, protocol.ErrForged) {
				t.Errorf("another %s: %v", path, err)
			}
			write(string(node.Data))
		}
		if _, err := relay.Join(t.Context(), b.Open(t, store.Credential{User: "relay", Password: "another"}), key); !errors.Is(err, relay.ErrWrongKey) {
			t.Errorf("another key: %v", err)
		}
		if err := deploy.Destroy(t.Context(), operator, deploytest.Site); err != nil {
			t.Fatal(err)
		}
		if err := join(); !errors.Is(err, relay.ErrNotApplied) {
			t.Errorf("nothing there: %v", err)
		}
	})
}

// A relay sees which machine a server is and what its agent reports, as that comes; what
// somebody else writes there it does not believe.
func TestRelayWatches(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		key := relayKey(t)
		s, err := relay.Join(t.Context(), b.Open(t, key.Credential()), key)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Watch(ctx) }()
		until := func(what string, is func(relay.Server) bool) {
			t.Helper()
			for !is(s.Servers()["db"]) {
				select {
				case <-s.Changed():
				case err := <-ended:
					t.Fatalf("waiting for %s: %v", what, err)
				}
			}
		}
		db := b.Agent(t, "db")
		until("the machine", func(x relay.Server) bool { return x.Instance == "i-db" })
		state := protocol.ServerState{Phase: protocol.PhaseDone, Roles: []protocol.RoleState{{Name: "mysql", Status: protocol.RoleDone}}}
		if err := db.Report(t.Context(), state, nil); err != nil {
			t.Fatal(err)
		}
		until("its report", func(x relay.Server) bool { return len(x.State.Roles) == 1 })
		forged := store.Op{Path: deploytest.Site.State("db"), Version: store.AnyVersion, Write: true, Data: []byte(`{"signed":"AAAA","incarnation":1,"roles":[{"name":"mysql","status":"failed"}]}`)}
		if err := b.Operator(t).Commit(t.Context(), forged); err != nil {
			t.Fatal(err)
		}
		until("what is forged", func(x relay.Server) bool { return x.Unreadable != "" && len(x.State.Roles) == 0 })
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
