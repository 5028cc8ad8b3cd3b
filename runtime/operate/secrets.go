package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// SecretValue is a secret of the plan with its value. Nothing here writes one anywhere but into a
// sealed cell: no message has a part of it, not even where it is wrong.
type SecretValue struct {
	Secret contract.Secret
	Value  json.RawMessage
}

// ReadSecret gives a text the type that the template declares.
func ReadSecret(secret contract.Secret, text []byte) (json.RawMessage, error) {
	var diags source.Diagnostics
	t := hot.ParseTemplate(source.NewFile("declaration", secret.Declaration), &diags)
	if t == nil || t.Parameter(secret.Name) == nil {
		return nil, source.Fail(source.BadPlan, "the plan does not say what the secret parameter "+secret.Name+" is", "compile again, with this version of hotc")
	}
	p := t.Parameter(secret.Name)
	val, err := p.Cast(string(text))
	if err == nil {
		err = p.Check(string(text))
	}
	if err != nil { // which has a part of the value
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the value is none that the template takes (%s)", secret.Name, secret.At),
			"it declares "+string(value.EncodeJSON(p.Entry.Value.Data())))
	}
	return value.EncodeJSON(val), nil
}

// MissingSecrets are the names of the plan's secrets that are neither given now nor
// were before, and those that not all readers can open. live says that the
// plan is on the coordinator.
func (o *Operator) MissingSecrets(ctx context.Context, p *contract.Plan, values []SecretValue, live bool) (missing, again []string, err error) {
	given := make([]deploy.Given, len(p.Secrets))
	if live {
		if given, err = deploy.ReadGiven(ctx, o, o.Deployment, o.Secret, p); err != nil {
			return nil, nil, err
		}
	}
	for i, x := range p.Secrets {
		switch {
		case slices.ContainsFunc(values, func(g SecretValue) bool { return g.Secret.Name == x.Name }):
		case given[i].Since.IsZero():
			missing = append(missing, x.Name)
		case len(given[i].Lacking) > 0:
			again = append(again, x.Name)
		}
	}
	return missing, again, nil
}

// CheckSizes refuses values that the coordinator cannot hold.
func (o *Operator) CheckSizes(values []SecretValue) error {
	limit := deploy.GivenLimit(o)
	for _, g := range values {
		if len(g.Value) > limit {
			return source.Fail(source.MissingSecret, fmt.Sprintf("nothing is applied: --secret-param %s has %d bytes as JSON, a sealed value has at most %d", g.Secret.Name, len(g.Value), limit),
				"give the key of an archive instead, and let a role fetch that")
		}
	}
	return nil
}

// Give puts the values into their cells.
func (o *Operator) Give(ctx context.Context, p *contract.Plan, values []SecretValue) error {
	for _, g := range values {
		if err := deploy.Give(ctx, o, o.Deployment, o.Secret, p, g.Secret, g.Value, time.Now()); err != nil {
			return err
		}
	}
	return nil
}
