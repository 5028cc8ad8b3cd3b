package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// mostRuns is how many runs are listed; a change may reach thousands.
const mostRuns = 40

// printPreview lists the runs in order, and how long they take.
func printPreview(w io.Writer, r *preview.Preview) {
	if r == nil || len(r.Runs) == 0 {
		return
	}
	fmt.Fprintln(w, "In this order:")
	for _, x := range r.Runs[:min(len(r.Runs), mostRuns)] {
		fmt.Fprintf(w, "  %6s  %s: %s\n", point(x.Start), terminal.Line(string(x.Role)), terminal.Line(runs(x.How, x.After, x.Each, x.Why)))
	}
	if more := len(r.Runs) - mostRuns; more > 0 {
		fmt.Fprintf(w, "  and %s more\n", source.Counted(more, "run"))
	}
	fmt.Fprintf(w, "%s.\n", headline(r))
}

// headline is the predicted time and the critical path.
func headline(r *preview.Preview) string {
	if r.Seconds < 0 {
		return "How long that takes cannot be predicted"
	}
	text := "About " + timeline.FormatSeconds(r.Seconds) + " in all"
	if len(r.Critical) > 1 {
		way := r.Critical
		if over := len(way) - mostLinks; over > 0 {
			way = slices.Concat(way[:mostLinks-1], []string{fmt.Sprintf("… (%d more)", over)}, way[len(way)-1:])
		}
		text += "; critical path: " + strings.Join(way, " → ")
	}
	return text
}

// mostLinks is how many roles of a critical path, or of those that one waits for, are named.
const mostLinks = 12

// runs describes a run of a role: how, after which roles, and why.
func runs(how preview.How, after []contract.RoleKey, each bool, why string) string {
	text := map[preview.How]string{preview.Hook: "its update hook runs", preview.Again: "it runs again", preview.Run: "it runs"}[how]
	switch {
	case each && len(after) == 1:
		text += " now, and again"
	case each:
		text += " for each of them, or for several at once,"
	case len(after) > 1:
		text += " once,"
	}
	if over := len(after) - mostLinks; over > 0 {
		after = append(slices.Clone(after[:mostLinks]), contract.RoleKey(fmt.Sprintf("%d more", over)))
	}
	if len(after) > 0 {
		text += " after " + preview.Listed(after)
	}
	if why != "" {
		text += ", since " + why
	}
	return text
}

// previewOf predicts the runs that another plan causes in a live deployment, where Heat builds
// some servers (perhaps none), may create others whose conditions it decides again, and roles
// are retried.
func previewOf(to *contract.Plan, now *status.Status, changes []deploy.RoleChange, retried []contract.RoleKey, built func(contract.ServerPath) bool, decided map[string]value.Value) *preview.Preview {
	there := *to
	there.Servers = nil
	b := preview.Begin{Roles: map[contract.RoleKey]preview.How{}, Why: map[contract.RoleKey]string{}}
	for _, s := range to.Servers {
		was := now.ByPath[s.Path]
		if (was == nil || was.Absent()) && len(s.If) > 0 && !built(s.Path) && !comes(s.If, decided) {
			continue // Heat does not create it now either
		}
		there.Servers = append(there.Servers, s)
		if was != nil && !was.Absent() && !built(s.Path) {
			continue
		}
		b.Replaced = append(b.Replaced, s.Path)
		for _, fact := range s.Facts {
			b.Cells = append(b.Cells, s.Path.Fact(fact))
		}
	}
	for _, key := range retried {
		b.Roles[key], b.Why[key] = preview.Run, "it has failed"
	}
	for _, c := range changes {
		b.Why[c.Key()] = whatChanges(c.What)
		if c.Joins {
			b.Joins = append(b.Joins, c.Key())
		}
		switch c.Effect {
		case deploy.EffectHook:
			b.Roles[c.Key()] = preview.Hook
		case deploy.EffectAgain:
			b.Roles[c.Key()] = preview.Again
		case deploy.EffectRun:
			b.Roles[c.Key()] = preview.Run
		case deploy.EffectRetry, deploy.EffectNone, deploy.EffectNoValue, deploy.EffectRemoved, deploy.EffectUnreached, deploy.EffectKept:
		}
	}
	return preview.OfPlan(&there).Of(b, durationsOf(to, now))
}

// comes reports whether Heat may create a server by decisions that it takes again: at least one that
// the server depends on, and none against it.
func comes(conditions []contract.Condition, decided map[string]value.Value) bool {
	again := false
	for _, c := range conditions {
		v, is := decided[c.Decision]
		again = again || is
		switch n := v.(type) {
		case bool:
			if !n {
				return false
			}
		case int64:
			if n < int64(c.Least) {
				return false
			}
		}
	}
	return again
}

// durationsOf is how long roles took last: their update hook, or their own run before the hook
// ever ran. A role that has not run takes as long as the slowest from the same template position.
func durationsOf(to *contract.Plan, now *status.Status) timeline.Durations {
	d := timeline.Durations{Boot: timeline.UsualBoot, Role: timeline.UsualRole, Of: map[string]timeline.Duration{}}
	alike := map[contract.Position]float64{}
	for r := range now.Roles() {
		took := r.Ended.Sub(r.Started).Seconds() - r.BlockedSeconds
		if u := r.Update; u != nil && u.Status == protocol.RoleDone {
			took = u.Ended.Sub(u.Started).Seconds()
		}
		if r.Status == protocol.RoleDone && !r.Started.IsZero() && !r.ByHand {
			d.Of[string(r.Key())] = timeline.Duration{Seconds: max(0, took)}
			alike[r.Plan.At] = max(alike[r.Plan.At], took)
		}
	}
	for s, r := range to.EachRole() {
		key := string(s.Path.Role(r.Name))
		if _, known := d.Of[key]; known {
			continue
		}
		if took, is := alike[r.At]; is {
			d.Of[key] = timeline.Duration{Seconds: took}
		}
	}
	return d
}

// preview predicts the runs that applying another plan would cause.
func (s *session) preview(ctx context.Context, to *contract.Plan, changes []deploy.RoleChange) (*preview.Preview, error) {
	now, err := s.Status(ctx)
	if err != nil {
		return nil, err
	}
	return previewOf(to, now, changes, nil, func(contract.ServerPath) bool { return false }, nil), nil
}
