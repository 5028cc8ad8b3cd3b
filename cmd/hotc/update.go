package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
)

// changedRole is a role that `hotc apply` changes on a live deployment (docs/json.md).
type changedRole struct {
	Role   contract.RoleKey `json:"role"`
	What   []string         `json:"what"`
	Effect deploy.Effect    `json:"effect"`
}

func changedRoles(changes []deploy.RoleChange) []changedRole {
	return lists.Map(changes, func(c deploy.RoleChange) changedRole { return changedRole{c.Key(), c.What, c.Effect} })
}

// printChanges says what a changed plan means for each role.
func printChanges(io streams, shape []string, changes []changedRole, t *target) {
	for _, line := range shape {
		fmt.Fprintf(io.out, "  %s.\n", line)
	}
	for _, c := range changes {
		then := becomes(c.Effect)
		if c.Effect == deploy.EffectRetry {
			then = "it has failed: \"" + t.command("retry", string(c.Role)) + "\" runs it as it is then"
		}
		fmt.Fprintf(io.out, "  %s: %s: %s.\n", c.Role, strings.Join(c.What, ", "), then)
	}
	if slices.ContainsFunc(changes, func(c changedRole) bool { return slices.Contains(c.What, "added with its server") }) {
		fmt.Fprintln(io.out, "  A server among these that the stack has already, without roles, has no agent: Heat replaces it at its next update. \"hotc up\" names these, and asks before.")
	}
	if len(changes) == 0 && len(shape) == 0 {
		fmt.Fprintln(io.out, "  no role and no output changes: only positions in the template or names of files differ. What Heat gives to roles is not in the plan: \"hotc up\" compares that, too.")
	}
}

// becomes is an effect in words.
func becomes(e deploy.Effect) string {
	switch e {
	case deploy.EffectHook:
		return "its agent runs the hook update"
	case deploy.EffectAgain:
		return "it runs again"
	case deploy.EffectRun:
		return "it has not run, and will as it is then"
	case deploy.EffectRetry:
		return "it has failed, and runs again"
	case deploy.EffectNoValue:
		return "its new outputs have no value until it runs again: it has no hook update, and is not idempotent"
	case deploy.EffectRemoved:
		return "its hook delete runs before, if it has one and its agent is there"
	case deploy.EffectUnreached:
		return "not reached: it has no hook update, and is not idempotent"
	case deploy.EffectKept:
		return "not reached: its server has the value before in its user-data, until it is replaced"
	case deploy.EffectNone:
	}
	return "nothing that has run is out of date"
}

// lacksHook is the diagnostic of roles that have run and have no hook update.
func (s *session) lacksHook(err *deploy.NoUpdateHookError) error {
	return source.Fail(source.ChangedPlan, "the deployment "+string(s.Deployment)+" is live, and roles that have run, or run now, would be out of date: they have no hook update, and are not idempotent",
		"add `hooks: {update: …}` to the role, a source that its agent runs once for the change, or `idempotent: true` if it may be run again; or \""+s.target.command("destroy")+"\" first, and rebuild its servers. A role that has failed needs no hook: after \"hotc apply\", \"hotc retry\" runs it as it is then").
		With(err.Lines()...)
}
