package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// breakCycles looks for roles that wait for each other, and fails them: nobody is there who
// could decide otherwise. A role that does something else beside its reads is left to that. It returns the cycles, when ctx ends.
func (r *localRun) breakCycles(ctx context.Context, p *progress) (broken []status.Cycle, err error) {
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
		v, err := r.session.lookAgain(ctx, r.result.Built.Plan)
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
					p.say(role, "goes on beside its read, in a dependency cycle that only it can end: "+c.String())
				}
				continue
			}
			switch err := r.breakCycle(ctx, c); {
			case errors.Is(err, coordinator.ErrVersion): // one of them has gone on
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
func (r *localRun) breakCycle(ctx context.Context, c status.Cycle) error {
	var cells []contract.CellRef
	var causes []*coordinator.Cause
	for i, s := range c {
		if s.Wait.Cell == "" {
			continue
		}
		next := c[(i+1)%len(c)]
		cells = append(cells, contract.CellRef{Cell: s.Wait.Cell, Server: s.On.Server.Path})
		causes = append(causes, &coordinator.Cause{Role: s.On.Key(), Reason: "a dependency cycle: " + c.String(), At: next.Wait.At})
	}
	reader, err := deploy.NewReader(ctx, r.session, r.session.Deployment, r.session.Secret, r.result.Built.Plan)
	if err != nil {
		return err
	}
	return reader.Break(ctx, cells, causes, time.Now())
}

// explainCycles prints the cycles that were found, with the place of each wait.
func (r *localRun) explainCycles() {
	for _, c := range r.broken {
		d := source.Fail(source.RoleFailed, "a dependency cycle, which only run time has found: none of its roles can go on", "let one of them publish what the next one waits for before it reads; docs/rules/H502.md")
		at := slices.IndexFunc(c, func(s status.Step) bool { return s.Wait.At != "" })
		if at >= 0 {
			d.At = r.place(c[at].Wait.At)
		}
		for _, s := range c {
			note := source.Note{Message: s.String()}
			if s.Wait.At != "" {
				note.At, note.Message = r.place(s.Wait.At), fmt.Sprintf("%s waits for %s", s.Role.Key(), s.Wait.Cell)
			}
			d.Notes = append(d.Notes, note)
		}
		source.Print(r.err, d, r.errStyle())
	}
}
