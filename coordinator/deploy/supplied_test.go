package deploy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/deploytest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A secret that the operator gives reaches those who read it, whether they are
// there before or come after it, or are built anew, and nothing on the coordinator
// holds it.
func TestGivenSecretsReachTheirReaders(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithGiven("app", "db")
		b.Publish(t, p)
		if since, err := deploy.ReadGiven(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, p); err != nil || !since[0].Since.IsZero() {
			t.Fatalf("before anything is given: %v (%v)", since, err)
		}
		db, stopDB := b.Start(t, deploytest.NewMachine(t, "db", "d1"), false)
		defer stopDB()
		got := make(chan string, 1)
		go func() {
			value, err := db.Await(deploytest.Within(t, deploytest.Patience), deploytest.GivenPassword, member.AwaitOptions{})
			if err != nil {
				value = json.RawMessage(err.Error())
			}
			got <- string(value)
		}()
		b.Give(t, p, `"hush-hush"`)
		if value := deploytest.Soon(t, got); value != `"hush-hush"` {
			t.Fatalf("it read %s", value)
		}
		if since, err := deploy.ReadGiven(t.Context(), b.Operator(t), deploytest.Site, deploytest.Secret, p); err != nil || !since[0].Since.Equal(deploytest.Noon) {
			t.Errorf("afterwards: %v (%v)", since, err)
		}
		_, stopApp := b.Start(t, deploytest.NewMachine(t, "app", "a1"), false)
		stopApp()
		again, stopAgain := b.Start(t, deploytest.NewMachine(t, "app", "a2"), false)
		defer stopAgain()
		deploytest.ExpectValue(t, again, deploytest.GivenPassword, `"hush-hush"`)
		deploytest.ExpectNowhere(t, b.Operator(t), deploytest.Site.Root(), "hush-hush")
		before, err := again.Cell(t.Context(), deploytest.GivenPassword)
		if err != nil {
			t.Fatal(err)
		}
		b.Give(t, p, `"hush-hush"`) // the same value is the same version, also of another box
		operator := b.Operator(t)
		if err := operator.Commit(t.Context(), store.Op{Path: deploytest.Site.SealsFor(contract.Operator, "db"), Version: store.AnyVersion, Write: true, Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		b.Give(t, p, `"hush-hush"`)
		deploytest.ExpectValue(t, db, deploytest.GivenPassword, `"hush-hush"`)
		if now, err := again.Cell(t.Context(), deploytest.GivenPassword); err != nil || now.At() != before.At() {
			t.Errorf("the same value again: %v, was %v (%v)", now.At(), before.At(), err)
		}
		b.Give(t, p, `"another one"`)
		if now, err := again.Cell(t.Context(), deploytest.GivenPassword); err != nil || now.At() == before.At() {
			t.Errorf("another value: %v, was %v (%v)", now.At(), before.At(), err)
		}
		b.Give(t, p, `"hush-hush"`)
		if now, err := again.Cell(t.Context(), deploytest.GivenPassword); err != nil || now.At() != before.At() || now.Incarnation <= before.Incarnation {
			t.Errorf("a value that comes back: %v, was %v (%v)", now.At(), before.At(), err)
		}
		b.Give(t, p, `"another one"`)
		deploytest.ExpectValue(t, again, deploytest.GivenPassword, `"another one"`)
		deploytest.ExpectValue(t, db, deploytest.GivenPassword, `"another one"`)
	})
}

// Only readers get at the nodes; and what a server shows to the coordinator, its
// password, opens nothing.
func TestWhoCannotOpenWhatIsGiven(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithGiven("app", "db")
		b.Publish(t, p)
		b.Give(t, p, `"hush-hush"`)
		for _, path := range []store.Path{deploytest.Site.Cell(p.Secrets[0].Ref()), deploytest.Site.SealsFor(contract.Operator, "app")} {
			deploytest.ExpectRights(t, "the balancer", b.Session(t, "lb"), path, false, false)
			deploytest.ExpectRights(t, "the reader", b.Session(t, "app"), path, true, false)
		}
		deploytest.ExpectRights(t, "another reader", b.Session(t, "db"), deploytest.Site.SealsFor(contract.Operator, "app"), false, false)
		token := deploytest.Secret.ServerToken(deploytest.Site, "app")
		password := protocol.ServerCredential("app", token).Password
		for what, known := range map[string]string{"the password": password, "another server's token": deploytest.Secret.ServerToken(deploytest.Site, "db")} {
			spy := member.Join(b.Session(t, "app"), deploytest.Site, "app", known)
			if _, err := spy.Plan(t.Context()); !errors.Is(err, protocol.ErrForged) {
				t.Errorf("an agent with %s in the place of its token believes what it reads: %v", what, err)
			}
			node, err := b.Session(t, "app").Read(t.Context(), deploytest.Site.SealsFor(contract.Operator, "app"))
			if err != nil {
				t.Fatal(err)
			}
			var seals protocol.SealsRecord
			if err := json.Unmarshal(node.Data, &seals); err != nil {
				t.Fatal(err)
			}
			open := func(token string) error {
				key, err := seal.DeriveKey("hotc token key 1\n" + token)
				if err != nil {
					t.Fatal(err)
				}
				_, err = key.Unwrap(seals[deploytest.GivenPassword].Key, fmt.Sprintf("hotc key 1\n%s\n%s\n%s\n%s", deploytest.Site, deploytest.GivenPassword, "app", seals[deploytest.GivenPassword].Box))
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
	for i := range seedtest.Cases(3000, 100) {
		readers = append(readers, contract.ServerPath(fmt.Sprintf("node/%s/%04d", strings.Repeat("x", 200), i)))
	}
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithGiven(readers...)
		b.Publish(t, p)
		b.Give(t, p, `"hush-hush"`)
		last, stop := b.Start(t, deploytest.NewMachine(t, readers[len(readers)-1], "n1"), false)
		defer stop()
		deploytest.ExpectValue(t, last, deploytest.GivenPassword, `"hush-hush"`)
	})
}

// A value that is too large is refused by its size, and an operation by another
// deployment's operator as that.
func TestGiveRefuses(t *testing.T) {
	b := deploytest.InMemory()
	p := deploytest.WithGiven("app")
	b.Publish(t, p)
	operator := b.Operator(t)
	large := json.RawMessage(`"` + strings.Repeat("s", deploy.SuppliedLimit(operator)) + `"`)
	err := deploy.Give(t.Context(), operator, deploytest.Site, deploytest.Secret, p, p.Secrets[0], large, deploytest.Noon)
	if !errors.Is(err, store.ErrTooLarge) || strings.Contains(err.Error(), "sss") {
		t.Errorf("too large: %.200v", err)
	}
	fits := large[:len(large)-3]
	fits[len(fits)-1] = '"'
	if err := deploy.Give(t.Context(), operator, deploytest.Site, deploytest.Secret, p, p.Secrets[0], fits, deploytest.Noon); err != nil {
		t.Errorf("what just fits: %v", err)
	}
	if err := deploy.Give(t.Context(), b.Open(t, deploytest.Another.Operator(deploytest.Site)), deploytest.Site, deploytest.Another, p, p.Secrets[0], json.RawMessage(`1`), deploytest.Noon); !errors.Is(err, deploy.ErrWrongSecret) {
		t.Errorf("another's secret: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := deploy.Give(ended, operator, deploytest.Site, deploytest.Secret, p, p.Secrets[0], json.RawMessage(`1`), deploytest.Noon); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// A Give that ended between the keys and the box leaves readers without what they need,
// and says so until it is given again.
func TestGiveThatWasInterrupted(t *testing.T) {
	deploytest.ForEachCoordinator(t, func(t *testing.T, b deploytest.Bed) {
		p := deploytest.WithGiven("app", "web")
		b.Publish(t, p)
		b.Give(t, p, `"hush-hush"`)
		op := b.Operator(t)
		path := deploytest.Site.SealsFor(contract.Operator, "web")
		before, err := op.Read(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		b.Give(t, p, `"another"`)
		if err := op.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: before.Data}); err != nil {
			t.Fatal(err)
		}
		given, err := deploy.ReadGiven(t.Context(), op, deploytest.Site, deploytest.Secret, p)
		if err != nil || len(given[0].Lacking) != 1 || given[0].Lacking[0] != "web" {
			t.Errorf("%+v, %v", given, err)
		}
		b.Give(t, p, `"another"`)
		if given, err := deploy.ReadGiven(t.Context(), op, deploytest.Site, deploytest.Secret, p); err != nil || len(given[0].Lacking) != 0 {
			t.Errorf("given again: %+v, %v", given, err)
		}
	})
}

// A reader whose public key is none lacks the secret: who gives it is told, and the others
// have it.
func TestGiveToAHostileReader(t *testing.T) {
	p := deploytest.WithGiven("app", "web")
	for what, hostile := range map[string]func(b deploytest.Bed){
		"a key that nobody signed": func(b deploytest.Bed) { b.Attacker(t).Write(deploytest.Site.Public("app"), `{"key":"AAAA"}`) },
		"no JSON":                  func(b deploytest.Bed) { b.Attacker(t).Write(deploytest.Site.Public("app"), `{{{`) },
	} {
		b := deploytest.InMemory()
		b.PublishOnce(t, p)
		hostile(b)
		op := b.Operator(t)
		err := deploy.Give(t.Context(), op, deploytest.Site, deploytest.Secret, p, p.Secrets[0], json.RawMessage(`"hush"`), deploytest.Noon)
		if of := (*protocol.RecordError)(nil); !errors.As(err, &of) || of.Server != "app" || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: it says %v", what, err)
		}
		given, err := deploy.ReadGiven(t.Context(), op, deploytest.Site, deploytest.Secret, p)
		if err != nil || len(given[0].Lacking) != 1 || given[0].Lacking[0] != "app" {
			t.Errorf("%s: %+v, %v", what, given, err)
		}
		deploytest.ExpectValue(t, b.Join(t, deploytest.NewMachine(t, "web", "w1"), false), deploytest.GivenPassword, `"hush"`)
	}
}
