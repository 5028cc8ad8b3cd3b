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
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// SecretValue is a secret of the plan with its value. This package writes it only to a sealed cell:
// no message contains a part of it, not even where it is malformed.
type SecretValue struct {
	Secret contract.Secret
	Value  json.RawMessage
}

// ReadSecret parses a text as the type that the template declares.
func ReadSecret(secret contract.Secret, text []byte) (json.RawMessage, error) {
	var diags source.Diagnostics
	t := hot.ParseTemplate(source.NewFile("declaration", secret.Declaration), &diags)
	if t == nil || t.Parameter(secret.Name) == nil {
		return nil, source.Fail(source.BadPlan, "the plan lacks the declaration of the secret parameter "+secret.Name, "compile again with this version of hotc")
	}
	p := t.Parameter(secret.Name)
	val, err := p.Cast(string(text))
	if err == nil {
		err = p.Check(string(text))
	}
	if err != nil { // it contains a part of the value
		return nil, source.Fail(source.MissingSecret, fmt.Sprintf("--secret-param %s: the template does not accept the value (%s)", secret.Name, secret.At),
			"it declares "+string(value.EncodeJSON(p.Entry.Value.Data())))
	}
	return value.EncodeJSON(val), nil
}

// Giving is what becomes of the plan's secrets when values are supplied.
type Giving struct {
	Missing []string      // no value, now or before
	Again   []string      // not all readers can open them
	Same    []string      // this very value already
	Another []SecretValue // they receive another value
	After   map[contract.CellName]int
}

// Compare says what supplying the values would do. live: the deployment is on the coordinator.
func (o *Operator) Compare(ctx context.Context, p *contract.Plan, values []SecretValue, live bool) (g Giving, err error) {
	given := make([]deploy.Supplied, len(p.Secrets))
	if live {
		if given, err = deploy.ReadGiven(ctx, o, o.Deployment, o.Secret, p); err != nil {
			return g, err
		}
	}
	g.After = map[contract.CellName]int{}
	for i, x := range p.Secrets {
		now := slices.IndexFunc(values, func(v SecretValue) bool { return v.Secret.Name == x.Name })
		switch {
		case now >= 0 && given[i].Becomes(o.Secret, o.Deployment, x.Name, values[now].Value):
			g.Another = append(g.Another, values[now])
			g.After[x.Cell] = given[i].Next()
		case now >= 0 && !given[i].Since.IsZero() && len(given[i].Lacking) == 0:
			g.Same = append(g.Same, x.Name)
		case now >= 0:
		case given[i].Since.IsZero():
			g.Missing = append(g.Missing, x.Name)
		case len(given[i].Lacking) > 0:
			g.Again = append(g.Again, x.Name)
		}
	}
	return g, nil
}

// Reach are the roles of a plan that changed secrets reach, or not, in their current state.
func (g *Giving) Reach(p *contract.Plan, now *status.Status) []deploy.RoleChange {
	var all []deploy.RoleChange
	for i := range p.Servers {
		s := &p.Servers[i]
		for n := range s.Roles {
			r := &s.Roles[n]
			c := deploy.RoleChange{Server: s.Path, Role: r.Name, Effect: deploy.EffectUnreached}
			for _, f := range r.Follows {
				if name, is := f.Cell.Parameter(); is && g.After[f.Cell] > 0 {
					c.What = append(c.What, "secret parameter "+name)
				}
			}
			if len(c.What) == 0 {
				continue
			}
			stands := now.RoleOf(c.Key())
			switch {
			case stands == nil, stands.Status == protocol.RolePending, stands.Status == protocol.RoleSkipped:
				c.Effect = deploy.EffectRun
			case stands.Status == protocol.RoleFailed:
				c.Effect = deploy.EffectRetry
			case contract.FindTask(r.Hooks, contract.HookUpdate) != nil:
				c.Effect = deploy.EffectHook
			case r.Idempotent:
				c.Effect = deploy.EffectAgain
			}
			all = append(all, c)
		}
	}
	return all
}

// CheckSizes refuses values that the coordinator cannot hold.
func (o *Operator) CheckSizes(values []SecretValue) error {
	limit := deploy.SuppliedLimit(o)
	for _, g := range values {
		if len(g.Value) > limit {
			return source.Fail(source.MissingSecret, fmt.Sprintf("nothing was applied: --secret-param %s has %d bytes as JSON, the limit of a sealed value is %d", g.Secret.Name, len(g.Value), limit),
				"supply the key of an archive instead, and let a role fetch the archive")
		}
	}
	return nil
}

// Give writes the values to their cells.
func (o *Operator) Give(ctx context.Context, p *contract.Plan, values []SecretValue) error {
	for _, g := range values {
		if err := deploy.Give(ctx, o, o.Deployment, o.Secret, p, g.Secret, g.Value, time.Now()); err != nil {
			return err
		}
	}
	return nil
}
