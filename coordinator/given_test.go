package coordinator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

const givenPassword = contract.CellName("/operator:db_password")

// withGiven is a database and an application that read a secret of the operator's.
func withGiven(readers ...contract.ServerPath) *contract.Plan {
	p := &contract.Plan{Format: contract.Format, Compiler: "hotc test", Template: "site.yaml", Signal: "none",
		Secrets: []contract.Secret{{Name: "db_password", Cell: givenPassword, At: "site.yaml:2:3", Declaration: json.RawMessage(`{}`), Readers: readers}},
	}
	for _, r := range readers {
		p.Servers = append(p.Servers, contract.Server{Path: r, At: "site.yaml:9:3", Roles: []contract.Role{}, Reads: []contract.CellRef{p.Secrets[0].Ref()}})
	}
	p.Servers = append(p.Servers, contract.Server{Path: "lb", At: "site.yaml:20:3", Roles: []contract.Role{}})
	return p
}

func (b bed) give(t *testing.T, p *contract.Plan, value string) {
	t.Helper()
	if err := deploy.Give(t.Context(), b.operator(t), site, secret, p, p.Secrets[0], json.RawMessage(value), noon); err != nil {
		t.Fatal(err)
	}
}

// A secret that the operator gives reaches those who read it, whether they are
// there before or come after it, or are built anew, and nothing on the coordinator
// holds it.
func TestGivenSecretsReachTheirReaders(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withGiven("app", "db")
		b.publish(t, p)
		if since, err := deploy.ReadGiven(t.Context(), b.operator(t), site, secret, p); err != nil || !since[0].Since.IsZero() {
			t.Fatalf("before anything is given: %v (%v)", since, err)
		}
		db, stopDB := b.start(t, newMachine(t, "db", "d1"), false)
		defer stopDB()
		got := make(chan string, 1)
		go func() {
			value, err := db.Await(within(t, patience), givenPassword, member.AwaitOptions{})
			if err != nil {
				value = json.RawMessage(err.Error())
			}
			got <- string(value)
		}()
		b.give(t, p, `"hush-hush"`)
		if value := soon(t, got); value != `"hush-hush"` {
			t.Fatalf("it read %s", value)
		}
		if since, err := deploy.ReadGiven(t.Context(), b.operator(t), site, secret, p); err != nil || !since[0].Since.Equal(noon) {
			t.Errorf("afterwards: %v (%v)", since, err)
		}
		_, stopApp := b.start(t, newMachine(t, "app", "a1"), false)
		stopApp()
		again, stopAgain := b.start(t, newMachine(t, "app", "a2"), false)
		defer stopAgain()
		expectValue(t, again, givenPassword, `"hush-hush"`)
		expectNowhere(t, b.operator(t), site.Root(), "hush-hush")
		b.give(t, p, `"another one"`)
		expectValue(t, again, givenPassword, `"another one"`)
		expectValue(t, db, givenPassword, `"another one"`)
	})
}

// Only readers get at the nodes; and what a server shows to the coordinator, its
// password, opens nothing.
func TestWhoCannotOpenWhatIsGiven(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withGiven("app", "db")
		b.publish(t, p)
		b.give(t, p, `"hush-hush"`)
		for _, path := range []coordinator.Path{site.Cell(p.Secrets[0].Ref()), site.SealsFor(contract.Operator, "app")} {
			expectRights(t, "the balancer", b.session(t, "lb"), path, false, false)
			expectRights(t, "the reader", b.session(t, "app"), path, true, false)
		}
		expectRights(t, "another reader", b.session(t, "db"), site.SealsFor(contract.Operator, "app"), false, false)
		token := secret.ServerToken(site, "app")
		password := coordinator.ServerCredential("app", token).Password
		for what, known := range map[string]string{"the password": password, "another server's token": secret.ServerToken(site, "db")} {
			spy := member.Join(b.session(t, "app"), site, "app", known)
			if _, err := spy.Plan(t.Context()); !errors.Is(err, coordinator.ErrForged) {
				t.Errorf("an agent with %s in the place of its token believes what it reads: %v", what, err)
			}
			node, err := b.session(t, "app").Read(t.Context(), site.SealsFor(contract.Operator, "app"))
			if err != nil {
				t.Fatal(err)
			}
			var seals coordinator.SealsRecord
			if err := json.Unmarshal(node.Data, &seals); err != nil {
				t.Fatal(err)
			}
			open := func(token string) error {
				key, err := seal.DeriveKey("hotc token key 1\n" + token)
				if err != nil {
					t.Fatal(err)
				}
				_, err = key.Unwrap(seals[givenPassword].Key, fmt.Sprintf("hotc key 1\n%s\n%s\n%s\n%s", site, givenPassword, "app", seals[givenPassword].Box))
				return err
			}
			if open(known) == nil {
				t.Errorf("who has %s opens the key of the secret", what)
			}
			if err := open(token); err != nil {
				t.Errorf("the token does not open the key: %v", err)
			}
		}
	})
}

// More readers than one commit takes are given their keys in several.
func TestGivenToMany(t *testing.T) {
	var readers []contract.ServerPath
	for i := range 3000 {
		readers = append(readers, contract.ServerPath(fmt.Sprintf("node/%s/%04d", strings.Repeat("x", 200), i)))
	}
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withGiven(readers...)
		b.publish(t, p)
		b.give(t, p, `"hush-hush"`)
		last, stop := b.start(t, newMachine(t, readers[len(readers)-1], "n1"), false)
		defer stop()
		expectValue(t, last, givenPassword, `"hush-hush"`)
	})
}

// A value that is too large is refused by its size, and an operation by another
// deployment's operator as that.
func TestGiveRefuses(t *testing.T) {
	b := inMemory()
	p := withGiven("app")
	b.publish(t, p)
	store := b.operator(t)
	large := json.RawMessage(`"` + strings.Repeat("s", deploy.GivenLimit(store)) + `"`)
	err := deploy.Give(t.Context(), store, site, secret, p, p.Secrets[0], large, noon)
	if !errors.Is(err, coordinator.ErrTooLarge) || strings.Contains(err.Error(), "sss") {
		t.Errorf("too large: %.200v", err)
	}
	fits := large[:len(large)-3]
	fits[len(fits)-1] = '"'
	if err := deploy.Give(t.Context(), store, site, secret, p, p.Secrets[0], fits, noon); err != nil {
		t.Errorf("what just fits: %v", err)
	}
	if err := deploy.Give(t.Context(), b.open(t, another.Operator(site)), site, another, p, p.Secrets[0], json.RawMessage(`1`), noon); !errors.Is(err, deploy.ErrWrongSecret) {
		t.Errorf("another's secret: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := deploy.Give(ended, store, site, secret, p, p.Secrets[0], json.RawMessage(`1`), noon); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// A Give that ended between the keys and the box leaves readers without what they need,
// and says so until it is given again.
func TestGiveThatWasInterrupted(t *testing.T) {
	forEachCoordinator(t, func(t *testing.T, b bed) {
		p := withGiven("app", "web")
		b.publish(t, p)
		b.give(t, p, `"hush-hush"`)
		op := b.operator(t)
		path := site.SealsFor(contract.Operator, "web")
		before, err := op.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		b.give(t, p, `"another"`)
		if err := op.Commit(t.Context(), coordinator.Op{Path: path, Version: coordinator.AnyVersion, Write: true, Data: before.Data}); err != nil {
			t.Fatal(err)
		}
		given, err := deploy.ReadGiven(t.Context(), op, site, secret, p)
		if err != nil || len(given[0].Lacking) != 1 || given[0].Lacking[0] != "web" {
			t.Errorf("%+v, %v", given, err)
		}
		b.give(t, p, `"another"`)
		if given, err := deploy.ReadGiven(t.Context(), op, site, secret, p); err != nil || len(given[0].Lacking) != 0 {
			t.Errorf("given again: %+v, %v", given, err)
		}
	})
}

// A reader whose public key is none lacks the secret: who gives it is told, and the others
// have it.
func TestGiveToAHostileReader(t *testing.T) {
	p := withGiven("app", "web")
	for what, hostile := range map[string]func(b bed){
		"a key that nobody signed": func(b bed) { b.attacker(t).write(site.Public("app"), `{"key":"AAAA"}`) },
		"no JSON":                  func(b bed) { b.attacker(t).write(site.Public("app"), `{{{`) },
	} {
		b := inMemory()
		b.publishOnce(t, p)
		hostile(b)
		op := b.operator(t)
		err := deploy.Give(t.Context(), op, site, secret, p, p.Secrets[0], json.RawMessage(`"hush"`), noon)
		if of := (*coordinator.RecordError)(nil); !errors.As(err, &of) || of.Server != "app" || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: it says %v", what, err)
		}
		given, err := deploy.ReadGiven(t.Context(), op, site, secret, p)
		if err != nil || len(given[0].Lacking) != 1 || given[0].Lacking[0] != "app" {
			t.Errorf("%s: %+v, %v", what, given, err)
		}
		expectValue(t, b.join(t, newMachine(t, "web", "w1"), false), givenPassword, `"hush"`)
	}
}
