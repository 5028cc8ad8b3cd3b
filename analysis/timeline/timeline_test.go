package timeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/seedtest"
)

func durations() timeline.Durations {
	return timeline.Durations{Boot: 40, Role: 20, Of: map[string]timeline.Duration{}}
}

// server is a process whose first task is Heat's.
func server(n *waits.Net, name string, roles ...waits.Task) {
	made := n.AddCell(name)
	start := waits.Task{Name: name, Heat: true, Owns: []waits.CellID{made}, Completion: made, Body: []waits.Step{{Op: waits.Write, Cell: made, Progress: 1}}}
	n.Processes = append(n.Processes, waits.Process{Name: name, Server: true, Tasks: append([]waits.Task{start}, roles...)})
}

// A reader waits from its own read to the writer's write, each at its place in its
// script, and the critical path passes through the write.
func TestBlockedFromReadToWrite(t *testing.T) {
	n := &waits.Net{}
	url, site := n.AddCell("db.mysql:url"), n.AddCell("web.app:site")
	server(n, "db", waits.Task{Name: "mysql", Owns: []waits.CellID{url}, Completion: -1, Body: []waits.Step{{Op: waits.Write, Cell: url, Progress: 0.75}}})
	server(n, "web", waits.Task{Name: "app", Owns: []waits.CellID{site}, Completion: -1,
		Body: []waits.Step{{Op: waits.Read, Cell: url, Progress: 0.25}, {Op: waits.Write, Cell: site, Progress: 1}}})
	d := durations()
	d.Of["db.mysql"], d.Of["web.app"] = timeline.Duration{Seconds: 60}, timeline.Duration{Seconds: 24}
	r := timeline.Simulate(n, d)
	app := r.Processes[1].Tasks[1]
	if len(app.Waits) != 1 || app.Waits[0].From != 46 || app.Waits[0].To != 85 || app.Blocked != 39 || app.End != 103 || r.Makespan != 103 {
		t.Errorf("%+v of %v", app, r.Makespan)
	}
	if len(r.Critical) != 3 || r.Critical[1].Task != "db.mysql" || r.Critical[1].To != 85 || r.Critical[2].Task != "web.app" {
		t.Errorf("%+v", r.Critical)
	}
	if whole, possible := timeline.WholeServers(n, d); !possible || whole != 164 {
		t.Errorf("whole servers: %v %v", whole, possible)
	}
}

// Two servers that need each other's values run in parallel; whole servers cannot
// be ordered at all.
func TestCircleBetweenServers(t *testing.T) {
	n := &waits.Net{}
	a, b := n.AddCell("a"), n.AddCell("b")
	for _, s := range []struct {
		name       string
		own, other waits.CellID
	}{{"one", a, b}, {"two", b, a}} {
		server(n, s.name, waits.Task{Name: "r", Owns: []waits.CellID{s.own}, Completion: -1,
			Body: []waits.Step{{Op: waits.Write, Cell: s.own}, {Op: waits.Read, Cell: s.other, Progress: 1}}})
	}
	if r := timeline.Simulate(n, durations()); r.Hung || r.Makespan != 60 {
		t.Errorf("%+v", r)
	}
	if _, possible := timeline.WholeServers(n, durations()); possible {
		t.Error("Heat would refuse this")
	}
}

// A nested stack begins before its members, which wait for that, and is complete after them:
// in an order of whole servers the members come first, after what the stack itself waits for.
func TestWholeServersOfNestedStacks(t *testing.T) {
	n := &waits.Net{}
	db, begun, stack := n.AddCell("db.r:url"), n.AddCell("tier"), n.AddCell("tier")
	inner, reader := n.AddCell("tier/app"), n.AddCell("reader")
	heats := func(name string, owns []waits.CellID, body ...waits.Step) {
		n.Processes = append(n.Processes, waits.Process{Name: name, Server: name != "tier", Tasks: []waits.Task{{Name: name, Heat: true, Owns: owns, Completion: owns[0], Body: body}}})
	}
	server(n, "db", waits.Task{Name: "r", Owns: []waits.CellID{db}, Completion: -1, Body: []waits.Step{{Op: waits.Write, Cell: db, Progress: 1}}})
	heats("tier", []waits.CellID{stack, begun}, waits.Step{Op: waits.Read, Cell: db}, waits.Step{Op: waits.Write, Cell: begun},
		waits.Step{Op: waits.Read, Cell: inner}, waits.Step{Op: waits.Write, Cell: stack, Progress: 1})
	heats("tier/app", []waits.CellID{inner}, waits.Step{Op: waits.Read, Cell: begun}, waits.Step{Op: waits.Write, Cell: inner, Progress: 1})
	heats("reader", []waits.CellID{reader}, waits.Step{Op: waits.Read, Cell: inner}, waits.Step{Op: waits.Write, Cell: reader, Progress: 1})
	// db boots and runs, app boots, the reader boots
	if whole, possible := timeline.WholeServers(n, durations()); !possible || whole != 20+3*40 {
		t.Errorf("whole servers: %v %v", whole, possible)
	}
}

// A simulated deadlock agrees with the analysis: a run of straight programs hangs
// exactly where the analysis is certain of it.
func TestHangsWhereTheAnalysisIsCertain(t *testing.T) {
	hangs := 0
	for seed := range seedtest.Each(t, 3000) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := &waits.Net{}
		var cells []waits.CellID
		for range 6 {
			cells = append(cells, n.AddCell("c"))
		}
		for p := range 3 {
			var roles []waits.Task
			for t := range 2 {
				own := cells[2*p+t]
				body := []waits.Step{{Op: waits.Write, Cell: own, Progress: r.Float64()}}
				for range r.IntN(3) {
					read := waits.Step{Op: waits.Read, Cell: cells[r.IntN(6)], Progress: r.Float64()}
					if r.IntN(2) == 0 {
						body = append(body, read)
					} else {
						body = append([]waits.Step{read}, body...)
					}
				}
				roles = append(roles, waits.Task{Name: string(rune('r' + t)), Owns: []waits.CellID{own}, Completion: -1, Body: body})
			}
			server(n, string(rune('a'+p)), roles...)
		}
		certain := false
		for _, d := range waits.Decide(n) {
			certain = certain || d.Verdict == waits.Certain
		}
		run := timeline.Simulate(n, durations())
		if run.Hung != certain {
			t.Fatalf("seed %d: simulated hang %v, certain deadlock %v", seed, run.Hung, certain)
		}
		if run.Hung {
			hangs++
		}
	}
	if hangs == 0 || hangs == 3000 {
		t.Error("the programs do not vary:", hangs)
	}
}

// withTimeouts are a server whose role reads a cell with a timeout, and one that works too
// long for its own timeout.
func withTimeouts(readTimeout, roleTimeout float64) *waits.Net {
	n := &waits.Net{}
	url, done := n.AddCell("db.mysql:url"), n.AddCell("web.app")
	last := n.AddCell("web.last")
	server(n, "db", waits.Task{Name: "mysql", Owns: []waits.CellID{url}, Completion: -1, Timeout: roleTimeout, Body: []waits.Step{{Op: waits.Write, Cell: url, Progress: 1}}})
	server(n, "web", waits.Task{Name: "app", Owns: []waits.CellID{done}, Completion: done,
		Body: []waits.Step{{Op: waits.Read, Cell: url, What: `input "url"`, Timeout: readTimeout}, {Op: waits.Write, Cell: done, Progress: 1}}},
		waits.Task{Name: "last", Owns: []waits.CellID{last}, Completion: last, Body: []waits.Step{{Op: waits.Write, Cell: last, Progress: 1}}})
	return n
}

// Timeouts end waits and roles, and everything that depends on these.
func TestTimeouts(t *testing.T) {
	d := durations()
	d.Of["db.mysql"] = timeline.Duration{Seconds: 90}
	for _, test := range []struct {
		what                     string
		readTimeout, roleTimeout float64
		makespan                 float64
		mysql, app, last         string
	}{
		{"both long enough", 100, 100, 170, "", "", ""},
		{"the reader gives up", 60, 100, 130, "", `input "url" did not arrive in time`, "web.app failed before it"},
		{"the writer times out", 0, 50, 90, "it timed out", "db.mysql failed", "web.app failed before it"},
	} {
		r := timeline.Simulate(withTimeouts(test.readTimeout, test.roleTimeout), d)
		got := []string{r.Processes[0].Tasks[1].Failed, r.Processes[1].Tasks[1].Failed, r.Processes[1].Tasks[2].Failed}
		if r.Hung || r.Makespan != test.makespan || got[0] != test.mysql || got[1] != test.app || got[2] != test.last || r.Failed != (test.app != "") {
			t.Errorf("%s: %v after %v", test.what, got, r.Makespan)
		}
	}
}

// In the worst case a role takes all of its time, in each attempt.
func TestAtWorst(t *testing.T) {
	d := durations()
	d.Of["db.mysql"] = timeline.Duration{Seconds: 30, Worst: 50, Retries: 2}
	if r := timeline.AtWorst(withTimeouts(0, 0), d); r.Failed || r.Makespan != 40+3*50+20+20 {
		t.Errorf("%+v", r)
	}
	if r := timeline.AtWorst(withTimeouts(0, 100), d); r.Failed || r.Makespan != 40+3*100+20+20 {
		t.Errorf("with a timeout: %+v", r)
	}
	r := timeline.AtWorst(withTimeouts(60, 100), d)
	if app := r.Processes[1].Tasks[1]; !r.Failed || app.End != 100 || app.Failed != `input "url" did not arrive in time` {
		t.Errorf("the reader times out: %+v", app)
	}
}

// A wait in a cycle that a timeout ends does not hang: it fails.
func TestTimedCircle(t *testing.T) {
	n := &waits.Net{}
	a, b := n.AddCell("a"), n.AddCell("b")
	server(n, "one", waits.Task{Name: "r", Owns: []waits.CellID{a}, Completion: -1,
		Body: []waits.Step{{Op: waits.Read, Cell: b, What: `input "b"`, Timeout: 30, Progress: 0.5}, {Op: waits.Write, Cell: a, Progress: 1}}})
	server(n, "two", waits.Task{Name: "r", Owns: []waits.CellID{b}, Completion: -1,
		Body: []waits.Step{{Op: waits.Read, Cell: a, What: `input "a"`}, {Op: waits.Write, Cell: b, Progress: 1}}})
	r := timeline.Simulate(n, durations())
	one, two := r.Processes[0].Tasks[1], r.Processes[1].Tasks[1]
	if r.Hung || !r.Failed || one.End != 80 || two.End != 80 || two.Failed != "one.r failed" || r.Makespan != 80 {
		t.Errorf("%+v\n%+v", one, two)
	}
}
