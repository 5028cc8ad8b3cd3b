package agent

import (
	"context"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/journal"
)

// A changed plan may move the source of a value: from Heat to -P or --secret-param, or back; and a
// group that a role follows may grow. If the role's values are the same it does not have to run: it
// runs when a member joins.

// noteMoves keeps the definitions of up-to-date roles of which the plan changes only the sources of
// values.
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
		if noted.Status != protocol.RoleDone || was.OutOfDate(noted.Made) || !r.OutOfDate(noted.Made) || r.Declares(&was) ||
			noted.Update != nil && noted.Update.Status != protocol.RoleDone {
			continue
		}
		if _, _, only := hot.Moves(&was, r); only {
			a.moved[r.Name] = was
		}
	}
}

// settle finds out whether a role whose sources moved has different values, and notes it if not. It
// waits for what Heat has not supplied yet.
func (a *agent) settle(ctx context.Context, r *contract.Role) (waits bool, err error) {
	was, moved := a.moved[r.Name]
	if !moved {
		return false, nil
	}
	noted := a.journal.Role(r.Name)
	into, out, _ := hot.Moves(&was, r)
	ran := a.heat.ran(&was, noted.Followed)
	same := !was.OutOfDate(noted.Made)
	followed := journal.Followed{}
	for _, m := range into {
		value := m.Value
		if m.Cell != "" {
			if err := a.follows.watch(ctx, a.member, m.Cell); err != nil {
				return false, err
			}
			given, err := a.member.Cell(ctx, m.Cell)
			if err == nil && given.State != protocol.Valued {
				return same, nil
			}
			same, value, followed[m.Cell] = same && err == nil, given.Value, given.At()
		}
		now := protocol.HeatRecordOf(value, 0)
		had, known := ran[contract.HeatCell(m.Key)]
		if boot := protocol.HeatRecordOf(a.heat.boot[m.Key], 0); !known { // no relay carries it
			had = boot.At()
		}
		same = same && had == now.At()
	}
	for _, m := range out {
		if m.Cell != "" { // its value is no longer known
			same = false
			continue
		}
		now, _ := a.heat.cell(m.Key)
		if now.State != protocol.Valued {
			return same, nil
		}
		had := protocol.HeatRecordOf(m.Value, 0)
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
	if err := a.journal.NoteSame(r.Name, r.Made(), followed); err != nil {
		return false, err
	}
	a.console.say("%s: its inputs have not changed", a.key(r.Name))
	return false, a.showUpdate(ctx, *r, "")
}
