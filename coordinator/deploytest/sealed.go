package deploytest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

const Password = contract.CellName("db.mysql:password")

// WithPassword is a database whose password an application and a backup read.
func WithPassword() *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Servers: []contract.Server{{Path: "db", At: "site.yaml:3:3",
			Roles: []contract.Role{{Name: "mysql", At: "site.yaml:5:9", Driver: "script", Source: json.RawMessage(`{}`),
				Outputs: []contract.Output{{Name: "password", Cell: Password, Type: contract.String, Secret: true, At: "site.yaml:6:9"}}}}}},
		Cells: []contract.Cell{{Name: Password, Server: "db", Role: "mysql", Sealed: true}, {Name: "db.mysql", Server: "db", Role: "mysql"}},
	}
	for _, r := range []contract.ServerPath{"app", "backup"} {
		p.Servers = append(p.Servers, contract.Server{Path: r, At: "site.yaml:9:3", Roles: []contract.Role{Reader(Password)}})
	}
	p.Servers = append(p.Servers, contract.Server{Path: "lb", At: "site.yaml:20:3", Roles: []contract.Role{}})
	p.Derive()
	return p
}

// Reader is a role that reads cells.
func Reader(cells ...contract.CellName) contract.Role {
	return contract.Role{Name: "r", At: "site.yaml:10:9", Driver: "script", Source: json.RawMessage(`{}`),
		Inputs: lists.Map(cells, func(c contract.CellName) contract.Input { return InputOf(string(c), c) })}
}

// Machine is a server's agent with its disk: a journal and a key.
type Machine struct {
	server contract.ServerPath
	Id     string
	Key    seal.Key
}

func NewMachine(t *testing.T, server contract.ServerPath, id string) Machine {
	t.Helper()
	key, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return Machine{server, id, key}
}

// Start starts the machine's agent, which seals for its readers until stopped.
func (b Bed) Start(t *testing.T, of Machine, enrolledBefore bool) (s *member.Session, stop func()) {
	t.Helper()
	m := member.Join(b.Session(t, of.server), Site, of.server, TokenOf(of.server))
	if _, err := m.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !m.NeedsKey() {
		t.Fatalf("server %s thinks that it needs no key", of.server)
	}
	m.UseKey(of.Key)
	s = Enrolled(t, m, of.Id, enrolledBefore)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.KeepSealed(ctx, func(err error) { t.Error(err) }) }()
	stop = func() {
		cancel()
		if err := Soon(t, ended); !errors.Is(err, context.Canceled) && !errors.Is(err, member.ErrFenced) {
			t.Error(err)
		}
	}
	return s, stop
}

type awaiter interface {
	Await(ctx context.Context, cell contract.CellName, o member.AwaitOptions) (json.RawMessage, error)
}

// ExpectValue checks what an agent reads.
func ExpectValue(t *testing.T, m awaiter, cell contract.CellName, want string) {
	t.Helper()
	got, err := m.Await(Within(t, Patience), cell, member.AwaitOptions{IfDown: -1})
	if err != nil || string(got) != want {
		t.Fatalf("it read %s, want %s (%v)", got, want, err)
	}
}

// ExpectNowhere searches everything on the coordinator, as it is and decoded from base64.
func ExpectNowhere(t *testing.T, s store.Session, path store.Path, secret string) {
	t.Helper()
	node, err := s.Read(t.Context(), path)
	if err != nil {
		if errors.Is(err, store.ErrRefused) {
			return // an agent's own presence
		}
		t.Fatal(err)
	}
	var texts map[string]any
	_ = json.Unmarshal(node.Data, &texts)
	data := node.Data
	if sealed, ok := texts["sealed"].(string); ok {
		raw, err := base64.StdEncoding.DecodeString(sealed)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, raw...)
	}
	if bytes.Contains(data, []byte(secret)) {
		t.Errorf("%s holds the secret: %s", path, node.Data)
	}
	names, err := s.Children(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		ExpectNowhere(t, s, path.Join(name), secret)
	}
}
