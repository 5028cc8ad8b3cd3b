package order

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// In an update nothing waits for existing values, and a role that is done has written all of
// its outputs except those that a changed plan adds. Such an output is written by the role's
// update hook, and a hook that reads one waits. So hooks can wait for each other even if the
// roles themselves, whose sources differ, do not.

// UpdateDeadlocks warns of update hooks that wait for each other's outputs, if these are added to
// a live deployment. The net is that of the deployment (Net) in which all resources exist, each
// role does what its hook does, and cells that no hook writes have values. Only certain deadlocks
// are reported.
func UpdateDeadlocks(p *program.Program, a *binding.Analysis, diags *source.Diagnostics) {
	if !anyWaits(p) {
		return
	}
	b := &netBuilder{analysis: a, net: &waits.Net{}, cells: map[contract.CellName]waits.CellID{}, done: map[*program.Role]waits.CellID{}}
	for _, s := range p.Servers {
		b.declareServer(s.Path, s)
	}
	for _, s := range p.Servers {
		b.updates(s)
	}
	search := &search{program: p, reported: map[int]bool{}, left: maxSearches}
	search.in(b.net)
	for _, f := range search.found {
		if f.deadlock.Verdict != waits.Certain {
			continue
		}
		d := f.diagnostic()
		d.Code, d.Severity = source.UpdateDeadlock, source.Warning
		d.Message = "if these outputs are added to a live deployment, update hooks wait for each other: " + f.spelledOut()
		diags.Add(d)
	}
}

// anyWaits says whether there are hooks that read, and hooks that write.
func anyWaits(p *program.Program) bool {
	reads, writes := false, false
	for role := range p.Roles {
		if known(role.Update()) {
			reads, writes = reads || len(role.Inputs) > 0, writes || len(role.Outputs) > 0
		}
	}
	return reads && writes
}

// known says whether the order of a hook's reads and writes is known.
func known(hook *program.Task) bool {
	return hook != nil && hook.Meaning != nil && hook.Meaning.Sequence != nil && hook.Meaning.Sequence.Complete
}

// updates adds the process of an existing server that runs its hooks.
func (b *netBuilder) updates(s *program.Server) {
	there := waits.Task{Name: string(s.Path), At: s.At(), Heat: true, Completion: -1}
	settled := func(cell waits.CellID, at source.Place) {
		there.Owns = append(there.Owns, cell)
		there.Body = append(there.Body, waits.Step{Op: waits.Write, Cell: cell, At: at})
	}
	for _, fact := range b.analysis.Facts[s.Path] {
		settled(b.cells[s.Path.Fact(fact)], s.At())
	}
	process := waits.Process{Name: string(s.Path), Server: true}
	var tasks []waits.Task
	for _, role := range s.Roles {
		settled(b.done[role], role.At)
		task := waits.Task{Name: role.Name, At: role.At, Completion: -1, Timeout: role.Timeout}
		writes := map[string]bool{}
		if hook := role.Update(); known(hook) {
			writes = writtenBy(hook)
			l := lowering{netBuilder: b, role: role}
			for _, in := range role.Inputs {
				if in.Eager {
					task.Body = l.read(task.Body, in, in.At, false)
				}
			}
			for _, f := range role.Files {
				task.Body = l.steps(task.Body, f.Steps)
			}
			task.Body = l.steps(task.Body, hook.Meaning.Sequence.Steps)
		}
		for _, o := range role.Outputs {
			switch {
			case o.Value != nil:
			case !writes[o.Name]:
				settled(b.cells[o.Cell()], o.At)
			default:
				task.Owns = append(task.Owns, b.cells[o.Cell()])
				if o.AtEnd {
					task.Body = append(task.Body, waits.Step{Op: waits.Write, Cell: b.cells[o.Cell()], At: o.At, What: "output", Progress: 1})
				}
			}
		}
		tasks = append(tasks, task)
	}
	process.Tasks = append([]waits.Task{there}, tasks...)
	b.net.Processes = append(b.net.Processes, process)
}

// writtenBy are the names of the outputs that a hook may write.
func writtenBy(hook *program.Task) map[string]bool {
	names := map[string]bool{}
	hook.Meaning.Sequence.Walk(func(s *program.Step) {
		if s.Op == program.WriteOutput {
			names[s.Name] = true
		}
	})
	return names
}
