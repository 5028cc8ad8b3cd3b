package up

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// mayGo decides whether Heat may go on with a server that it waits to delete in an update: one that
// is no longer in the plan, whose delete hooks have run before the plan was changed, or cannot; one
// whose hooks have run; and, where no relay runs them, any other, or Heat would wait for ever.
func (u *Up) mayGo(now *status.Status, e heat.Event) (why string, may bool) {
	i := -1
	if now != nil {
		i = slices.IndexFunc(now.Servers, func(s *status.Server) bool { return s.Came() && s.Incarnation.Instance == e.Physical })
	}
	switch {
	case u.SkipHooks && i >= 0 && now.Servers[i].State.Going != nil: // a relay was faster
		return ": its delete hooks have started and end with the machine", true
	case u.SkipHooks:
		return ": its delete hooks are skipped", true
	case now == nil:
		return "", false
	case i < 0:
		return ": the machine is not a server of the plan", true
	}
	owed := owedHooks(now.Servers[i])
	switch {
	case len(owed) == 0:
		return "", true
	case u.TakesOver:
		return "", false // left to the relay
	}
	return ": no relay runs these delete hooks: " + lists.Join(owed), true
}

// hooks says of the delete hooks on servers that an update deletes or replaces which run before it,
// and which do not run. Heat waits where it deletes the stack around a server, if a relay runs the
// hooks; machines are those that it deletes without waiting, and which of them it replaces.
func (u *Up) hooks(c *Changes, machines map[string]bool) (first []contract.RoleKey, lost map[contract.RoleKey]string) {
	if u.now == nil {
		return nil, nil
	}
	loses := func(key contract.RoleKey, why string) {
		if lost == nil {
			lost = map[contract.RoleKey]string{}
		}
		lost[key] = why
	}
	for _, s := range u.now.Servers {
		replaced, machine := machines[s.Incarnation.Instance]
		if !s.Came() || s.Absent() || !machine && !Within(string(s.Path), slices.Concat(c.Deleted, c.Replaced)) {
			continue
		}
		stays := slices.ContainsFunc(u.Plan.Servers, func(p contract.Server) bool { return p.Path == s.Path })
		for _, key := range owedHooks(s) {
			switch {
			case u.SkipHooks:
				loses(key, "--skip-hooks")
			case !s.Alive && (machine || !stays):
				loses(key, "its agent is not there")
			case machine && replaced:
				loses(key, "Heat deletes a machine that it replaces without waiting for it")
			case !stays: // it runs before the plan is changed
			case machine:
				first = append(first, key)
			case !u.TakesOver:
				loses(key, "no relay runs it for Heat")
			}
		}
	}
	return first, lost
}

// owedHooks are the roles of a server that have ended, but whose delete hook is not done.
func owedHooks(s *status.Server) (owed []contract.RoleKey) {
	for _, r := range s.Roles {
		if protocol.OwesDelete(r.Plan, r.Status) && protocol.HookDone(s.Requests, s.Answers, r.Name, contract.HookDelete, s.Incarnation) == nil {
			owed = append(owed, r.Key())
		}
	}
	return owed
}
