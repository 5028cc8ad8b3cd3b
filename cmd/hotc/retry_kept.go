package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// doubt says, before a retry starts, of which outputs nobody knows that it can end well, and
// what there is to do; nil is nothing.
func doubt(t *target, kept []operate.Kept) *source.Diagnostic {
	open := slices.DeleteFunc(slices.Clone(kept), func(k operate.Kept) bool { return k.Same })
	if len(open) == 0 {
		return nil
	}
	first := string(open[0].Role.Key())
	d := source.Fail(source.OperationFailed, first+" has published outputs before it failed, which others may have read: nothing is asked for yet", "")
	for _, k := range open {
		text := fmt.Sprintf("%s was published at %s; %s would keep it, if the role writes another value now", k.Cell, k.Since.Local().Format(time.DateTime), listed(k.Readers))
		d.Notes = append(d.Notes, source.Note{Message: text})
	}
	d.Hint = "if a run writes the same values, or these readers do not mind, \"" + t.command("retry", first, "--yes") + "\" runs it; \"" + t.command("retry", first, "--skip") +
		"\" takes the role as done, with what it has published. A reader that says `watch: true` is brought up to date by itself"
	return d
}

// listed are the first of some roles.
func listed(roles []contract.RoleKey) string {
	const most = 3
	var names []string
	for _, r := range roles[:min(len(roles), most)] {
		names = append(names, string(r))
	}
	if more := len(roles) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// settle has the operator decide about what is in doubt.
func (r *retrying) settle(ctx context.Context, kept []operate.Kept) error {
	d := doubt(r.target, kept)
	if d == nil || r.yes {
		return nil
	}
	if !r.io.interactive() {
		return d
	}
	d.Severity = source.Warning
	source.Print(r.io.err, d, r.io.errStyle())
	err := confirm(ctx, r.io, "Run it again all the same?")
	r.yes = err == nil // not once more where agents report meanwhile
	return err
}
