package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
)

const (
	// heatAnswers is how long `status` and `why` wait for Heat: they do not need it.
	heatAnswers = 2 * time.Second
	// betweenQuestions is the shortest time between two questions of `status --watch`, and shorter
	// than its ticks.
	betweenQuestions = 3 * time.Second
)

var errHeatSilent = fmt.Errorf("no answer within %s", heatAnswers)

// heatQuestion asks Heat for a stack's state.
type heatQuestion struct {
	t      *target
	cloud  *heat.Client
	asked  time.Time
	answer status.Stack
}

// ask returns Heat's answer, or the last one if that is recent. It does not fail: the answer says
// why the state is unknown.
func (q *heatQuestion) ask(ctx context.Context) status.Stack {
	if !q.asked.IsZero() && time.Since(q.asked) < betweenQuestions {
		return q.answer
	}
	within, stop := context.WithTimeoutCause(ctx, heatAnswers, errHeatSilent)
	defer stop()
	stack, err := q.stack(within)
	q.asked = time.Now()
	switch {
	case errors.Is(err, heat.ErrNotFound):
		q.answer = status.Stack{Unknown: "the project has no stack " + q.t.stack}
	case err != nil:
		q.cloud = nil
		q.answer = status.Stack{Unknown: err.Error(), Unasked: !heat.Selected()}
		if d, is := source.AsDiagnostic(err); is {
			q.answer.Unknown = d.Message
		}
	default:
		q.answer = status.Stack{State: string(stack.State), Since: stack.Updated.Time}
		if stack.Updated.IsZero() {
			q.answer.Since = stack.Created.Time
		}
		if stack.State.Failed() {
			q.answer.Reason = q.t.reason(stack)
		}
	}
	return q.answer
}

func (q *heatQuestion) stack(ctx context.Context) (_ *heat.Stack, err error) {
	if q.cloud == nil {
		if q.cloud, err = heat.Connect(ctx, heat.Options{}); err != nil {
			return nil, err
		}
	}
	return q.cloud.Stack(ctx, q.t.stack)
}

// tokens matches hotc's secret, and the tokens that are derived from it.
var tokens = regexp.MustCompile(`[0-9a-f]{64}`)

// reason is why a stack failed. Heat quotes what its constraints refuse, and shows hidden values as
// stars: they cannot be recognised in the reason, which is left out if there may be one.
func (t *target) reason(s *heat.Stack) string {
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		if s.Parameters[name] == hiddenValue && name != contract.SecretParameter {
			return "not shown, since it may quote the hidden parameter " + name + ": openstack stack show -c stack_status_reason " + shellQuote(t.stack)
		}
	}
	return tokens.ReplaceAllString(strings.Join(strings.Fields(s.Reason), " "), "<hidden>")
}

// hiddenValue is what Heat shows of a hidden parameter.
const hiddenValue = "******"
