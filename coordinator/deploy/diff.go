package deploy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// difference is one difference between two plans.
type difference struct {
	what    string // "role db.mysql"
	how     string // "driver, output port changed"
	inPlace bool   // it can be applied to a live deployment
	// shape says that it is about servers and who reads what, not about roles.
	shape bool
	// untold says that existing servers have no credentials to signal it to Heat: a relay has to.
	untold bool
}

// differences lists what another plan would change, an entry for each server, role and cell, in the
// order of the plans. Positions in the template do not count: moving a role within the file changes
// nothing. Changes of a role that can be applied in place get their own entry.
func differences(from, to *contract.Plan) []difference {
	var all []difference
	note := func(what, how string, inPlace bool) {
		all = append(all, difference{what: what, how: how, inPlace: inPlace, shape: inPlace})
	}
	agents, switched := to.Signal == contract.AgentsSignal, from.Signal != to.Signal
	if switched {
		d := difference{what: "signal", how: fmt.Sprintf("%s becomes %s", from.Signal, to.Signal), shape: true, untold: agents, inPlace: true}
		if from.Signal == contract.AgentsSignal && to.Signal == contract.NobodySignals {
			d.inPlace, d.how = false, d.how+", which needs --signal=relay in between"
		}
		all = append(all, d)
	}
	sealed := map[contract.CellName]bool{}
	for _, c := range to.Cells {
		sealed[c.Name] = c.Sealed
	}
	compare(from.Servers, to.Servers, func(s contract.Server) contract.ServerPath { return s.Path },
		func(kind string, a, b contract.Server) {
			if kind != "" {
				note("server "+string(cmp.Or(a.Path, b.Path)), kind, true)
				return
			}
			all = append(all, serverDifferences(a, b, to.Signal)...)
			for i := range b.Roles {
				if agents && (switched || signalsMore(roleOf(&a, b.Roles[i].Name), b.Roles[i])) {
					all = append(all, untellable(&b, &b.Roles[i], sealed)...)
				}
			}
		})
	compare(from.Cells, to.Cells, func(c contract.Cell) contract.CellName { return c.Name },
		func(kind string, a, b contract.Cell) {
			what := "cell " + string(cmp.Or(a.Name, b.Name))
			if kind != "" {
				all = append(all, difference{what: what, how: kind, inPlace: true})
				return
			}
			if a.Server != b.Server || a.Role != b.Role {
				note(what, "different writer", false)
			}
			if a.Sealed != b.Sealed {
				note(what, "became secret, or is no longer", false)
			}
			for _, how := range readerDifferences(a.Readers, b.Readers) {
				note(what, how, true)
			}
		})
	for _, group := range changedGroups(from, to) {
		note("group "+group, "slots of its members changed", false)
	}
	compare(from.Outputs, to.Outputs, func(o contract.StackOutput) string { return o.Name },
		func(kind string, a, b contract.StackOutput) {
			if kind == "" && !protocol.SameValue(a.Expr, b.Expr) {
				kind = "changed"
			}
			if kind != "" { // only the operator reads it
				note("output "+cmp.Or(a.Name, b.Name), kind, true)
			}
		})
	compare(from.Secrets, to.Secrets, func(s contract.Secret) string { return s.Name },
		func(kind string, a, b contract.Secret) {
			if kind == "" && !protocol.SameValue(a.Declaration, b.Declaration) {
				kind = "declaration changed"
			}
			what := "secret parameter " + cmp.Or(a.Name, b.Name)
			if kind != "" {
				note(what, kind, true)
				return
			}
			for _, how := range readerDifferences(a.Readers, b.Readers) {
				note(what, how, true)
			}
		})
	return all
}

// lines are the messages of the selected differences.
func lines(all []difference, meant func(difference) bool) []string {
	return lists.Map(lists.Only(all, meant), func(d difference) string { return d.what + ": " + d.how })
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

func serverDifferences(a, b contract.Server, signal contract.Signalling) []difference {
	var all []difference
	note := func(changed bool, how string, inPlace bool) {
		if changed {
			all = append(all, difference{what: "server " + string(a.Path), how: how, inPlace: inPlace, shape: inPlace})
		}
	}
	note(!sameRecord(a.Slot, b.Slot), "slot in a scaling group changed", false)
	note(!slices.Equal(a.Facts, b.Facts), "facts changed", true)
	note(lacksKey(a.Deploy, b.Deploy, false), "values from Heat added", false)
	note(lacksKey(a.Deploy, b.Deploy, true), "values from Heat added, which a relay carries", true)
	note(!sameDecisions(a, b), "what Heat decides changed", true)
	names := func(s contract.Server) []string {
		return lists.Map(s.Roles, func(r contract.Role) string { return r.Name })
	}
	before, after := lists.Set(names(a)), lists.Set(names(b))
	stays := func(name string) bool { return before[name] && after[name] }
	note(!slices.Equal(lists.Only(names(a), stays), lists.Only(names(b), stays)), "order of roles changed", true)
	compare(a.Roles, b.Roles, func(r contract.Role) string { return r.Name },
		func(kind string, x, y contract.Role) {
			what := fmt.Sprintf("role %s.%s", a.Path, cmp.Or(x.Name, y.Name))
			more := signal == contract.AgentsSignal && signalsMore(x, y)
			if kind != "" {
				all = append(all, difference{what: what, how: kind, inPlace: true, untold: more})
				return
			}
			if more {
				all = append(all, difference{what: what, how: "what Heat waits for changed", inPlace: true, untold: true})
			}
			if names := roleDifferences(x, y); len(names) > 0 {
				all = append(all, difference{what: what, how: strings.Join(names, ", ") + " changed", inPlace: true})
			}
		})
	return all
}

// sameDecisions compares what Heat decides about a server, and what the server's agent reports of
// that.
func sameDecisions(a, b contract.Server) bool {
	unplaced := func(p contract.Condition) contract.Condition { p.At = ""; return p }
	return slices.Equal(lists.Map(a.If, unplaced), lists.Map(b.If, unplaced)) && maps.EqualFunc(a.Decides, b.Decides, protocol.SameValue)
}

// roleOf is a server's role with a name, or the zero value.
func roleOf(s *contract.Server, name string) contract.Role {
	i := slices.IndexFunc(s.Roles, func(r contract.Role) bool { return r.Name == name })
	if i < 0 {
		return contract.Role{}
	}
	return s.Roles[i]
}

// untellable are the values of a role that Heat reads and cannot get: the server has no credentials
// to send them, and a relay cannot open what is sealed.
func untellable(s *contract.Server, r *contract.Role, sealed map[contract.CellName]bool) (all []difference) {
	for _, o := range r.ForHeat() {
		if sealed[o.Cell] {
			all = append(all, difference{what: fmt.Sprintf("role %s", s.Path.Role(r.Name)),
				how: "Heat reads its secret " + o.Name + ", which its server has no credentials to send to Heat, and a relay cannot open"})
		}
	}
	return all
}

// signalsMore reports whether a role signals more to Heat than before: the credentials for that are
// in its server's user-data, which does not change. A relay has to do it.
func signalsMore(a, b contract.Role) bool {
	return slices.ContainsFunc(b.Signals, func(s contract.Signal) bool {
		return !slices.ContainsFunc(a.Signals, func(old contract.Signal) bool { return sameRecord(old, s) })
	})
}

// changedGroups are the scaling groups of both plans whose slots differ.
func changedGroups(from, to *contract.Plan) []string {
	places := func(p *contract.Plan) map[string][]contract.ServerPath {
		all := map[string][]contract.ServerPath{}
		for _, s := range p.Servers {
			if s.Slot != nil {
				all[s.Slot.Group] = append(all[s.Slot.Group], s.Path)
			}
		}
		return all
	}
	before, now := places(from), places(to)
	return lists.Only(slices.Sorted(maps.Keys(before)), func(group string) bool {
		return now[group] != nil && !maps.Equal(lists.Set(before[group]), lists.Set(now[group]))
	})
}

// roleDifferences are the parts of a role that differ.
func roleDifferences(a, b contract.Role) (parts []string) {
	var parameters []string // behind inputs that differ
	note := func(changed bool, name string) {
		if changed {
			parts = append(parts, name)
		}
	}
	note(a.Driver != b.Driver, "driver")
	note(!protocol.SameValue(orNull(a.Source), orNull(b.Source)) || !slices.Equal(a.Files, b.Files), "source")
	compare(a.Render, b.Render, func(f contract.RenderedFile) string { return f.Path }, func(kind string, x, y contract.RenderedFile) {
		x.At, y.At, x.Name, y.Name = "", "", "", ""
		note(kind != "" || x != y, "file "+cmp.Or(x.Path, y.Path))
	})
	compare(a.Inputs, b.Inputs, func(i contract.Input) string { return i.Name }, func(kind string, x, y contract.Input) {
		behind := changedParameters(x.Parameters, y.Parameters)
		x.At, y.At, x.Parameters, y.Parameters = nil, nil, nil, nil
		if kind != "" || !sameRecord(x, y) {
			note(true, "input "+cmp.Or(x.Name, y.Name))
			parameters = append(parameters, behind...)
		}
	})
	slices.Sort(parameters)
	for _, name := range slices.Compact(parameters) {
		note(true, "parameter "+name)
	}
	compare(a.Outputs, b.Outputs, func(o contract.Output) string { return o.Name }, func(kind string, x, y contract.Output) {
		x.At, y.At = "", ""
		note(kind != "" || x != y, "output "+cmp.Or(x.Name, y.Name))
	})
	unplaced := func(d contract.Dependency) contract.Dependency { d.At = ""; return d }
	note(!sameRecord(lists.Map(a.DependsOn, unplaced), lists.Map(b.DependsOn, unplaced)), "depends_on")
	note(a.Timeout != b.Timeout, "timeout")
	note(a.Idempotent != b.Idempotent, "idempotent")
	note(!sameRecord(a.Install, b.Install), "install")
	compareTasks := func(what string, a, b []contract.Task) {
		compare(a, b, func(t contract.Task) string { return t.Name }, func(kind string, x, y contract.Task) {
			x.At, y.At = "", ""
			note(kind != "" || !sameRecord(x, y), what+" "+cmp.Or(x.Name, y.Name))
		})
	}
	compareTasks("action", a.Actions, b.Actions)
	compareTasks("hook", a.Hooks, b.Hooks)
	return parts
}

// changedParameters are the parameters whose compiled-in values differ between two inputs.
func changedParameters(a, b map[string]string) []string {
	all := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	return lists.Only(all, func(name string) bool { return a[name] != b[name] })
}

// readerDifferences lists added and removed readers.
func readerDifferences(a, b []contract.ServerPath) (lines []string) {
	compare(a, b, func(r contract.ServerPath) contract.ServerPath { return r },
		func(kind string, x, y contract.ServerPath) {
			switch kind {
			case "removed":
				lines = append(lines, fmt.Sprintf("no longer read by %s", x))
			case "added":
				lines = append(lines, fmt.Sprintf("also read by %s", y))
			}
		})
	return lines
}

func sameRecord(a, b any) bool {
	x, errX := protocol.Encode(a)
	y, errY := protocol.Encode(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// lacksKey reports whether b has an additional value from Heat, which is carried by a relay or,
// otherwise, only in the user-data of a replaced server.
func lacksKey(a, b map[string]contract.DeployValue, carried bool) bool {
	for k, v := range b {
		if _, both := a[k]; !both && v.Carried == carried {
			return true
		}
	}
	return false
}

func orNull(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("null")
	}
	return text
}
