package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// keptOutput is an output that a failed attempt has published. It keeps its value within
// this incarnation: a run that writes another one fails, in the end of all its work.
type keptOutput struct {
	role  *status.Role
	name  string
	cell  plan.CellName
	since time.Time
	// same says that the role's author vouches for the same value: it is idempotent.
	same bool
	// other says that the last attempt did write another value, and failed of it.
	other bool
}

// keptOutputs are those of the roles that are to run again. What a tool's resource writes
// when it was applied is always true, and left out.
func keptOutputs(v *status.Status, again []*status.Role) []keptOutput {
	var kept []keptOutput
	for _, r := range again {
		p := r.Plan
		for _, o := range p.Outputs {
			record := v.Cell(o.Cell)
			if o.Resource != "" || record.State != coordinator.Valued || record.Incarnation != r.Server.Incarnation.Number {
				continue
			}
			other := r.Cause != nil && strings.Contains(r.Cause.Reason, "output "+o.Name+": "+coordinator.ErrOtherValue.Error())
			kept = append(kept, keptOutput{role: r, name: o.Name, cell: o.Cell, since: record.Since, same: p.Idempotent && !other, other: other})
		}
	}
	return kept
}

// doubt says, before a retry starts, of which outputs nobody knows that it can end well, and
// what there is to do; nil is nothing.
func doubt(t *target, kept []keptOutput) *source.Diagnostic {
	open := slices.DeleteFunc(slices.Clone(kept), func(k keptOutput) bool { return k.same })
	if len(open) == 0 {
		return nil
	}
	first := string(open[0].role.Key())
	d := source.Fail(source.OperationFailed, first+" has published outputs before it failed, and fails again if it writes another value: nothing is asked for yet", "")
	for _, k := range open {
		text := fmt.Sprintf("%s was published at %s and keeps its value; whether the role writes the same again cannot be told from here", k.cell, k.since.Local().Format(time.DateTime))
		if k.other {
			text = fmt.Sprintf("%s was published at %s and keeps its value; the role wrote another one the last time, and failed of that", k.cell, k.since.Local().Format(time.DateTime))
		}
		d.Notes = append(d.Notes, source.Note{Message: text})
	}
	d.Hint = "if a run writes the same values, \"" + t.command("retry", first, "--yes") + "\" runs it. If it makes them anew (at random, from the time), \"" + t.command("retry", first, "--skip") +
		"\" takes the role as done, with what it has published, and a server that is built anew begins with none; docs/operations.md says how a role keeps what it makes"
	return d
}

// settle has the operator decide about what is in doubt.
func (r *retrying) settle(kept []keptOutput) error {
	d := doubt(r.target, kept)
	if d == nil || r.yes {
		return nil
	}
	if !r.io.interactive() {
		return d
	}
	d.Severity = source.Warning
	source.Print(r.io.err, d, r.io.errStyle())
	err := confirm(r.io, "Run it again all the same?")
	r.yes = err == nil // not once more where agents report meanwhile
	return err
}

// cellsOf names kept outputs.
func cellsOf(kept []keptOutput) []plan.CellName {
	cells := []plan.CellName{}
	for _, k := range kept {
		cells = append(cells, k.cell)
	}
	return cells
}
