package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/preview"
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

// printChanges prints what a changed plan means for each role.
func printChanges(io streams, shape []string, changes []changedRole, t *target) {
	for _, line := range shape {
		fmt.Fprintf(io.out, "  %s.\n", line)
	}
	for _, c := range changes {
		then := becomes(c.Effect)
		if c.Effect == deploy.EffectRetry {
			then = "it has failed, and runs with this change after \"" + t.command("retry", string(c.Role)) + "\""
		}
		fmt.Fprintf(io.out, "  %s: %s: %s.\n", c.Role, whatChanges(c.What), then)
	}
	if slices.ContainsFunc(changes, func(c changedRole) bool { return slices.Contains(c.What, "added with its server") }) {
		fmt.Fprintln(io.out, "  If one of these servers exists already, without roles, it has no agent. Heat replaces it at the next update, or keeps it if its user_data_format is already RAW or SOFTWARE_CONFIG: then it gets no agent. \"hotc up\" lists such servers before it changes them.")
	}
	if len(changes) == 0 && len(shape) == 0 {
		fmt.Fprintln(io.out, "  no role and no output changes: only positions in the template or names of files differ. Values from Heat are not in the plan: \"hotc up\" compares them, too.")
	}
}

// whatChanges describes the changed parts of a role in a clause.
func whatChanges(what []string) string {
	var clauses, parts, parameters []string
	for _, w := range what {
		words := strings.Fields(w)
		switch {
		case words[0] == "added" || words[0] == "removed":
			clauses = append(clauses, "it is "+w)
		case len(words) == 3 && (words[1] == "joins" || words[1] == "leaves" || words[1] == "is"):
			clauses = append(clauses, w)
		case words[0] == "parameter":
			parameters = append(parameters, w)
		default:
			parts = append(parts, w)
		}
	}
	if len(parts) == 0 {
		parts, parameters = parameters, nil
	}
	if len(parts) > 0 {
		change := preview.Change(parts)
		if len(parameters) > 0 {
			change += " (" + lists.Join(parameters) + ")"
		}
		clauses = append(clauses, change)
	}
	return strings.Join(clauses, ", ")
}

// becomes describes an effect.
func becomes(e deploy.Effect) string {
	switch e {
	case deploy.EffectHook:
		return "its update hook runs"
	case deploy.EffectAgain:
		return "it runs again"
	case deploy.EffectRun:
		return "it runs for the first time"
	case deploy.EffectRetry:
		return "it has failed, and runs again with this change"
	case deploy.EffectNoValue:
		return "its new outputs have no value until it runs again, since it has no update hook and is not idempotent"
	case deploy.EffectRemoved:
		return "its delete hook runs first, if it has one and its agent is there"
	case deploy.EffectUnreached:
		return "not reached: it keeps the old value, since it has no update hook and is not idempotent; \"hotc retry --force\" runs it with the new one"
	case deploy.EffectKept:
		return "not reached: it keeps the old value, which its server has in its user-data until Heat replaces it"
	case deploy.EffectNone:
	}
	return "nothing has to run"
}

// lacksHook is the diagnostic for roles that have run and have no update hook.
func (s *session) lacksHook(err *deploy.NoUpdateHookError) error {
	return source.Fail(source.ChangedPlan, "the deployment "+string(s.Deployment)+" is live, and roles that have run, or are running, would be out of date: they have no update hook and are not idempotent",
		"add `hooks: {update: …}` to the role, a source that its agent runs once for the change, or `idempotent: true` if it may run again; or run \""+s.target.command("destroy")+"\" first, and rebuild its servers. A failed role needs no hook: \"hotc retry\" after \"hotc apply\" runs its new version").
		With(err.Lines()...)
}
