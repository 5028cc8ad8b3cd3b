package waits_test

import (
	"testing"

	"github.com/hotc-dev/hotc/analysis/waits"
)

// pair makes two servers with one role each, which own a cell each.
func pair(body func(own, other waits.CellID) (a, b []waits.Step)) *waits.Net {
	n := &waits.Net{}
	a, b := n.AddCell("a"), n.AddCell("b")
	first, second := body(a, b)
	n.Processes = []waits.Process{
		{Name: "a", Tasks: []waits.Task{{Name: "r", Body: first, Owns: []waits.CellID{a}, Completion: -1}}},
		{Name: "b", Tasks: []waits.Task{{Name: "r", Body: second, Owns: []waits.CellID{b}, Completion: -1}}},
	}
	return n
}

func read(c waits.CellID) waits.Step  { return waits.Step{Op: waits.Read, Cell: c} }
func write(c waits.CellID) waits.Step { return waits.Step{Op: waits.Write, Cell: c} }

func verdictsOf(n *waits.Net) string {
	_, text := verdicts(waits.Decide(n))
	return text
}

// Chef compiles every recipe before any resource converges: reads in a recipe's body
// precede writes of a resource, whatever their order in the text.
func TestChef(t *testing.T) {
	compileReads := pair(func(a, b waits.CellID) ([]waits.Step, []waits.Step) {
		return phases([]waits.Step{read(b)}, []waits.Step{write(a)}), []waits.Step{read(a), write(b)}
	})
	if got := verdictsOf(compileReads); got != "certain " {
		t.Errorf("read at compile, written at converge: %s", got)
	}
	lazy := pair(func(a, b waits.CellID) ([]waits.Step, []waits.Step) {
		return phases(nil, []waits.Step{write(a), read(b)}), []waits.Step{read(a), write(b)}
	})
	if got := verdictsOf(lazy); got != "possible " {
		t.Errorf("both at converge, in an order that is not known: %s", got)
	}
	attribute := pair(func(a, b waits.CellID) ([]waits.Step, []waits.Step) {
		return phases([]waits.Step{write(a)}, []waits.Step{read(b)}), []waits.Step{read(a), write(b)}
	})
	if got := verdictsOf(attribute); got != "" {
		t.Errorf("written at compile, read at converge: %s", got)
	}
}

// Puppet compiles a catalogue, which reads, and then applies it, which writes.
func TestPuppet(t *testing.T) {
	both := pair(func(a, b waits.CellID) ([]waits.Step, []waits.Step) {
		return phases([]waits.Step{read(b)}, []waits.Step{write(a)}), phases([]waits.Step{read(a)}, []waits.Step{write(b)})
	})
	if got := verdictsOf(both); got != "certain " {
		t.Errorf("two catalogues that need each other's results: %s", got)
	}
	variable := pair(func(a, b waits.CellID) ([]waits.Step, []waits.Step) {
		// A variable that the manifest sets is written while the catalogue is compiled.
		return phases([]waits.Step{write(a), read(b)}, nil), phases([]waits.Step{read(a)}, []waits.Step{write(b)})
	})
	if got := verdictsOf(variable); got != "possible " {
		t.Errorf("a variable, set before or after the look-up: %s", got)
	}
}

// A member of a group that waits for the list of all members waits for itself.
func TestGroupWaitsForItsOwnGather(t *testing.T) {
	n := &waits.Net{}
	var members []waits.CellID
	for range 3 {
		members = append(members, n.AddCell("member"))
	}
	for i := range members {
		var body []waits.Step
		for _, m := range members {
			body = append(body, read(m))
		}
		n.Processes = append(n.Processes, waits.Process{Name: "group", Tasks: []waits.Task{{Name: "r", Body: append(body, write(members[i])), Owns: members[i : i+1]}}})
	}
	found := waits.Decide(n)
	if len(found) != 1 || found[0].Verdict != waits.Certain || len(found[0].Cycle) != 1 {
		t.Errorf("%+v", found)
	}
}

// Each suggested change breaks the cycle.
func TestFixes(t *testing.T) {
	n := pair(func(a, b waits.CellID) ([]waits.Step, []waits.Step) {
		return []waits.Step{read(b), write(a)}, []waits.Step{read(a), write(b)}
	})
	found := waits.Decide(n)
	if fixes := n.Fixes(found[0], 5); len(fixes) != 2 || fixes[0].Kind != waits.PublishFirst {
		t.Errorf("%+v", fixes)
	}
}

// phases are reads and writes of a tool that works in phases, each of which ends
// before the next begins, in an unknown order within: Chef compiles all recipes
// and then converges, Puppet compiles a catalogue and then applies it.
func phases(phases ...[]waits.Step) []waits.Step {
	var body []waits.Step
	for _, steps := range phases {
		body = append(body, waits.Unordered(steps)...)
	}
	return body
}
