package up

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator"
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

// owedHooks are the roles of a server that have ended, but whose delete hook is not done.
func owedHooks(s *status.Server) (owed []contract.RoleKey) {
	for _, r := range s.Roles {
		if coordinator.OwesDelete(r.Plan, r.Status) && coordinator.HookDone(s.Requests, s.Answers, r.Name, contract.HookDelete, s.Incarnation) == nil {
			owed = append(owed, r.Key())
		}
	}
	return owed
}
