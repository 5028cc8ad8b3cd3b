package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// meddledBed is a server whose agent reaches its ZooKeeper through somebody who changes
// what passes; the operator does not.
func meddledBed(t *testing.T, scripts ...string) (*bed, *zktest.Meddler) {
	t.Helper()
	var between *zktest.Meddler
	b := newBedOn(t, func(t testing.TB, _ string) (string, func(...store.Credential) store.Session) {
		server := zktest.Start(t)
		between = zktest.NewMeddler(t, server.Addr())
		return "zk://" + between.Addr() + "/hotc", func(creds ...store.Credential) store.Session {
			store, err := zookeeper.Open(context.Background(), server.URL("/hotc"), creds...)
			if err != nil {
				t.Fatal(err)
			}
			return store
		}
	}, false, scripts...)
	return b, between
}

const innocent, evil = "hotc-agent get x && echo done >>../log", "echo evil >>../log                    "

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// web writes what db reads.
func (b *bed) web(value string) {
	b.t.Helper()
	token := b.secret.ServerToken(deployment, "web")
	store := b.open(protocol.ServerCredential("web", token))
	b.t.Cleanup(func() { store.Close() })
	m := member.Join(store, deployment, "web", token)
	if _, err := m.Plan(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	s, err := m.Enrol(context.Background(), "web-1", "i-web", false, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := s.Put(context.Background(), "web.app:x", json.RawMessage(value), time.Now()); err != nil {
		b.t.Fatal(err)
	}
}

// Who taps the way to ZooKeeper and changes what passes gets an agent that waits, or a
// role that fails, and says why; no role runs anything but what the operator applied,
// with the values that their writers wrote.
func TestWhoTapsGetsNothingRun(t *testing.T) {
	swap := func(pairs ...string) zktest.Meddle {
		r := strings.NewReplacer(pairs...)
		return func(_ string, data []byte, sent bool) []byte {
			if sent {
				return data
			}
			return []byte(r.Replace(string(data)))
		}
	}
	at := func(node string, change func(data []byte) []byte) zktest.Meddle {
		return func(path string, data []byte, sent bool) []byte {
			if sent || !strings.HasSuffix(path, node) {
				return data
			}
			return change(data)
		}
	}
	for _, c := range []struct {
		name   string
		meddle func(b *bed) zktest.Meddle
		says   string // on the console
		ends   bool   // with the role's failure; else it waits
	}{
		{"nothing", func(*bed) zktest.Meddle { return swap() }, "db.r1: done", true},
		{"a script and its digest", func(*bed) zktest.Meddle { return swap(innocent, evil, digestOf(innocent), digestOf(evil)) }, "the plan of server db is not as the deployment's operator wrote it", false},
		{"a script", func(*bed) zktest.Meddle { return swap(innocent, evil) }, "the file " + digestOf(innocent) + " is not as the deployment's operator wrote it", true},
		{"a plan of his own", func(*bed) zktest.Meddle {
			return at("/db/plan", func([]byte) []byte { return []byte(`{"path":"db","roles":[]}`) })
		}, "it is not signed", false},
		{"another server's plan", func(b *bed) zktest.Meddle {
			node, err := b.operator().Read(context.Background(), deployment.ServerPlan("web"))
			if err != nil {
				b.t.Fatal(err)
			}
			return at("/db/plan", func([]byte) []byte { return node.Data })
		}, "the plan of server db is not as", false},
		{"the identity", func(*bed) zktest.Meddle {
			return at("/db/identity", func(data []byte) []byte {
				return bytes.Replace(data, []byte(`"operator":"`), []byte(`"operator":"A`), 1)
			})
		}, "the deployment's identity record is not as", false},
		{"a value", func(*bed) zktest.Meddle { return swap(`"value":"good"`, `"value":"evil"`) }, "the value of web.app:x is not as server web wrote it", true},
		{"a failure", func(*bed) zktest.Meddle { return swap(`"state":"value"`, `"state":"failed"`) }, "the value of web.app:x is not as server web wrote it", true},
		{"what the agent writes", func(*bed) zktest.Meddle {
			return func(path string, data []byte, sent bool) []byte {
				if sent && strings.Contains(path, "/cells/") {
					return bytes.Replace(data, []byte(`"value":null`), []byte(`"value":"evil"`), 1)
				}
				return data
			}
		}, "db.r1: done", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, between := meddledBed(t, innocent)
			b.web(`"good"`)
			between.Do(c.meddle(b))
			p := b.start("--once")
			if c.ends {
				p.status()
			} else {
				b.awaitSaid(p, c.says)
				p.Process.Kill()
				p.status()
			}
			text := p.printed.String()
			if !strings.Contains(text, c.says) {
				t.Errorf("it does not say %q:\n%s", c.says, text)
			}
			log := b.log()
			if want := map[bool]string{true: "done\n"}[strings.Contains(c.says, "done")]; log != want {
				t.Errorf("it ran %q, want %q\n%s", log, want, text)
			}
			if c.name == "what the agent writes" {
				_, err := b.reader().Cell(context.Background(), contract.CellRef{Cell: "db.r1", Server: "db"})
				if err == nil || !strings.Contains(err.Error(), "the value of db.r1 is not as server db wrote it") {
					t.Errorf("the operator reads what was changed: %v", err)
				}
			}
		})
	}
}

// A request that was changed on its way is not answered, and the plan of a change that
// is kept back, or shown again later, is not followed.
func TestWhoTapsAsksForNothing(t *testing.T) {
	b, between := meddledBed(t, "echo done >>../log")
	p := b.start()
	b.awaitSaid(p, "db.r1: done")
	said := make(chan bool, 100)
	between.Do(func(path string, data []byte, sent bool) []byte {
		if sent || !strings.HasSuffix(path, "/db/requests") {
			return data
		}
		if bytes.Contains(data, []byte("backup")) {
			select {
			case said <- true:
			default:
			}
		}
		return bytes.ReplaceAll(data, []byte("backup"), []byte("wipeit"))
	})
	r := protocol.Request{ID: "one", Kind: protocol.Action, Incarnation: 1, Role: "r1", Name: "backup", Since: time.Now()}
	if err := b.reader().Post(context.Background(), []deploy.Posting{{Server: "db", Request: r}}, nil); err != nil {
		t.Fatal(err)
	}
	<-said
	b.awaitSaid(p, "requests are ignored: the request list of server db is not as the deployment's operator wrote it")
	answers, err := b.reader().Answers(context.Background(), "db")
	if err != nil || len(answers) != 0 {
		t.Errorf("it answers %+v, %v", answers, err)
	}
	if got := b.log(); got != "done\n" {
		t.Errorf("it ran %q", got)
	}
}

// awaitSaid waits until an agent has said something.
func (b *bed) awaitSaid(p *agentProcess, text string) {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(p.printed.String(), text) {
			return
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			b.t.Fatalf("it ended (%v) and did not say %q:\n%s", err, text, p.printed.String())
		default:
		}
	}
	b.t.Fatalf("it does not say %q:\n%s", text, p.printed.String())
}

// An answer that was changed on its way to the operator is not shown as the agent's.
func TestWhoTapsAnswersForNobody(t *testing.T) {
	b, between := meddledBed(t, "echo done >>../log")
	p := b.start()
	b.awaitSaid(p, "db.r1: done")
	r := protocol.Request{ID: "one", Kind: protocol.Action, Incarnation: 1, Role: "r1", Name: "backup", Since: time.Now()}
	if err := b.reader().Post(context.Background(), []deploy.Posting{{Server: "db", Request: r}}, nil); err != nil {
		t.Fatal(err)
	}
	store, err := zookeeper.Open(context.Background(), b.url, b.secret.Operator(deployment)) // by way of who taps
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	reader, err := deploy.NewReader(context.Background(), store, deployment, b.secret, &b.plan)
	if err != nil {
		t.Fatal(err)
	}
	var answers []protocol.Answer
	for end := time.Now().Add(patience); len(answers) == 0; time.Sleep(10 * time.Millisecond) {
		if answers, err = reader.Answers(context.Background(), "db"); err != nil || time.Now().After(end) {
			t.Fatalf("%v\n%s", err, p.printed)
		}
	}
	if answers[0].Status != protocol.AnswerRefused {
		t.Errorf("it answers %+v", answers)
	}
	between.Do(func(_ string, data []byte, sent bool) []byte {
		if sent {
			return data
		}
		return bytes.ReplaceAll(data, []byte(`"status":"refused"`), []byte(`"status":"done"`))
	})
	answers, err = reader.Answers(context.Background(), "db")
	if !errors.Is(err, protocol.ErrForged) || len(answers) > 0 {
		t.Errorf("the operator believes %+v, %v", answers, err)
	}
}
