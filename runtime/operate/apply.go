package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// Application is a plan to apply to the coordinator, with the secrets supplied with it.
type Application struct {
	deploy.Publication
	Secrets []SecretValue
	DryRun  bool
	// SkipHooks removes roles without their delete hooks.
	SkipHooks bool
	Say       func(string)
}

// Applied is what an application has done, or would do.
type Applied struct {
	deploy.Published
	// Given are the secrets supplied now, Same those that have the value already, Again those to
	// supply again, since not all readers can open them.
	Given, Same, Again []string
}

// Apply rehearses first, so that nothing is written if a secret is missing or too large.
func (o *Operator) Apply(ctx context.Context, a Application) (done Applied, err error) {
	done = Applied{Given: lists.Map(a.Secrets, func(x SecretValue) string { return x.Secret.Name }), Again: []string{}, Same: []string{}}
	within, stop := o.Long(ctx)
	defer stop()
	if done.Published, err = deploy.Rehearse(within, o.Session, a.Publication); err != nil {
		return done, err
	}
	if !a.DryRun && !a.SkipHooks {
		var gone []contract.RoleKey
		for _, c := range done.Changes {
			if c.Effect == deploy.EffectRemoved {
				gone = append(gone, c.Key())
			}
		}
		if err := o.DeleteHooks(ctx, gone, a.Say); err != nil {
			return done, err
		}
	}
	var reached []deploy.RoleChange
	if len(a.Plan.Secrets) > 0 {
		if err := o.CheckSizes(a.Secrets); err != nil {
			return done, err
		}
		giving, err := o.Compare(within, a.Plan, a.Secrets, done.Outcome == deploy.Unchanged || done.Outcome == deploy.Updated)
		if err == nil && len(giving.Missing) > 0 {
			err = source.Fail(source.MissingSecret, "nothing was applied: there is no value for "+strings.Join(giving.Missing, ", ")+", which roles read",
				"supply each in a file, or one on standard input (-):"+SecretFlags(giving.Missing...))
		}
		if err == nil && len(giving.Another) > 0 {
			var now *status.Status
			if now, err = o.Status(within); err == nil {
				reached = giving.Reach(a.Plan, now)
			}
		}
		if err != nil {
			return done, err
		}
		a.After, done.Again, done.Same = giving.After, append(done.Again, giving.Again...), append(done.Same, giving.Same...)
		done.Given = slices.DeleteFunc(done.Given, func(name string) bool { return slices.Contains(done.Same, name) })
	}
	if !a.DryRun {
		within, enough := o.Long(ctx) // hooks may have taken a while
		defer enough()
		if done.Published, err = deploy.Publish(within, o.Session, a.Publication); err == nil {
			err = o.Give(within, a.Plan, a.Secrets)
		}
	}
	done.Changes = merged(done.Changes, reached)
	return done, err
}

// merged merges changes that affect a role for several reasons.
func merged(changes, more []deploy.RoleChange) []deploy.RoleChange {
	for _, c := range more {
		i := slices.IndexFunc(changes, func(x deploy.RoleChange) bool { return x.Key() == c.Key() })
		if i < 0 {
			changes = append(changes, c)
		} else if changes[i].What = append(changes[i].What, c.What...); changes[i].Effect == deploy.EffectNone {
			changes[i].Effect = c.Effect
		}
	}
	return changes
}

// SecretFlags are the flags that supply secrets, for a command shown to the user.
func SecretFlags(names ...string) string {
	return strings.Join(lists.Map(names, func(name string) string { return " --secret-param " + protocol.ShellWord(name) + "=FILE" }), "")
}

// DeleteHooks runs the delete hooks of roles about to be removed, where they can run.
func (o *Operator) DeleteHooks(ctx context.Context, gone []contract.RoleKey, say func(string)) error {
	if len(gone) == 0 {
		return nil
	}
	v, err := o.Status(ctx)
	if err != nil {
		return err
	}
	ran, err := o.runHooks(ctx, v, contract.HookDelete, lists.Set(gone), say)
	if err != nil {
		return err
	}
	ran.Say(say)
	for _, key := range ran.Without {
		say(fmt.Sprintf("%s: the delete hook did not run: its agent is not running, or the role has not ended.", key))
	}
	return source.WithHint(ran.Failure(), "nothing was changed. The server runs its own copy of the hook: fix the hook, apply that with the role still in the template, and remove the role afterwards; or remove it with --skip-hooks")
}
