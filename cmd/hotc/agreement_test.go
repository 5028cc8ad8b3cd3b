package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/operate"
	"github.com/hotc-dev/hotc/runtime/simulationtest"
)

// Four that share no code say the same of random deployments: the analysis and the
// predicted timeline, before anything runs; real agents, in virtual time; and `hotc
// why`, of what these leave.
func TestAnalysisAgreesWithAgents(t *testing.T) {
	hung, failed := 0, 0
	for seed := range seedtest.Mixed(t, seedtest.Cases(300, 30)) {
		c := simulationtest.NewCase(seed, true)
		net := netOf(c.Program, 0)
		knots := map[string]bool{} // servers that wait for each other
		for _, d := range waits.Decide(net) {
			if d.Verdict != waits.Certain {
				t.Errorf("a deployment whose order is known is called %s", d.Verdict)
			}
			for _, p := range d.Processes {
				knots[net.Processes[p].Name] = true
			}
		}
		o := simulationtest.Run(t, c, t.TempDir())
		v := status.New(o.Plan, o.Snapshot, hot.DecidedSize)
		v.Cycles = status.Deadlocks(v) // at rest one look is enough
		open, err := operate.Questioned(v, "")
		if err != nil {
			t.Fatal(err)
		}
		waiting := slices.DeleteFunc(slices.Clone(open), func(r *status.Role) bool {
			return r.Status == protocol.RoleFailed || r.Status == protocol.RoleSkipped || r.Status == ""
		})
		if len(waiting) > 0 != (len(knots) > 0) {
			o.Violations = append(o.Violations, fmt.Sprintf("the analysis finds circles through %v, and %d roles wait for ever", knots, len(waiting)))
		}
		o.Violations = append(o.Violations, compareEnds(v, timeline.Simulate(netOf(c.Program, 1), timeline.Durations{Boot: 40, Role: 20, Of: map[string]timeline.Duration{}}))...)
		i := status.Explain(v, open)
		for _, cycle := range status.Subjects(i.Cycles) {
			for _, subject := range cycle {
				server := subject[:max(strings.LastIndexByte(subject, '.'), 0)]
				if !knots[server] {
					o.Violations = append(o.Violations, fmt.Sprintf("hotc why names a circle %v, and the analysis has %s in none", cycle, subject))
				}
			}
		}
		if len(knots) > 0 && len(i.Cycles) == 0 {
			o.Violations = append(o.Violations, fmt.Sprintf("the analysis finds a circle through %v, hotc why none", knots))
		}
		if len(o.Violations) > 0 {
			o.Fatal(t)
		}
		if len(knots) > 0 {
			hung++
		}
		if len(waiting) < len(open) {
			failed++
		}
	}
	t.Logf("%d deployments hung, %d had failures", hung, failed)
}

// compareEnds compares how each role ended with how it was predicted to end.
func compareEnds(v *status.Status, run *timeline.Run) (wrong []string) {
	for _, process := range run.Processes {
		for _, task := range process.Tasks {
			r := v.Role(contract.ServerPath(process.Name), task.Name)
			if r == nil {
				continue
			}
			predicted := "waits for ever"
			switch {
			case task.Failed != "":
				predicted = "failed"
			case task.End >= 0:
				predicted = "done"
			}
			ended := map[protocol.RoleStatus]string{protocol.RoleDone: "done", protocol.RoleFailed: "failed", protocol.RoleSkipped: "failed"}[r.Status]
			if ended == "" {
				ended = "waits for ever"
			}
			if ended != predicted {
				wrong = append(wrong, fmt.Sprintf("%s %s, and was predicted to be: %s %s", r.Key(), ended, predicted, task.Failed))
			}
		}
	}
	return wrong
}

// netOf is a generated deployment as a net. What fails reads a cell that never comes,
// as its task has failed, or where a timeout is given, when that is over.
func netOf(p *simulationtest.Program, timeout float64) *waits.Net {
	n := &waits.Net{}
	cells := map[contract.CellName]waits.CellID{}
	for _, c := range p.Plan.Cells {
		cells[c.Name] = n.AddCell(string(c.Name))
	}
	fails := waits.Step{Op: waits.Read, Cell: n.AddCell("never"), Timeout: timeout}
	if timeout == 0 {
		n.Processes = append(n.Processes, waits.Process{Name: "nobody", Tasks: []waits.Task{{Name: "never", Owns: []waits.CellID{fails.Cell}, Completion: -1}}})
	}
	for _, s := range p.Plan.Servers {
		boot := waits.Task{Name: string(s.Path), Heat: true, Completion: -1}
		for _, fact := range s.Facts {
			cell := cells[contract.CellName(fmt.Sprintf("%s:%s", s.Path, fact))]
			boot.Owns = append(boot.Owns, cell)
			boot.Body = append(boot.Body, waits.Step{Op: waits.Write, Cell: cell})
		}
		process := waits.Process{Name: string(s.Path), Server: true, Tasks: []waits.Task{boot}}
		for _, r := range s.Roles {
			process.Tasks = append(process.Tasks, taskOf(p, s.Path, r, cells, fails))
		}
		n.Processes = append(n.Processes, process)
	}
	return n
}

func taskOf(p *simulationtest.Program, server contract.ServerPath, r contract.Role, cells map[contract.CellName]waits.CellID, fails waits.Step) waits.Task {
	key := contract.RoleKey(fmt.Sprintf("%s.%s", server, r.Name))
	t := waits.Task{Name: r.Name, Completion: cells[contract.CellName(key)]}
	for _, d := range r.DependsOn {
		t.Body = append(t.Body, waits.Step{Op: waits.Read, Cell: cells[d.Cell], Start: true})
	}
	outputs := map[string]waits.CellID{}
	for _, o := range r.Outputs {
		outputs[o.Name] = cells[o.Cell]
		t.Owns = append(t.Owns, cells[o.Cell])
	}
	t.Owns = append(t.Owns, t.Completion)
	for _, step := range p.Roles[key].Steps {
		switch step.Op {
		case simulationtest.Read:
			in := r.Inputs[slices.IndexFunc(r.Inputs, func(in contract.Input) bool { return in.Name == step.Name })]
			for _, c := range in.Reads {
				t.Body = append(t.Body, waits.Step{Op: waits.Read, Cell: cells[c], Start: step.Eager, Tolerant: in.Default != nil || in.Optional})
			}
		case simulationtest.Write:
			t.Body = append(t.Body, waits.Step{Op: waits.Write, Cell: outputs[step.Name]})
		case simulationtest.Other:
			t.Body = append(t.Body, fails)
		}
	}
	if p.Roles[key].Exit != 0 {
		t.Body = append(t.Body, fails)
	}
	for _, o := range r.Outputs { // a role that has not written all has failed, whatever its tool says
		if !slices.ContainsFunc(t.Body, func(s waits.Step) bool { return s.Op == waits.Write && s.Cell == cells[o.Cell] }) {
			t.Body = append(t.Body, fails)
		}
	}
	t.Body = append(t.Body, waits.Step{Op: waits.Write, Cell: t.Completion})
	return t
}
