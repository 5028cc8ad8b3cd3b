package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/operate"
)

// doubt says, before a retry starts, of which outputs nobody knows that it can end well, and
// what there is to do; nil is nothing.
func doubt(t *target, kept []operate.Kept) *source.Diagnostic {
	open := slices.DeleteFunc(slices.Clone(kept), func(k operate.Kept) bool { return k.Same })
	if len(open) == 0 {
		return nil
	}
	first := string(open[0].Role.Key())
	d := source.Fail(source.OperationFailed, first+" has published outputs before it failed, and fails again if it writes another value: nothing is asked for yet", "")
	for _, k := range open {
		text := fmt.Sprintf("%s was published at %s and keeps its value; whether the role writes the same again cannot be told from here", k.Cell, k.Since.Local().Format(time.DateTime))
		if k.Other {
			text = fmt.Sprintf("%s was published at %s and keeps its value; the role wrote another one the last time, and failed of that", k.Cell, k.Since.Local().Format(time.DateTime))
		}
		d.Notes = append(d.Notes, source.Note{Message: text})
	}
	d.Hint = "if a run writes the same values, \"" + t.command("retry", first, "--yes") + "\" runs it. If it makes them anew (at random, from the time), \"" + t.command("retry", first, "--skip") +
		"\" takes the role as done, with what it has published, and a server that is built anew begins with none; docs/operations.md says how a role keeps what it makes"
	return d
}

// settle has the operator decide about what is in doubt.
func (r *retrying) settle(kept []operate.Kept) error {
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
