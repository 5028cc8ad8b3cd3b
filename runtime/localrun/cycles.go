package localrun

import (
	"context"
	"errors"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// breakCycles looks for roles that wait for each other, and fails them: no operator could decide
// otherwise. A role busy with something beside its reads is left alone. It returns the cycles, when
// ctx ends.
func (r *Run) breakCycles(ctx context.Context, p *progress) (broken []status.Cycle, err error) {
	tick := time.NewTicker(status.BetweenLooks / 2)
	defer tick.Stop()
	var seen status.Looks
	told := map[string]bool{}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return broken, nil
		}
		if !p.anyBlocked() {
			continue
		}
		v, err := r.StatusOf(ctx, r.setup.Plan)
		if ctx.Err() != nil {
			return broken, nil
		}
		if err != nil {
			return broken, err
		}
		seen.See(v, time.Now())
		for _, c := range v.Cycles {
			if role := p.busy(c); role != "" {
				if !told[c.Identity()] {
					told[c.Identity()] = true
					p.beside(role, c)
				}
				continue
			}
			switch err := r.breakCycle(ctx, c); {
			case errors.Is(err, store.ErrVersion): // one of them has moved on
			case ctx.Err() != nil:
				return broken, nil
			case err != nil:
				return broken, err
			default:
				broken = append(broken, c)
			}
		}
	}
}

// breakCycle fails the values that the roles of a cycle wait for.
func (r *Run) breakCycle(ctx context.Context, c status.Cycle) error {
	var cells []contract.CellRef
	var causes []*protocol.Cause
	for i, s := range c {
		if s.Wait.Cell == "" {
			continue
		}
		next := c[(i+1)%len(c)]
		cells = append(cells, contract.CellRef{Cell: s.Wait.Cell, Server: s.On.Server.Path})
		causes = append(causes, &protocol.Cause{Role: s.On.Key(), Reason: "a dependency cycle: " + c.String(), At: next.Wait.At})
	}
	reader, err := deploy.NewReader(ctx, r, r.Deployment, r.Secret, r.setup.Plan)
	if err != nil {
		return err
	}
	return reader.Break(ctx, cells, causes, time.Now())
}
