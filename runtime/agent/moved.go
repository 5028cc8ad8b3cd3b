package agent

import (
	"context"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// A value may come from elsewhere by another plan: from Heat so far, and with -P or --secret-param
// now, or the other way round; and a group that a role follows may become larger. If what the role
// reads is the same it has nothing to run for: it runs when a member joins.

// noteMoves keeps what roles are made of that are up to date, where the plan says otherwise only
// where values come from.
func (a *agent) noteMoves(before *contract.Server) {
	for i := range a.plan.Roles {
		r := &a.plan.Roles[i]
		was, moved := a.moved[r.Name]
		for _, old := range before.Roles {
			if old.Name == r.Name && !moved {
				was = old
			}
		}
		delete(a.moved, r.Name)
		noted := a.journal.Role(r.Name)
		if noted.Status != coordinator.RoleDone || noted.Made != was.Definition() || noted.Made == r.Definition() ||
			noted.Update != nil && noted.Update.Status != coordinator.RoleDone {
			continue
		}
		if _, _, only := was.Moves(r); only {
			a.moved[r.Name] = was
		}
	}
}

// settle finds out whether a role whose values come from elsewhere has other ones, and notes it if
// not. It waits for what Heat has not given yet.
func (a *agent) settle(ctx context.Context, r *contract.Role) (waits bool, err error) {
	was, moved := a.moved[r.Name]
	if !moved {
		return false, nil
	}
	noted := a.journal.Role(r.Name)
	into, out, _ := was.Moves(r)
	ran := a.heat.ran(&was, noted.Followed)
	same := noted.Made == was.Definition()
	followed := journal.Followed{}
	for _, m := range into {
		value := m.Value
		if m.Cell != "" {
			if err := a.follows.watch(ctx, a.member, m.Cell); err != nil {
				return false, err
			}
			given, err := a.member.Cell(ctx, m.Cell)
			if err == nil && given.State != coordinator.Valued {
				return same, nil
			}
			same, value, followed[m.Cell] = same && err == nil, given.Value, given.At()
		}
		now := coordinator.HeatRecordOf(value, 0)
		had, known := ran[contract.HeatCell(m.Key)]
		if boot := coordinator.HeatRecordOf(a.heat.boot[m.Key], 0); !known { // no relay carries it
			had = boot.At()
		}
		same = same && had == now.At()
	}
	for _, m := range out {
		if m.Cell != "" { // what it held is not known any more
			same = false
			continue
		}
		now, _ := a.heat.cell(m.Key)
		if now.State != coordinator.Valued {
			return same, nil
		}
		had := coordinator.HeatRecordOf(m.Value, 0)
		same = same && had.At() == now.At()
		followed[contract.HeatCell(m.Key)] = now.At()
	}
	delete(a.moved, r.Name)
	if !same {
		return false, nil
	}
	for _, f := range r.Follows {
		if at, had := ran[f.Cell]; had {
			followed[f.Cell] = at
		}
	}
	if err := a.journal.NoteSame(r.Name, r.Definition(), followed); err != nil {
		return false, err
	}
	a.console.say("%s: what it reads is the same", a.key(r.Name))
	return false, a.showUpdate(ctx, *r, "")
}
