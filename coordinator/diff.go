package coordinator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// Differences says what another plan would change, a line for each server, role
// and cell, in the order of the plans. Positions in the template do not count: to
// move a role within the file changes nothing.
func Differences(from, to *plan.Plan) []string {
	var lines []string
	if from.Signal != to.Signal {
		lines = append(lines, fmt.Sprintf("signal: %s becomes %s", from.Signal, to.Signal))
	}
	compare(from.Servers, to.Servers, func(s plan.Server) plan.ServerPath { return s.Path },
		func(kind string, a, b plan.Server) {
			if kind != "" {
				lines = append(lines, fmt.Sprintf("server %s: %s", cmpName(a.Path, b.Path), kind))
				return
			}
			lines = append(lines, serverDifferences(a, b)...)
		})
	compare(from.Cells, to.Cells, func(c plan.Cell) plan.CellName { return c.Name },
		func(kind string, a, b plan.Cell) {
			if kind != "" {
				lines = append(lines, fmt.Sprintf("cell %s: %s", cmpName(a.Name, b.Name), kind))
				return
			}
			lines = append(lines, cellDifferences(a, b)...)
		})
	compare(from.Outputs, to.Outputs, func(o plan.StackOutput) string { return o.Name },
		func(kind string, a, b plan.StackOutput) {
			if kind == "" && !sameValue(a.Expr, b.Expr) {
				kind = "changed"
			}
			if kind != "" {
				lines = append(lines, fmt.Sprintf("output %s: %s", cmpName(a.Name, b.Name), kind))
			}
		})
	compare(from.Secrets, to.Secrets, func(s plan.Secret) string { return s.Name },
		func(kind string, a, b plan.Secret) {
			if kind == "" && !sameValue(a.Declaration, b.Declaration) {
				kind = "declared otherwise"
			}
			if kind != "" {
				lines = append(lines, fmt.Sprintf("secret parameter %s: %s", cmpName(a.Name, b.Name), kind))
			}
		})
	if len(lines) == 0 {
		lines = append(lines, "only positions in the template, or names of files, differ")
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

func serverDifferences(a, b plan.Server) []string {
	var lines, changed []string
	if !slices.Equal(a.Facts, b.Facts) {
		changed = append(changed, "facts")
	}
	if !sameKeys(a.Deploy, b.Deploy) {
		changed = append(changed, "values from Heat")
	}
	order := func(s plan.Server) (names []string) {
		for _, r := range s.Roles {
			names = append(names, r.Name)
		}
		return names
	}
	if from, to := order(a), order(b); !slices.Equal(from, to) && sameSet(from, to) {
		changed = append(changed, "order of roles")
	}
	if len(changed) > 0 {
		lines = append(lines, fmt.Sprintf("server %s: %s changed", a.Path, strings.Join(changed, ", ")))
	}
	compare(a.Roles, b.Roles, func(r plan.Role) string { return r.Name },
		func(kind string, x, y plan.Role) {
			if kind == "" {
				if what := roleDifferences(x, y); len(what) > 0 {
					kind = strings.Join(what, ", ") + " changed"
				}
			}
			if kind != "" {
				lines = append(lines, fmt.Sprintf("role %s.%s: %s", a.Path, cmpName(x.Name, y.Name), kind))
			}
		})
	return lines
}

func roleDifferences(a, b plan.Role) []string {
	var what []string
	note := func(changed bool, name string) {
		if changed {
			what = append(what, name)
		}
	}
	note(a.Driver != b.Driver, "driver")
	note(!sameValue(orNull(a.Source), orNull(b.Source)) || !slices.Equal(a.Files, b.Files), "source")
	compare(a.Render, b.Render, func(f plan.RenderedFile) string { return f.Path }, func(kind string, x, y plan.RenderedFile) {
		x.At, y.At = "", ""
		note(kind != "" || x != y, "file "+cmpName(x.Path, y.Path))
	})
	compare(a.Inputs, b.Inputs, func(i plan.Input) string { return i.Name }, func(kind string, x, y plan.Input) {
		x.At, y.At = nil, nil
		note(kind != "" || !sameRecord(x, y), "input "+cmpName(x.Name, y.Name))
	})
	compare(a.Outputs, b.Outputs, func(o plan.Output) string { return o.Name }, func(kind string, x, y plan.Output) {
		x.At, y.At = "", ""
		note(kind != "" || x != y, "output "+cmpName(x.Name, y.Name))
	})
	dependsOn := func(r plan.Role) (cells []plan.CellName) {
		for _, d := range r.DependsOn {
			cells = append(cells, d.Cell)
		}
		return cells
	}
	note(!slices.Equal(dependsOn(a), dependsOn(b)), "depends_on")
	note(a.Timeout != b.Timeout, "timeout")
	note(a.Idempotent != b.Idempotent, "idempotent")
	compareTasks := func(what string, a, b []plan.Task) {
		compare(a, b, func(t plan.Task) string { return t.Name }, func(kind string, x, y plan.Task) {
			x.At, y.At = "", ""
			note(kind != "" || !sameRecord(x, y), what+" "+cmpName(x.Name, y.Name))
		})
	}
	compareTasks("action", a.Actions, b.Actions)
	compareTasks("hook", a.Hooks, b.Hooks)
	return what
}

func cellDifferences(a, b plan.Cell) []string {
	var lines []string
	if a.Server != b.Server || a.Role != b.Role {
		lines = append(lines, fmt.Sprintf("cell %s: another writer", a.Name))
	}
	compare(a.Readers, b.Readers, func(r plan.ServerPath) plan.ServerPath { return r },
		func(kind string, x, y plan.ServerPath) {
			switch kind {
			case "removed":
				lines = append(lines, fmt.Sprintf("cell %s: no longer read by %s", a.Name, x))
			case "added":
				lines = append(lines, fmt.Sprintf("cell %s: read by %s too", a.Name, y))
			}
		})
	return lines
}

func sameRecord(a, b any) bool {
	x, errX := encode(a)
	y, errY := encode(b)
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
