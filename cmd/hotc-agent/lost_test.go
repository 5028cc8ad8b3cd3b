package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// losingBed is a server whose ZooKeeper can be stopped.
func losingBed(t *testing.T, scripts ...string) (*bed, *zktest.Server) {
	t.Helper()
	server := zktest.Start(t)
	return newBedOn(t, func(t testing.TB, _ string) (string, func(...store.Credential) store.Session) {
		url := server.URL("/hotc")
		return url, func(creds ...store.Credential) store.Session {
			store, err := zookeeper.Open(context.Background(), url, creds...)
			if err != nil {
				t.Fatal(err)
			}
			return store
		}
	}, false, scripts...), server
}

func dataOf(s *zktest.Server) string { return filepath.Join(s.Dir(), "data", "version-2") }

// restore is `hotc apply --restore`.
func (b *bed) restore() {
	b.t.Helper()
	text, err := json.Marshal(b.plan)
	if err != nil {
		b.t.Fatal(err)
	}
	store := b.open(b.secret.Operator(deployment))
	defer store.Close()
	_, err = deploy.Publish(context.Background(), store, deploy.Publication{Deployment: deployment, Secret: b.secret, Plan: &b.plan, JSON: text,
		Files: func(digest string) ([]byte, error) { return b.scripts[digest], nil }, Now: time.Now(), Restore: true, Enrol: new(protocol.EnrolAlways)})
	if err != nil {
		b.t.Fatal(err)
	}
}

// awaitCell waits until a cell of db holds a value.
func (b *bed) awaitCell(name contract.CellName, want string, p *agentProcess) {
	b.t.Helper()
	reader := b.reader()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		record, err := reader.Cell(context.Background(), contract.CellRef{Cell: name, Server: "db"})
		if err != nil {
			b.t.Fatal(err)
		}
		if string(record.Value) == want {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s is %s:\n%s", name, record.State, p.printed)
		}
	}
}

// awaitPhase waits until a command shows db in a phase.
func (b *bed) awaitPhase(want protocol.Phase, p *agentProcess) {
	b.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		v, err := deploy.TakeSnapshot(context.Background(), b.operator(), deployment, b.secret, &b.plan)
		if err != nil {
			b.t.Fatal(err)
		}
		if v.Servers[0].State.Phase == want {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("db is %q:\n%s", v.Servers[0].State.Phase, p.printed)
		}
	}
}

// ZooKeeper loses its data while a role waits, and after it is done. The deployment is put
// back: the role goes on, and publishes; nothing runs twice; a restart finds it done.
func TestAZooKeeperThatHasLostItsData(t *testing.T) {
	b, server := losingBed(t, "echo start >>../log; hotc-agent get x; echo end >>../log")
	p := b.start()
	b.awaitBlocked()
	wipe := func() {
		t.Helper()
		server.Stop()
		b.awaitSaid(p, "the connection with the coordinator "+b.url+" is lost")
		if err := os.RemoveAll(dataOf(server)); err != nil {
			t.Fatal(err)
		}
		server.Start(t)
	}
	wipe()
	b.awaitSaid(p, `the deployment blog is not applied yet; "hotc apply --restore" of the same folder restores it`)
	b.restore()
	b.awaitSaid(p, "the operator has restored the deployment")
	b.web(`"good"`)
	b.awaitSaid(p, "db.r1: done")
	wipe()
	b.restore()
	b.awaitCell("db.r1", "null", p)
	b.awaitPhase(protocol.PhaseDone, p)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.status()
	wipe = func() {
		server.Stop()
		if err := os.RemoveAll(dataOf(server)); err != nil {
			t.Fatal(err)
		}
		server.Start(t)
	}
	wipe()
	p = b.start()
	b.awaitSaid(p, "is not applied yet")
	b.restore()
	b.awaitCell("db.r1", "null", p)
	if got := b.log(); got != "start\nend\n" {
		t.Errorf("it ran %q\n%s", got, p.printed)
	}
}

// An older state is put back, from before the agent came: the role goes on, and all is
// published again, without anybody's doing.
func TestAZooKeeperWithAnOlderState(t *testing.T) {
	b, server := losingBed(t, "echo start >>../log; hotc-agent get x; echo end >>../log")
	server.Stop()
	old := filepath.Join(t.TempDir(), "old")
	if err := os.CopyFS(old, os.DirFS(dataOf(server))); err != nil {
		t.Fatal(err)
	}
	server.Start(t)
	p := b.start()
	b.awaitBlocked()
	server.Stop()
	if err := os.RemoveAll(dataOf(server)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dataOf(server), os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	server.Start(t)
	b.awaitSaid(p, "the same deployment is there again, in an earlier state")
	b.web(`"good"`)
	b.awaitSaid(p, "db.r1: done")
	if got, log := b.cell("db.r1"), b.log(); got != "null" || log != "start\nend\n" {
		t.Errorf("%s, and it ran %q\n%s", got, log, p.printed)
	}
}
