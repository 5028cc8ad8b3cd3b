package deploytest

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Attacker holds a session with all rights.
type Attacker struct {
	T     *testing.T
	Store store.Session
}

func (b Bed) Attacker(t *testing.T) Attacker { return Attacker{t, b.Operator(t)} }

func (a Attacker) Read(path store.Path) string {
	a.T.Helper()
	node, err := a.Store.Read(a.T.Context(), path)
	if err != nil {
		a.T.Fatal(err)
	}
	return string(node.Data)
}

func (a Attacker) Write(path store.Path, text string) {
	a.T.Helper()
	err := a.Store.Commit(a.T.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte(text)})
	if err != nil {
		a.T.Fatal(err)
	}
}

func (a Attacker) Replace(path store.Path, old, by string) {
	a.T.Helper()
	text := a.Read(path)
	if !strings.Contains(text, old) {
		a.T.Fatalf("%s does not hold %s: %s", path, old, text)
	}
	a.Write(path, strings.ReplaceAll(text, old, by))
}

// Sign writes a record as the attacker can: with its own key.
func (a Attacker) Sign(kind string, server contract.ServerPath, item, record string) string {
	a.T.Helper()
	key, err := sign.DeriveKey("the attacker's", "his own")
	if err != nil {
		a.T.Fatal(err)
	}
	text, err := key.Sign(sign.Place{Kind: kind, Stack: string(Site), Server: string(server), Item: item}, 1<<60, []byte(record))
	if err != nil {
		a.T.Fatal(err)
	}
	return string(text)
}

// Disk is what a machine remembers.
type Disk struct {
	kept   member.Remembered
	values member.Kept
}

func (d *Disk) Keep(cell contract.CellName, r protocol.CellRecord) error {
	if d.values == nil {
		d.values = member.Kept{}
	}
	d.values[cell] = r
	return nil
}

func (d *Disk) Kept() (member.Kept, error) { return maps.Clone(d.values), nil }

// Record is what is kept of a cell.
func (d *Disk) Record(cell contract.CellName) protocol.CellRecord { return d.values[cell] }

func (d *Disk) Remembered() member.Remembered { return d.kept }

func (d *Disk) Remember(r member.Remembered) error {
	d.kept = d.kept.With(r)
	return nil
}

// Comes is an agent with a disk from its start up to its plan.
func (b Bed) Comes(t *testing.T, server contract.ServerPath, token string, d *Disk) (*member.Member, *contract.Server, error) {
	t.Helper()
	m := member.Join(b.Session(t, server), Site, server, token)
	m.UseMemory(d)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := m.AwaitDeployment(ctx, func(why string) { t.Errorf("it waits: %s", why); stop() })
	if err != nil {
		return m, nil, err
	}
	p, err := m.Plan(t.Context())
	return m, p, err
}

func (b Bed) AgentWithKey(t *testing.T, of Machine) *member.Session {
	t.Helper()
	m := member.Join(b.Session(t, of.server), Site, of.server, TokenOf(of.server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.UseKey(of.Key)
	return Enrolled(t, m, of.Id, false)
}
