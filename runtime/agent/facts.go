package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// publishFacts publishes the facts that are read. One that cannot be determined fails its readers
// only.
func (a *agent) publishFacts(ctx context.Context) error {
	failed := map[contract.CellName]*protocol.Cause{}
	for _, name := range a.plan.Facts {
		cell := a.Boot.Server.Fact(name)
		value, err := a.fact(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			a.console.say("%s of this server: %v", name, err)
			failed[cell] = &protocol.Cause{At: a.plan.At,
				Reason: fmt.Sprintf("server %s cannot determine its %s: %v", a.Boot.Server, name, err)}
			continue
		}
		// One that has changed since the last start is the next version, for its followers.
		err = a.session.Renew(ctx, cell, value, nil, nil, a.Now())
		var marked *member.FailedCellError
		switch {
		case errors.As(err, &marked):
			a.console.say("the fact is now %s: %v", value, err)
		case errors.Is(err, member.ErrNotInPlan): // it was removed
		case err != nil:
			return err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return a.board.commit(ctx, failed, nil)
}

func (a *agent) fact(ctx context.Context, name contract.Fact) (json.RawMessage, error) {
	if value, given := a.Boot.Facts[name]; given {
		return value, nil
	}
	if a.Facts == nil {
		return nil, errors.New("it is unknown")
	}
	return a.Facts(ctx, name)
}
