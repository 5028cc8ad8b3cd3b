package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
)

// overwrite writes what an attacker, or a backup, puts in the place of a record.
func (b *bed) overwrite(path store.Path, text []byte) {
	b.t.Helper()
	if err := b.operator().Commit(b.t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: text}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) node(path store.Path) []byte {
	b.t.Helper()
	node, err := b.operator().Read(b.t.Context(), path)
	if err != nil {
		b.t.Fatal(err)
	}
	return node.Data
}

// counting counts reads of a node.
type counting struct {
	store.Session
	path  store.Path
	reads *atomic.Int64
}

func (c *counting) Read(ctx context.Context, p store.Path) (store.Node, error) {
	if p == c.path {
		c.reads.Add(1)
	}
	return c.Session.Read(ctx, p)
}

// followed applies two servers, of which the second follows the first and has an action.
func (b *bed) followed() {
	b.t.Helper()
	b.server("a", b.levelled("1"))
	r := b.passing("b", watch("in", "a.r:out"))
	r.Actions = append(r.Actions, b.task("wipe", "echo wipe >>../count"))
	b.server("b", r)
	b.apply()
}

// The list of requests is one from before, or nobody's: what was answered does not run again, values
// are followed, and later requests are answered.
func TestAnOlderListOfRequests(t *testing.T) {
	for what, attack := range map[string]func(b *bed, older []byte) []byte{
		"from before": func(_ *bed, older []byte) []byte { return older },
		"forged":      func(_ *bed, older []byte) []byte { return []byte(strings.Replace(string(older), "wipe", "pipe", 1)) },
	} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			b.followed()
			b.start("a", stays)
			follower := b.start("b", stays)
			b.awaitState("b", inPhase(protocol.PhaseDone))
			path := deployment.Requests("b")
			b.post("b", protocol.Request{ID: "one", Kind: protocol.Action, Role: "r", Name: "wipe"})
			older := b.node(path)
			b.awaitAnswers("b", 1)
			b.post("b", protocol.Request{ID: "two", Kind: protocol.Action, Role: "r", Name: "none"})
			b.awaitAnswers("b", 2)
			follower.cancel()
			if err := follower.wait(); err != nil {
				t.Fatal(err)
			}
			newest := b.node(path)
			b.overwrite(path, attack(b, older))
			reads := &atomic.Int64{}
			follower = b.start("b", stays, func(c *agent.Config) {
				open := c.Open
				c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
					s, err := open(ctx, url, creds...)
					return &counting{s, path, reads}, err
				}
			})
			b.change("a", b.levelled("2"))
			b.awaitState("b", upTo(2, protocol.RoleDone))
			if what == "forged" { // nobody signs it
				b.overwrite(path, newest)
			}
			b.post("b", protocol.Request{ID: "three", Kind: protocol.Action, Role: "r", Name: "wipe"})
			b.awaitAnswers("b", 3)
			follower.ran("1\nwipe\nupdate 2\nwipe\n")
			if n := reads.Load(); n > 40 {
				t.Errorf("it has read its requests %d times", n)
			}
		})
	}
}

// The plan was changed from 1 to 2 to 3. The deployment is restored with 3, and its changes are
// counted anew: the next one, back to 2, is another request than the first.
func TestARequestAfterARestore(t *testing.T) {
	b := newBed(t)
	b.server("db", b.updatable("1", ""))
	b.apply()
	ended := &atomic.Int64{}
	db := b.start("db", stays, func(c *agent.Config) {
		open := c.Open
		c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
			s, err := open(ctx, url, creds...)
			return &forgetful{s, ended}, err
		}
	})
	b.awaitState("db", inPhase(protocol.PhaseDone))
	for _, level := range []string{"2", "3"} {
		b.change("db", b.updatable(level, ""))
		db.noted("update " + level)
		b.asPlanned("db")
	}
	ended.Add(1)
	if err := b.operator().DeleteTree(t.Context(), deployment.Root()); err != nil {
		t.Fatal(err)
	}
	db.await("--restore")
	b.apply(func(w *deploy.Publication) { w.Restore, w.Enrol = true, new(protocol.EnrolAlways) })
	db.await("the operator has restored the deployment")
	b.awaitState("db", inPhase(protocol.PhaseDone)) // a change asks who has reported that it has run
	b.change("db", b.updatable("2", ""))
	db.noted("update 2")
	db.ran("run 1\nupdate 2\nupdate 3\nupdate 2\n")
}

// looked waits until a follower's agent has looked at all that it follows since the last write.
func (b *bed) looked(server contract.ServerPath, r *running) *running {
	b.t.Helper()
	before := len(b.awaitAnswersOf(server))
	r = b.restart(r)
	for i := range 2 { // what it follows is looked at after each request
		b.post(server, protocol.Request{ID: fmt.Sprint("look", before+i), Kind: protocol.Action, Role: "r", Name: "none"})
		b.awaitAnswers(server, before+i+1)
	}
	return r
}

func (b *bed) awaitAnswersOf(server contract.ServerPath) []protocol.Answer {
	b.t.Helper()
	answers, err := b.reader().Answers(b.t.Context(), server)
	if err != nil {
		b.t.Fatal(err)
	}
	return answers
}

// Who has no secret, but writes anything in the place of what members of a group have written, or a
// relay about them, makes no hook run, with whatever members; once that is undone all goes on.
func TestNoRunForWhatNobodySigned(t *testing.T) {
	cell := func(n int) store.Path {
		server := contract.ServerPath(fmt.Sprintf("web/%d", n))
		return deployment.Cell(contract.CellRef{Cell: contract.CellName(server.Role("r")) + ":out", Server: server})
	}
	members := deployment.Members("web")
	for what, attack := range map[string]map[store.Path]string{
		"garbage":               {cell(0): "x", cell(1): "x"},
		"empty cells":           {cell(0): `{"state":"empty","incarnation":1}`, cell(1): `{"state":"empty","incarnation":2}`},
		"cells never written":   {cell(1): `{"state":"empty"}`},
		"nothing":               {cell(0): ""},
		"a failure":             {cell(0): `{"state":"failed","incarnation":1,"cause":{"reason":"x"}}`},
		"another member's cell": {cell(0): "swap"},
		"older members":         {members: "older"},
		"no members":            {members: "{}"},
		"garbage of a relay":    {members: "x"},
	} {
		t.Run(what, func(t *testing.T) {
			b, lb := balanced(t, 2, named, func(in *contract.Input) { in.AtLeast = 1 })
			b.start("web/0", stays)
			b.awaitState("lb", inPhase(protocol.PhaseDone))
			b.start("web/1", stays)
			b.awaitState("lb", upTo(2, protocol.RoleDone))
			two := b.start("web/2", stays)
			b.awaitState("lb", upTo(3, protocol.RoleDone))
			two.cancel()
			two.gone()
			b.heat("web", map[contract.ServerPath]int{"web/3": 1}) // nobody's
			older := string(b.node(members))
			b.heat("web", map[contract.ServerPath]int{"web/3": 1, "web/2": 1})
			b.awaitState("lb", upTo(4, protocol.RoleDone))
			ran := `["w0"]` + "\n" + `update ["w0","w1"]` + "\n" + `update ["w0","w1","w2"]` + "\n" + `update ["w0","w1"]` + "\n"
			lb.ran(ran)
			before := map[store.Path][]byte{}
			for path, text := range attack {
				before[path] = b.node(path)
				switch text {
				case "older":
					text = older
				case "swap":
					text = string(b.node(cell(1)))
				}
				b.overwrite(path, []byte(text))
			}
			lb = b.looked("lb", lb)
			lb.ran(ran)
			for path, text := range before {
				b.overwrite(path, text)
			}
			lb = b.looked("lb", lb)
			lb.ran(ran)
			b.start("web/2", stays, machine("again"))
			b.awaitState("lb", upTo(5, protocol.RoleDone))
			lb.ran(ran + `update ["w0","w1","w2again"]` + "\n")
		})
	}
}

// A value that was replaced is shown again to a reader whose agent was restarted: it does not go
// back to it.
func TestNoRunForAReplacedValue(t *testing.T) {
	b := newBed(t)
	b.server("a", b.levelled("1"))
	b.server("b", b.passing("b", watch("in", "a.r:out")))
	b.apply()
	b.start("a", stays)
	follower := b.start("b", stays)
	b.awaitState("b", inPhase(protocol.PhaseDone))
	path := deployment.Cell(contract.CellRef{Cell: "a.r:out", Server: "a"})
	for i, level := range []string{"2", "3"} {
		older := b.node(path)
		b.change("a", b.levelled(level))
		b.awaitState("b", upTo(i+2, protocol.RoleDone))
		newest := b.node(path)
		b.overwrite(path, older)
		follower = b.looked("b", follower)
		b.overwrite(path, newest)
		follower = b.looked("b", follower)
	}
	follower.ran("1\nupdate 2\nupdate 3\n")
}

// A request is for one machine of its server: another one refuses it.
func TestARequestForAnotherMachine(t *testing.T) {
	b := newBed(t)
	r := b.sh("r", "echo run >>../count")
	r.Actions = []contract.Task{b.task("wipe", "echo wipe >>../count")}
	b.server("db", r)
	b.apply()
	db := b.start("db", stays)
	b.awaitState("db", inPhase(protocol.PhaseDone))
	b.post("db", protocol.Request{ID: "one", Kind: protocol.Action, Role: "r", Name: "wipe", Incarnation: 2})
	if answers := b.awaitAnswers("db", 1); answers[0].Status != protocol.AnswerRefused {
		t.Errorf("%+v", answers)
	}
	db.ran("run\n")
}

// The plan of a follower is not its operator's, or lacks a part: the follower waits for the right
// one, and follows then.
func TestAFollowerWhosePlanCannotBeRead(t *testing.T) {
	for what, text := range map[string]string{"forged": "x", "without its part": `{"parts":1,"of":"0123456789abcdef"}`} {
		t.Run(what, func(t *testing.T) {
			b := newBed(t)
			b.server("a", b.levelled("1"))
			b.server("b", b.passing("b", watch("in", "a.r:out")))
			b.apply()
			first, path, reads := b.start("a", stays), deployment.ServerPlan("b"), &atomic.Int64{}
			follower := b.start("b", stays, func(c *agent.Config) {
				open := c.Open
				c.Open = func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error) {
					s, err := open(ctx, url, creds...)
					return &counting{s, deployment.Requests("b"), reads}, err
				}
			})
			b.awaitState("b", inPhase(protocol.PhaseDone))
			plan := b.node(path)
			b.overwrite(path, []byte(text))
			follower.await("requests wait for the plan")
			first.cancel()
			first.gone()
			b.start("a", stays, machine("again"))
			b.awaitState("a", func(s protocol.ServerState) bool { return s.Incarnation == 2 && s.Phase == protocol.PhaseDone })
			b.post("b", protocol.Request{ID: "one", Kind: protocol.Action, Role: "r", Name: "none"})
			b.overwrite(path, plan)
			b.awaitAnswers("b", 1)
			b.awaitState("b", upTo(2, protocol.RoleDone))
			follower.ran("1\nupdate 1\n")
			if n := reads.Load(); n > 40 {
				t.Errorf("it has read its requests %d times", n)
			}
		})
	}
}

// A request that was answered is not answered again, whatever the answer was, even if the answers are
// shown as they were before, too, and however many others were answered since. A later one is
// answered, though it is added to the older list.
func TestAnAnsweredRequestIsReplayed(t *testing.T) {
	for what, more := range map[string]int{"soon": 0, "after a thousand others": 1100} {
		t.Run(what, func(t *testing.T) {
			if more > 0 {
				seedtest.SkipShort(t)
			}
			b := newBed(t)
			r := b.sh("r", failsOnce)
			r.Actions = []contract.Task{b.task("wipe", "echo wipe >>../count")}
			b.server("db", r)
			b.apply()
			db := b.start("db", stays)
			b.awaitState("db", inPhase(protocol.PhaseFailed))
			requests, answers := deployment.Requests("db"), deployment.Answers("db")
			b.post("db", protocol.Request{ID: "early", Kind: protocol.Action, Role: "r", Name: "wipe"})
			early := b.node(requests)
			if all := b.awaitAnswers("db", 1); all[0].Status != protocol.AnswerRefused {
				t.Fatalf("%+v", all)
			}
			mend(t, db)
			b.post("db", protocol.Request{ID: "retry", Kind: protocol.Retry, Role: "r"}, "db.r")
			b.awaitState("db", inPhase(protocol.PhaseDone))
			b.post("db", protocol.Request{ID: "done", Kind: protocol.Action, Role: "r", Name: "wipe"})
			done := b.node(requests)
			b.awaitAnswers("db", 3)
			var others []deploy.Posting
			for n := range more {
				others = append(others, deploy.Posting{Server: "db", Request: protocol.Request{ID: fmt.Sprint("n", n), Kind: protocol.Action, Role: "r", Name: "none", Incarnation: 1}})
			}
			if more > 0 {
				if err := b.reader().Post(t.Context(), others, nil); err != nil {
					t.Fatal(err)
				}
				b.awaitAnswers("db", 3+more)
			}
			const ran = "run\nrun\nwipe\n"
			db.ran(ran)
			for _, older := range [][]byte{early, done} {
				db.cancel()
				if err := db.wait(); err != nil {
					t.Fatal(err)
				}
				b.overwrite(requests, older)
				b.overwrite(answers, []byte("{}"))
				db = b.start("db", stays)
				b.awaitAnswers("db", 1)
				db.ran(ran)
			}
			b.post("db", protocol.Request{ID: "new", Kind: protocol.Action, Role: "r", Name: "wipe"})
			b.awaitAnswers("db", 2)
			db.ran(ran + "wipe\n")
		})
	}
}
