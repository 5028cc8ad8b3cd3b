package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// hostileCells are what a server can write into its cell in the place of a record, and what
// a reader is told of it where the plan says that the cell is open, and that it is sealed.
var hostileCells = []struct{ name, data, open, sealed string }{
	{"nothing", ``, "is not as server db wrote it", "is not as server db wrote it"},
	{"no JSON", `{{{`, "does not hold a record", "does not hold a record"},
	{"another type", `[1]`, "is not as server db wrote it", "is not as server db wrote it"},
	{"null", `null`, "is not as server db wrote it", "is not as server db wrote it"},
	{"an unknown state", `{"state":"banana"}`, "not a cell's", "not a cell's"},
	{"sealed", `{"state":"value","incarnation":1,"sealed":"AAAA"}`, "sealed, but not in the plan", ""},
	{"sealed and open", `{"state":"value","incarnation":1,"sealed":"AAAA","value":1}`, "sealed, but not in the plan", ""},
	{"open", `{"state":"value","incarnation":1,"value":"x"}`, "=", "the plan requires it"},
	{"a list for a string", `{"state":"value","incarnation":1,"value":["x"]}`, "", "the plan requires it"},
	{"no value", `{"state":"value","incarnation":1}`, "no value", "the plan requires it"},
	{"failed without a cause", `{"state":"failed","incarnation":1}`, "failed", "failed"},
	{"a deep cause", `{"state":"failed","cause":` + deploytest.Deep(`{"reason":"x","cause":`, `null`, `}`) + `}`, "does not hold a record", "does not hold a record"},
	{"a large incarnation", `{"state":"value","incarnation":1e99,"value":1}`, "does not hold a record", "does not hold a record"},
	{"a deep value", `{"state":"value","incarnation":1,"value":` + deploytest.Deep(`[`, ``, `]`) + `}`, "does not hold a record", "does not hold a record"},
}

// TestHostileCells is a server that writes anything into a cell which another one reads: the
// read fails, with a cause that names the writer, or waits; the reader's agent goes on.
func TestHostileCells(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.ThreeTier()
		sealed := contract.CellName("db.mysql:password")
		p.Cells = append(p.Cells, contract.Cell{Name: sealed, Server: "db", Role: "mysql", Sealed: true})
		p.Servers[1].Roles[0].Inputs = append(p.Servers[1].Roles[0].Inputs, deploytest.InputOf("password", sealed))
		b.Publish(t, p)
		reader := b.Join(t, deploytest.NewMachine(t, "app", "one"), false)
		thief := b.Session(t, "db")
		const open = contract.CellName("db.mysql:endpoint")
		for _, h := range hostileCells {
			for cell, want := range map[contract.CellName]string{open: h.open, sealed: h.sealed} {
				deploytest.Write(t, thief, deploytest.Site.Cell(contract.CellRef{Cell: cell, Server: "db"}), b.Signed(t, "cell", "db", string(cell), h.data))
				ctx, stop := context.WithTimeoutCause(t.Context(), deploytest.Patience, errors.New("it waits"))
				if want == "" { // until the key comes
					ctx, stop = context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("it waits"))
					want = "it waits"
				}
				value, err := reader.Await(ctx, cell, member.AwaitOptions{})
				if ctx.Err() != nil { // in the middle of an exchange, perhaps
					err = context.Cause(ctx)
				}
				stop()
				expectRead(t, fmt.Sprintf("%s in %s", h.name, cell), value, err, want)
			}
		}
		operator := deploytest.Reading(t, b.Operator(t))
		deploytest.Write(t, thief, deploytest.Site.Cell(contract.CellRef{Cell: open, Server: "db"}), b.Signed(t, "cell", "db", string(open), `{"state":"value","incarnation":1,"value":["x"]}`))
		record, err := operator.Cell(t.Context(), contract.CellRef{Cell: open, Server: "db"})
		expectRead(t, "a list for a string, by an operator", record.Value, err, "another type than the plan says: list, not string")
		// The keys of a box are the writer's, too.
		deploytest.Write(t, thief, deploytest.Site.Cell(contract.CellRef{Cell: sealed, Server: "db"}), b.Signed(t, "cell", "db", string(sealed), `{"state":"value","incarnation":1,"sealed":"AAAA"}`))
		for _, keys := range []string{`{{{`, `[]`, `{"db.mysql:password":{"box":"63c1dd951ffedf6f","to":"x","key":"%"}}`, `null`, ``} {
			deploytest.Write(t, thief, deploytest.Site.SealsFor("db", "app"), keys)
			ctx, stop := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("it waits"))
			value, err := reader.Await(ctx, sealed, member.AwaitOptions{})
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			stop()
			want := "it waits"
			if strings.HasPrefix(keys, "{{") || keys == `[]` {
				want = "the keys for app cannot be read"
			}
			expectRead(t, "the keys "+keys, value, err, want)
		}
		// What the reader reads of others is as it was.
		deploytest.Write(t, thief, deploytest.Site.Cell(contract.CellRef{Cell: "db:first_address", Server: "db"}), b.Signed(t, "cell", "db", "db:first_address", `{"state":"value","incarnation":1,"value":"10.0.0.1"}`))
		if value, err := reader.Await(t.Context(), "db:first_address", member.AwaitOptions{}); err != nil || string(value) != `"10.0.0.1"` {
			t.Errorf("%s, %v", value, err)
		}
	})
}

// expectRead checks what a read ends with; "=" is a value.
func expectRead(t *testing.T, what string, value json.RawMessage, err error, want string) {
	t.Helper()
	var of *protocol.RecordError
	var failed *member.FailedCellError
	switch {
	case want == "=":
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	case err == nil:
		t.Errorf("%s is taken as %s", what, value)
		return
	case errors.Is(err, member.ErrDestroyed), errors.Is(err, member.ErrFenced), errors.Is(err, member.ErrNotInPlan):
		t.Errorf("%s ends the reader's agent, or counts as not delivered: %v", what, err)
	case !strings.Contains(err.Error(), want):
		t.Errorf("%s: %v, want %q", what, err, want)
	}
	forged := errors.Is(err, protocol.ErrForged) && strings.Contains(err.Error(), "server db")
	if want != "it waits" && !forged && !errors.As(err, &failed) && (!errors.As(err, &of) || of.Server != "db" || !strings.Contains(err.Error(), "server db")) {
		t.Errorf("%s: %v does not name the writer", what, err)
	}
	if len(err.Error()) > 10_000 {
		t.Errorf("%s: an error of %d bytes", what, len(err.Error()))
	}
}

// TestMissingOfOthers is another server's node that is gone: that is no news of the whole
// deployment, as long as that stands.
func TestMissingOfOthers(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		reader, op := b.Agent(t, "app"), b.Operator(t)
		path := deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
		if err := op.DeleteTree(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		_, err := reader.Await(t.Context(), "db.mysql:endpoint", member.AwaitOptions{})
		expectRead(t, "a cell that is gone", nil, err, "its node does not exist")
		b.Publish(t, deploytest.ThreeTier()) // makes it again
		if _, err := reader.Cell(t.Context(), "db.mysql:endpoint"); err != nil {
			t.Error(err)
		}
		// The same when the deployment goes is that.
		if err := deploy.Destroy(t.Context(), op, deploytest.Site); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Cell(t.Context(), "db.mysql:endpoint"); !errors.Is(err, member.ErrDestroyed) {
			t.Errorf("of a deployment that is destroyed: %v", err)
		}
		b.Publish(t, deploytest.ThreeTier())
		if err := op.DeleteTree(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Cell(t.Context(), "db.mysql:endpoint"); !errors.Is(err, member.ErrDestroyed) {
			t.Errorf("of one that was made anew: %v", err)
		}
	})
}

// TestHostilePublicKeys is a reader of secrets whose public key is none: the writer seals for
// the others.
func TestHostilePublicKeys(t *testing.T) {
	for _, hostile := range []string{`{{{`, `[]`, `{"key":7}`, `{"key":"AAAA"}`, `null`, ``} {
		b := deploytest.InMemory()
		b.Publish(t, deploytest.WithPassword())
		writer := b.Join(t, deploytest.NewMachine(t, "db", "one"), false)
		thief, good := b.Session(t, "app"), b.Join(t, deploytest.NewMachine(t, "backup", "two"), false)
		deploytest.Write(t, thief, deploytest.Site.Public("app"), b.Signed(t, "public", "app", "", hostile))
		ctx, stop := context.WithCancel(t.Context())
		kept := make(chan error, 1)
		go func() { kept <- writer.KeepSealed(ctx, func(error) {}) }()
		if err := writer.Put(t.Context(), deploytest.Password, json.RawMessage(`"hush"`), deploytest.Noon); err != nil {
			t.Fatal(err)
		}
		if value, err := good.Await(deploytest.Within(t, deploytest.Patience), deploytest.Password, member.AwaitOptions{}); err != nil || string(value) != `"hush"` {
			t.Errorf("%s: %s, %v", hostile, value, err)
		}
		stop()
		if err := deploytest.Soon(t, kept); !errors.Is(err, context.Canceled) {
			t.Errorf("%s ends the keeping: %v", hostile, err)
		}
	}
}

// TestHostilePredecessor is a machine that leaves anything under its name: the next one of
// the name takes over, and empties its cells.
func TestHostilePredecessor(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		b.Agent(t, "db")
		thief := b.Session(t, "db")
		cell := deploytest.Site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
		for i, hostile := range []string{`{{{`, `{"number":-1}`, `{"number":9e18}`, ``, `{"number":"x"}`} {
			deploytest.Write(t, thief, deploytest.Site.Server("db"), hostile)
			for _, record := range []string{`{{{`, `{"state":"value","incarnation":77,"value":1}`, `{"state":"value","sealed":"AAAA"}`} {
				deploytest.Write(t, thief, cell, record)
			}
			next := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
			if _, err := next.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			enrolled, err := next.Enrol(t.Context(), fmt.Sprintf("next-%d", i), "i-next", false, deploytest.Noon)
			if err != nil || enrolled.Incarnation.Number <= 1 {
				t.Fatalf("after %q: %+v, %v", hostile, enrolled, err)
			}
			if err := enrolled.Put(t.Context(), "db.mysql:endpoint", json.RawMessage(`"mine"`), deploytest.Noon); err != nil {
				t.Errorf("after %q: %v", hostile, err)
			}
		}
	})
}

// Who operates the coordinator writes into what operators and servers have written: a look at
// the deployment names each of it with the server that it is about, and goes on.
func TestALookGoesOnWithoutWhatIsForged(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithGiven("app", "db")
	b.PublishOnce(t, p)
	b.Give(t, p, `"hush-hush"`)
	b.Join(t, deploytest.NewMachine(t, "db", "d1"), false)
	b.Ask(t, deploytest.NewMachine(t, "db", "d2"))
	paths := map[store.Path][]contract.ServerPath{
		deploytest.Site.State("db"):              {"db"},
		deploytest.Site.Requests("db"):           {"db"},
		deploytest.Site.Admission("db"):          {"db"},
		deploytest.Site.Cell(p.Secrets[0].Ref()): {"app", "db"},
	}
	a := b.Attacker(t)
	for path, about := range paths {
		for name, text := range map[string]string{"no JSON": `{{{`, "not signed": `{"state":"value","incarnation":1,"sealed":"AAAA"}`,
			"forged": a.Sign("cell", contract.Operator, "", `{"state":"value","incarnation":1,"sealed":"AAAA"}`)} {
			before := a.Read(path)
			a.Write(path, text)
			v, err := deploy.TakeSnapshot(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, p)
			a.Write(path, before)
			if err != nil {
				t.Errorf("%s, %s: %v", path, name, err)
				continue
			}
			if name != "no JSON" && path != deploytest.Site.State("db") && path != deploytest.Site.Cell(p.Secrets[0].Ref()) {
				continue // its reader judges the signature
			}
			for _, s := range v.Servers {
				if named := len(s.Unreadable) == 1; named != slices.Contains(about, s.Path) {
					t.Errorf("%s, %s: of server %s it says %q", path, name, s.Path, s.Unreadable)
				}
			}
		}
	}
	a.Write(deploytest.Site.Cell(p.Secrets[0].Ref()), `{{{`)
	if _, err := deploy.ReadGiven(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, p); err == nil {
		t.Error("who gives secrets does not learn that one cannot be read")
	}
}

// A machine that was taken over writes for an incarnation far ahead, and is replaced: who has read
// that reads what the next machine writes.
func TestHostileIncarnations(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		b.Publish(t, deploytest.ThreeTier())
		const endpoint = contract.CellName("db.mysql:endpoint")
		path := deploytest.Site.Cell(contract.CellRef{Cell: endpoint, Server: "db"})
		reader := b.Join(t, deploytest.NewMachine(t, "app", "one"), false)
		b.Agent(t, "db")
		thief := b.Session(t, "db")
		for i, ahead := range []string{"3", "1000", "1073741824", "9223372036854775807"} {
			server := deploytest.Site.Server("db")
			node, err := thief.Read(t.Context(), server)
			if err != nil {
				t.Fatal(err)
			}
			deploytest.Write(t, thief, server, string(node.Data)) // as often as he likes
			deploytest.Write(t, thief, path, b.Signed(t, "cell", "db", string(endpoint), `{"state":"value","incarnation":`+ahead+`,"value":"forged"}`))
			_, _ = reader.Cell(t.Context(), endpoint)
			next := member.Join(b.Session(t, "db"), deploytest.Site, "db", deploytest.TokenOf("db"))
			if _, err := next.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			enrolled, err := next.Enrol(t.Context(), fmt.Sprintf("next-%d", i), "i-next", false, deploytest.Noon)
			if err != nil {
				t.Fatal(err)
			}
			if err := enrolled.Put(t.Context(), endpoint, json.RawMessage(`"mine"`), deploytest.Noon); err != nil {
				t.Fatal(err)
			}
			if record, err := reader.Cell(t.Context(), endpoint); err != nil || string(record.Value) != `"mine"` {
				t.Errorf("after incarnation %s: %+v, %v", ahead, record, err)
			}
		}
	})
}
