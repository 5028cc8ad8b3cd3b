package waits_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/seedtest"
)

// randomNet makes a small net: two or three servers with one or two roles.
func randomNet(r *rand.Rand, forks, timed bool) *waits.Net {
	n := &waits.Net{}
	processes := 2 + r.IntN(2)
	var all []waits.CellID
	for p := range processes {
		process := waits.Process{Name: fmt.Sprint("p", p)}
		for t := range 1 + r.IntN(2) {
			task := waits.Task{Name: fmt.Sprint("t", t)}
			for range 1 + r.IntN(2) {
				task.Owns = append(task.Owns, n.AddCell(fmt.Sprintf("p%d.t%d:%d", p, t, len(task.Owns))))
			}
			task.Completion = task.Owns[len(task.Owns)-1]
			all = append(all, task.Owns...)
			process.Tasks = append(process.Tasks, task)
		}
		n.Processes = append(n.Processes, process)
	}
	for p := range n.Processes {
		for t := range n.Processes[p].Tasks {
			task := &n.Processes[p].Tasks[t]
			task.Body = randomBody(r, task.Owns, all, forks, timed)
		}
	}
	return n
}

func randomBody(r *rand.Rand, owns, all []waits.CellID, forks, timed bool) []waits.Step {
	read := func() waits.Step {
		s := waits.Step{Op: waits.Read, Cell: all[r.IntN(len(all))], Tolerant: r.IntN(5) == 0}
		if timed && r.IntN(4) == 0 {
			s.Timeout = 10
		}
		return s
	}
	write := func(c waits.CellID) waits.Step { return waits.Step{Op: waits.Write, Cell: c} }
	var body []waits.Step
	for i, c := range owns {
		if r.IntN(2) == 0 {
			body = append(body, read())
		}
		if !forks {
			if r.IntN(12) > 0 {
				body = append(body, write(c))
			}
			continue
		}
		switch r.IntN(6) {
		case 0: // an if around a read
			body = append(body, waits.Step{Op: waits.Choice, Ways: [][]waits.Step{nil, {read()}}}, write(c))
		case 1: // by a condition of the template
			key := string(rune('a' + r.IntN(2)))
			body = append(body, waits.Step{Op: waits.Choice, Key: key, Ways: [][]waits.Step{{read()}, {read()}}}, write(c))
		case 2: // early on one way, late on the other
			body = append(body, waits.Step{Op: waits.Choice, Ways: [][]waits.Step{{write(c), read()}, {read(), write(c)}}})
		case 3:
			body = append(body, waits.Unordered([]waits.Step{read(), write(c)})...)
		case 4: // perhaps not at all
			body = append(body, waits.Step{Op: waits.Choice, Ways: [][]waits.Step{{write(c)}, {read()}}})
			if i > 0 {
				body = append(body, write(c))
			}
		default:
			body = append(body, write(c))
		}
	}
	return body
}

func show(n *waits.Net) string {
	var b strings.Builder
	var steps func(list []waits.Step) string
	steps = func(list []waits.Step) string {
		var parts []string
		for _, s := range list {
			switch s.Op {
			case waits.Read:
				text := "read " + n.Cells[s.Cell]
				if s.Timeout > 0 {
					text += " timed"
				}
				if s.Tolerant {
					text += " tolerant"
				}
				parts = append(parts, text)
			case waits.Write:
				parts = append(parts, "write "+n.Cells[s.Cell])
			case waits.Choice:
				var ways []string
				for _, way := range s.Ways {
					ways = append(ways, "{"+steps(way)+"}")
				}
				parts = append(parts, "choice"+s.Key+" "+strings.Join(ways, "|"))
			}
		}
		return strings.Join(parts, "; ")
	}
	for _, p := range n.Processes {
		for _, t := range p.Tasks {
			fmt.Fprintf(&b, "%s.%s owns %d: %s\n", p.Name, t.Name, len(t.Owns), steps(t.Body))
		}
	}
	return b.String()
}

func verdicts(found []waits.Deadlock) (certain bool, text string) {
	for _, d := range found {
		certain = certain || d.Verdict == waits.Certain
		text += d.Verdict.String() + " "
	}
	return certain, text
}

// An exhaustive search confirms the analysis of random programs.
func TestAgreesWithExhaustiveSearch(t *testing.T) {
	for _, kind := range []struct {
		name         string
		forks, timed bool
		programs     int
	}{{"straight", false, false, 4000}, {"forks", true, false, 1500}, {"timed", false, true, 4000}, {"forks and timed", true, true, 300}} {
		t.Run(kind.name, func(t *testing.T) {
			count := map[string]int{}
			for seed := range seedtest.Each(t, kind.programs) {
				n := randomNet(rand.New(rand.NewPCG(seed, 5)), kind.forks, kind.timed)
				found := waits.Decide(n)
				e := explore(n, nil)
				certain, text := verdicts(found)
				count[text]++
				wrong := ""
				switch {
				case certain && e.ends > 0:
					wrong = "called certain, but some run ends"
				case len(found) == 0 && e.hangs > 0:
					wrong = "called free, but some run hangs"
				case !certain && e.ends == 0 && !kind.timed:
					wrong = "not called certain, but every run hangs"
				case !kind.forks && !kind.timed && certain != (e.hangs > 0):
					wrong = "there is one outcome, and it is missed"
				}
				for _, d := range found {
					if d.Verdict == waits.Conditional && explore(n, map[string]int{d.Key: d.Way}).ends > 0 {
						wrong = "called certain where " + d.Key + " holds, but some run ends"
					}
				}
				if wrong != "" {
					t.Fatalf("seed %d: %s (%s; %d hang, %d end)\n%s", seed, wrong, text, e.hangs, e.ends, show(n))
				}
			}
			t.Logf("%v", count)
		})
	}
}
