package timeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/source"
)

func durations() timeline.Durations {
	return timeline.Durations{Boot: 40, Role: 20, Of: map[string]float64{}}
}

// server is a process whose first task is Heat's.
func server(n *waits.Net, name string, roles ...waits.Task) {
	made := n.AddCell(name, source.Place{})
	start := waits.Task{Name: name, Heat: true, Owns: []waits.CellID{made}, Completion: made, Body: []waits.Step{{Op: waits.Write, Cell: made, Progress: 1}}}
	n.Processes = append(n.Processes, waits.Process{Name: name, Server: true, Tasks: append([]waits.Task{start}, roles...)})
}

// A reader waits from its own read to the writer's write, each where it stands in
// its script, and the critical path leads over the write.
func TestBlockedFromReadToWrite(t *testing.T) {
	n := &waits.Net{}
	url, site := n.AddCell("db.mysql:url", source.Place{}), n.AddCell("web.app:site", source.Place{})
	server(n, "db", waits.Task{Name: "mysql", Owns: []waits.CellID{url}, Completion: -1, Body: []waits.Step{{Op: waits.Write, Cell: url, Progress: 0.75}}})
	server(n, "web", waits.Task{Name: "app", Owns: []waits.CellID{site}, Completion: -1,
		Body: []waits.Step{{Op: waits.Read, Cell: url, Progress: 0.25}, {Op: waits.Write, Cell: site, Progress: 1}}})
	d := durations()
	d.Of["db.mysql"], d.Of["web.app"] = 60, 24
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
	a, b := n.AddCell("a", source.Place{}), n.AddCell("b", source.Place{})
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

// A simulated deadlock agrees with the analysis: a run of straight programs hangs
// just where the analysis is certain of it.
func TestHangsWhereTheAnalysisIsCertain(t *testing.T) {
	hangs := 0
	for seed := range 3000 {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		n := &waits.Net{}
		var cells []waits.CellID
		for range 6 {
			cells = append(cells, n.AddCell("c", source.Place{}))
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
		t.Error("the programs are all alike:", hangs)
	}
}
