package live

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
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
)

const (
	// heatAnswers is how long `status` and `why` wait for Heat: they do not need it.
	heatAnswers = 2 * time.Second
	// betweenQuestions is the shortest time between two questions of one observer, and shorter
	// than its ticks.
	betweenQuestions = 3 * time.Second
)

var errHeatSilent = fmt.Errorf("no answer within %s", heatAnswers)

// ask returns Heat's answer, or the last one if that is recent. It does not fail: the answer says
// why the state is unknown.
func (o *Observer) ask(ctx context.Context) status.Stack {
	if !o.asked.IsZero() && time.Since(o.asked) < betweenQuestions {
		return o.answer
	}
	within, stop := context.WithTimeoutCause(ctx, heatAnswers, errHeatSilent)
	defer stop()
	var stack *heat.Stack
	var err error
	if o.cloud == nil {
		o.cloud, err = heat.Connect(within, heat.Options{})
	}
	if err == nil {
		stack, err = o.cloud.Stack(within, string(o.Deployment))
	}
	o.asked = time.Now()
	switch {
	case errors.Is(err, heat.ErrNotFound):
		o.answer = status.Stack{Unknown: "the project has no stack " + string(o.Deployment)}
	case err != nil:
		o.cloud = nil
		o.answer = status.Stack{Unknown: err.Error(), Unasked: !heat.Selected()}
		if d, is := source.AsDiagnostic(err); is {
			o.answer.Unknown = d.Message
		}
	default:
		o.answer = status.Stack{State: string(stack.State), Since: stack.Updated.Time}
		if stack.Updated.IsZero() {
			o.answer.Since = stack.Created.Time
		}
		if stack.State.Failed() {
			o.answer.Reason = tokens.ReplaceAllString(strings.Join(strings.Fields(stack.Reason), " "), "<hidden>")
			// Heat quotes what its constraints refuse, and shows hidden values as stars: they cannot be
			// recognised in the reason.
			for _, name := range slices.Sorted(maps.Keys(stack.Parameters)) {
				if stack.Parameters[name] == "******" && name != contract.SecretParameter {
					o.answer.Reason = "not shown, since it may quote the hidden parameter " + name + ": openstack stack show -c stack_status_reason " + protocol.ShellWord(string(o.Deployment))
					break
				}
			}
		}
	}
	return o.answer
}

// tokens matches hotc's secret, and the tokens that are derived from it.
var tokens = regexp.MustCompile(`[0-9a-f]{64}`)

// States are the states of the project's stacks, by name; nil if it cannot be asked.
func States(ctx context.Context, cloud string) (map[string]string, error) {
	client, err := heat.Connect(ctx, heat.Options{Cloud: cloud})
	if err != nil {
		return nil, err
	}
	stacks, err := client.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, s := range stacks {
		states[s.Name] = string(s.State)
	}
	return states, nil
}
