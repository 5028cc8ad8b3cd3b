package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// difference is what another plan says otherwise of one thing.
type difference struct {
	what    string // "role db.mysql"
	how     string // "driver, output port changed"
	inPlace bool   // a live deployment can take it
}

// differences says what another plan would change, a line for each server, role
// and cell, in the order of the plans. Positions in the template do not count: to
// move a role within the file changes nothing. What of a role a live deployment can
// take makes a line of its own.
func differences(from, to *contract.Plan) []difference {
	var all []difference
	note := func(what, how string) { all = append(all, difference{what: what, how: how}) }
	if from.Signal != to.Signal {
		note("signal", fmt.Sprintf("%s becomes %s", from.Signal, to.Signal))
	}
	compare(from.Servers, to.Servers, func(s contract.Server) contract.ServerPath { return s.Path },
		func(kind string, a, b contract.Server) {
			if kind != "" {
				note("server "+string(cmpName(a.Path, b.Path)), kind)
				return
			}
			all = append(all, serverDifferences(a, b)...)
		})
	compare(from.Cells, to.Cells, func(c contract.Cell) contract.CellName { return c.Name },
		func(kind string, a, b contract.Cell) {
			what := "cell " + string(cmpName(a.Name, b.Name))
			if kind != "" {
				note(what, kind)
				return
			}
			for _, how := range cellDifferences(a, b) {
				note(what, how)
			}
		})
	compare(from.Outputs, to.Outputs, func(o contract.StackOutput) string { return o.Name },
		func(kind string, a, b contract.StackOutput) {
			if kind == "" && !coordinator.SameValue(a.Expr, b.Expr) {
				kind = "changed"
			}
			if kind != "" { // nobody but the operator reads it
				all = append(all, difference{"output " + cmpName(a.Name, b.Name), kind, true})
			}
		})
	compare(from.Secrets, to.Secrets, func(s contract.Secret) string { return s.Name },
		func(kind string, a, b contract.Secret) {
			switch {
			case kind != "":
			case !coordinator.SameValue(a.Declaration, b.Declaration):
				kind = "declared otherwise"
			case !slices.Equal(a.Readers, b.Readers):
				kind = "read by other servers"
			}
			if kind != "" {
				note("secret parameter "+cmpName(a.Name, b.Name), kind)
			}
		})
	return all
}

// refusals are the differences, as lines, that a live deployment cannot take.
func refusals(all []difference) []string {
	var lines []string
	for _, d := range all {
		if !d.inPlace {
			lines = append(lines, d.what+": "+d.how)
		}
	}
	return lines
}

// compare walks two lists: those of from, in order, then those that are new.
// kind is "removed", "added" or, for what is in both, "".
func compare[T any, K comparable](from, to []T, key func(T) K, found func(kind string, a, b T)) {
	later := map[K]T{}
	for _, b := range to {
		later[key(b)] = b
	}
	var none T
	before := map[K]bool{}
	for _, a := range from {
		before[key(a)] = true
		if b, both := later[key(a)]; both {
			found("", a, b)
		} else {
			found("removed", a, none)
		}
	}
	for _, b := range to {
		if !before[key(b)] {
			found("added", none, b)
		}
	}
}

func cmpName[T ~string](a, b T) T {
	if a != "" {
		return a
	}
	return b
}

func serverDifferences(a, b contract.Server) []difference {
	var all []difference
	var changed []string
	if !sameSlot(a.Slot, b.Slot) {
		changed = append(changed, "place in a group that scales")
	}
	if !slices.Equal(a.Facts, b.Facts) {
		changed = append(changed, "facts")
	}
	if !sameKeys(a.Deploy, b.Deploy) {
		changed = append(changed, "values from Heat")
	}
	if !sameDecisions(a, b) {
		changed = append(changed, "what Heat decides")
	}
	order := func(s contract.Server) (names []string) {
		for _, r := range s.Roles {
			names = append(names, r.Name)
		}
		return names
	}
	if from, to := order(a), order(b); !slices.Equal(from, to) && sameSet(from, to) {
		changed = append(changed, "order of roles")
	}
	if len(changed) > 0 {
		all = append(all, difference{what: "server " + string(a.Path), how: strings.Join(changed, ", ") + " changed"})
	}
	compare(a.Roles, b.Roles, func(r contract.Role) string { return r.Name },
		func(kind string, x, y contract.Role) {
			what := fmt.Sprintf("role %s.%s", a.Path, cmpName(x.Name, y.Name))
			if kind != "" {
				all = append(all, difference{what: what, how: kind})
				return
			}
			fixed, open := roleDifferences(x, y)
			for _, part := range []struct {
				names   []string
				inPlace bool
			}{{fixed, false}, {open, true}} {
				if len(part.names) > 0 {
					all = append(all, difference{what, strings.Join(part.names, ", ") + " changed", part.inPlace})
				}
			}
		})
	return all
}

func sameSlot(a, b *contract.Slot) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// sameDecisions compares what Heat decides of a server, and what the server's agent
// tells of it.
func sameDecisions(a, b contract.Server) bool {
	unplaced := func(s contract.Server) []contract.Presence {
		all := slices.Clone(s.If)
		for i := range all {
			all[i].At = ""
		}
		return all
	}
	if !slices.Equal(unplaced(a), unplaced(b)) || !sameKeys(a.Decides, b.Decides) {
		return false
	}
	for key, expr := range a.Decides {
		if !coordinator.SameValue(expr, b.Decides[key]) {
			return false
		}
	}
	return true
}

// roleDifferences are the parts of a role that differ: those that belong to the tree
// and its rights or to the stack, and those that a live deployment can take.
func roleDifferences(a, b contract.Role) (fixed, open []string) {
	note := func(what *[]string, changed bool, name string) {
		if changed {
			*what = append(*what, name)
		}
	}
	note(&fixed, a.Driver != b.Driver, "driver")
	note(&open, !coordinator.SameValue(orNull(a.Source), orNull(b.Source)) || !slices.Equal(a.Files, b.Files), "source")
	compare(a.Render, b.Render, func(f contract.RenderedFile) string { return f.Path }, func(kind string, x, y contract.RenderedFile) {
		x.At, y.At, x.Name, y.Name = "", "", "", ""
		note(&open, kind != "" || x != y, "file "+cmpName(x.Path, y.Path))
	})
	compare(a.Inputs, b.Inputs, func(i contract.Input) string { return i.Name }, func(kind string, x, y contract.Input) {
		x.At, y.At = nil, nil
		note(&open, kind != "" || !sameRecord(x, y), "input "+cmpName(x.Name, y.Name))
	})
	compare(a.Outputs, b.Outputs, func(o contract.Output) string { return o.Name }, func(kind string, x, y contract.Output) {
		x.At, y.At = "", ""
		note(&fixed, kind != "" || x != y, "output "+cmpName(x.Name, y.Name))
	})
	dependsOn := func(r contract.Role) []contract.Dependency {
		all := slices.Clone(r.DependsOn)
		for i := range all {
			all[i].At = ""
		}
		return all
	}
	note(&fixed, !sameRecord(dependsOn(a), dependsOn(b)), "depends_on")
	note(&fixed, !sameRecord(a.Signals, b.Signals), "what Heat waits for")
	note(&open, a.Timeout != b.Timeout, "timeout")
	note(&open, a.Idempotent != b.Idempotent, "idempotent")
	note(&open, !sameRecord(a.Install, b.Install), "install")
	compareTasks := func(what string, a, b []contract.Task) {
		compare(a, b, func(t contract.Task) string { return t.Name }, func(kind string, x, y contract.Task) {
			x.At, y.At = "", ""
			note(&open, kind != "" || !sameRecord(x, y), what+" "+cmpName(x.Name, y.Name))
		})
	}
	compareTasks("action", a.Actions, b.Actions)
	compareTasks("hook", a.Hooks, b.Hooks)
	return fixed, open
}

func cellDifferences(a, b contract.Cell) []string {
	var lines []string
	if a.Server != b.Server || a.Role != b.Role {
		lines = append(lines, "another writer")
	}
	if a.Sealed != b.Sealed {
		lines = append(lines, "secret, or no longer")
	}
	compare(a.Readers, b.Readers, func(r contract.ServerPath) contract.ServerPath { return r },
		func(kind string, x, y contract.ServerPath) {
			switch kind {
			case "removed":
				lines = append(lines, fmt.Sprintf("no longer read by %s", x))
			case "added":
				lines = append(lines, fmt.Sprintf("read by %s too", y))
			}
		})
	return lines
}

func sameRecord(a, b any) bool {
	x, errX := coordinator.Encode(a)
	y, errY := coordinator.Encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func sameKeys[V any](a, b map[string]V) bool {
	for k := range a {
		if _, both := b[k]; !both {
			return false
		}
	}
	return len(a) == len(b)
}

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}
