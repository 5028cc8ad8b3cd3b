package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Admitted is the result of `hotc admit` (docs/json.md).
type Admitted struct {
	Stack    string              `json:"stack"`
	Server   contract.ServerPath `json:"server"`
	Instance string              `json:"instance"`
	Key      string              `json:"key"`
	// Secrets are the parameters that have to be supplied again, for the machine's key.
	Secrets []string `json:"secrets"`
}

// Admit approves the machine with this key as a server whose token was used before.
func (o *Operator) Admit(ctx context.Context, server contract.ServerPath, key string) (*Admitted, error) {
	return enrolling(ctx, o, server, func(ctx context.Context, r *deploy.Reader, p *contract.Plan) (*Admitted, error) {
		knock, err := r.Admit(ctx, server, key)
		result := &Admitted{Stack: string(o.Deployment), Server: server, Instance: knock.Instance, Key: key, Secrets: []string{}}
		for _, x := range p.Secrets {
			if slices.Contains(x.Readers, server) {
				result.Secrets = append(result.Secrets, x.Name)
			}
		}
		return result, err
	})
}

// AwaitingApproval are the machines that ask to become a server.
func (o *Operator) AwaitingApproval(ctx context.Context, server contract.ServerPath) ([]protocol.ApprovalRequest, error) {
	return enrolling(ctx, o, server, func(ctx context.Context, r *deploy.Reader, _ *contract.Plan) ([]protocol.ApprovalRequest, error) {
		return r.AwaitingApproval(ctx, server)
	})
}

// Asking says of each machine that asks to be a server how to admit it.
func (o *Operator) Asking(server contract.ServerPath, all []protocol.ApprovalRequest) []string {
	return lists.Map(all, func(k protocol.ApprovalRequest) string {
		who := "a machine"
		if k.Instance != "" {
			who = "instance " + k.Instance
		}
		return fmt.Sprintf("%s asks to be %s, whose token was used before: %s", who, server, o.Command("admit", string(server), "--key", k.Key))
	})
}

// enrolling runs an operation on who may be a server.
func enrolling[T any](ctx context.Context, o *Operator, server contract.ServerPath, do func(context.Context, *deploy.Reader, *contract.Plan) (T, error)) (found T, err error) {
	v, err := o.Status(ctx)
	if err == nil {
		_, err = FindServer(v, string(server))
	}
	if err != nil {
		return found, err
	}
	found, err = reading(ctx, o, v.Plan, func(ctx context.Context, r *deploy.Reader) (T, error) { return do(ctx, r, v.Plan) })
	switch {
	case errors.Is(err, deploy.ErrEnrolsAlways):
		err = source.Fail(source.UnknownName, "no machine needs approval as "+string(server)+": every machine with its token is admitted",
			"the deployment was not applied with --enrol=once")
	case errors.Is(err, deploy.ErrNoKey):
		err = source.Fail(source.Usage, "--key: "+deploy.ErrNoKey.Error(), "the console of the waiting machine shows the complete key of 44 characters")
	}
	return found, err
}
