package operate

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// Argument is an input of one run of an action, as a string.
type Argument struct{ Name, Text string }

// ActionRequest is a request to run an action of a role, with arguments that replace inputs.
func (o *Operator) ActionRequest(r *status.Role, name string, arguments []Argument) (protocol.Request, error) {
	if contract.FindTask(r.Plan.Actions, name) == nil {
		names := lists.Map(r.Plan.Actions, func(t contract.Task) string { return t.Name })
		hint := "it has none: `actions:` of the role declares them"
		if len(names) > 0 {
			hint = "its actions: " + strings.Join(names, ", ")
		}
		return protocol.Request{}, source.Fail(source.UnknownName, "the role "+string(r.Key())+" has no action "+name, nearest(name, names)+hint)
	}
	if !r.Server.Alive {
		return protocol.Request{}, source.Fail(source.OperationFailed, "the agent of "+string(r.Server.Path)+" is not running", "\""+o.Command("why", string(r.Server.Path))+"\" shows what is known about it")
	}
	request := NewRequest(protocol.Action, r)
	request.Name, request.Values = name, map[string]json.RawMessage{}
	inputs := map[string]contract.Input{}
	for _, in := range r.Plan.Inputs {
		inputs[in.Name] = in
	}
	for _, x := range arguments {
		in := inputs[x.Name]
		if in.Secret {
			return request, source.Fail(source.Usage, "the input "+x.Name+" is secret: a value supplied here would be readable in the coordinator", "omit it: the action reads it as the role does")
		}
		value, err := driver.Parse(in.Type, []byte(x.Text))
		if err != nil {
			return request, source.Fail(source.Usage, "input "+x.Name+": "+err.Error(), "")
		}
		request.Values[x.Name] = value
	}
	return request, nil
}

// Became is what has become of a request so far; one unknown to the agent is an error.
func (o *Operator) Became(ctx context.Context, p *contract.Plan, server contract.ServerPath, id string) (protocol.Answer, error) {
	answer, err := o.Answer(ctx, p, server, id)
	if err != nil || answer.Status != "" {
		return answer, err
	}
	known, err := o.Known(ctx, p, server, id)
	if err == nil && !known {
		err = source.Fail(source.UnknownName, "the agent of "+string(server)+" does not know the request "+id,
			"only the newest answers are kept; what an action printed is on the server")
	}
	return answer, err
}
