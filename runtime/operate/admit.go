package operate

import (
	"context"
	"errors"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// Admitted is the result of `hotc admit` (docs/json.md).
type Admitted struct {
	Stack    string              `json:"stack"`
	Server   contract.ServerPath `json:"server"`
	Instance string              `json:"instance"`
	Key      string              `json:"key"`
	// Secrets are the parameters that have to be given again, for the machine's key.
	Secrets []string `json:"secrets"`
}

// Admit lets the machine with this key in as a server whose token was used before.
func (o *Operator) Admit(ctx context.Context, server contract.ServerPath, key string) (*Admitted, error) {
	result := &Admitted{Stack: string(o.Deployment), Server: server, Key: key, Secrets: []string{}}
	err := o.enrolling(ctx, server, func(ctx context.Context, r *deploy.Reader, p *contract.Plan) error {
		knock, err := r.Admit(ctx, server, key)
		result.Instance = knock.Instance
		for _, x := range p.Secrets {
			if slices.Contains(x.Readers, server) {
				result.Secrets = append(result.Secrets, x.Name)
			}
		}
		return err
	})
	return result, err
}

// Asking are the machines that ask to be a server.
func (o *Operator) AwaitingApproval(ctx context.Context, server contract.ServerPath) (asking []coordinator.ApprovalRequest, err error) {
	err = o.enrolling(ctx, server, func(ctx context.Context, r *deploy.Reader, _ *contract.Plan) error {
		asking, err = r.AwaitingApproval(ctx, server)
		return err
	})
	return asking, err
}

// enrolling does something about who may be a server.
func (o *Operator) enrolling(ctx context.Context, server contract.ServerPath, do func(context.Context, *deploy.Reader, *contract.Plan) error) error {
	v, err := o.Status(ctx)
	if err != nil {
		return err
	}
	if _, err := FindServer(v, string(server)); err != nil {
		return err
	}
	err = o.reading(ctx, v.Plan, func(ctx context.Context, r *deploy.Reader) error { return do(ctx, r, v.Plan) })
	switch {
	case errors.Is(err, deploy.ErrEnrolsAlways):
		return source.Fail(source.UnknownName, "nobody has to be let in as "+string(server)+": every machine that has its token is",
			"the deployment was not applied with --enrol=once")
	case errors.Is(err, deploy.ErrNoKey):
		return source.Fail(source.Usage, "--key: "+deploy.ErrNoKey.Error(), "it stands whole, with 44 characters, on the console of the machine that waits")
	}
	return err
}
