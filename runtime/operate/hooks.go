package operate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Hooked is the outcome of the hooks of one name (docs/json.md).
type Hooked struct {
	Stack string    `json:"stack"`
	Hook  string    `json:"hook"`
	Roles []HookRan `json:"roles"` // in the order in which they began
	// Without are the roles whose hook did not run because it has nothing to do.
	Without []contract.RoleKey `json:"without"`
}

// HookRan is one role's hook.
type HookRan struct {
	Role     contract.RoleKey      `json:"role"`
	Status   protocol.AnswerStatus `json:"status"`
	ExitCode *int                  `json:"exit_code,omitempty"`
	Reason   string                `json:"reason,omitempty"`
	Output   string                `json:"output"`
	Started  time.Time             `json:"started,omitzero"`
	Ended    time.Time             `json:"ended,omitzero"`
}

// Failed reports whether a hook did not succeed.
func (h *Hooked) Failed() bool {
	return slices.ContainsFunc(h.Roles, func(r HookRan) bool { return r.Status != protocol.AnswerDone })
}

// Say reports the outcome of each role's hook.
func (h *Hooked) Say(say func(string)) {
	for _, r := range h.Roles {
		say(fmt.Sprintf("%s: the %s hook is %s.", r.Role, h.Hook, r.Status))
	}
}

// Failure says which hooks did not succeed; nil is none.
func (h *Hooked) Failure() error {
	var failed *source.Diagnostic
	for _, r := range h.Roles {
		switch {
		case r.Status == protocol.AnswerDone:
		case failed == nil:
			failed = source.Fail(source.RoleFailed, fmt.Sprintf("the %s hook of %s: %s", h.Hook, r.Role, r.Reason), "hooks after it did not run; the same command runs them again")
		default:
			failed.Notes = append(failed.Notes, source.Note{Message: fmt.Sprintf("%s: %s", r.Role, r.Reason)})
		}
	}
	if failed == nil {
		return nil
	}
	return failed
}

// EarlyHookError is a hook requested before its role has ended.
type EarlyHookError struct {
	Role *status.Role
	Hook string
}

func (e *EarlyHookError) Error() string {
	return fmt.Sprintf("%s is %s: its %s hook runs when it has ended", e.Role.Key(), e.Role.Word(), e.Hook)
}

// AbsentError is hooks on servers whose agents are absent.
type AbsentError struct{ Servers []string }

func (e *AbsentError) Error() string {
	return "the agents of servers with hooks are not running: " + strings.Join(e.Servers, ", ")
}

// hooking is one run of the hooks of a name.
type hooking struct {
	*Operator
	plan *contract.Plan
	hook string
	say  func(string)
	// only are the roles whose hook is to run where it can; nil is all of them, or an error.
	only map[contract.RoleKey]bool

	mu     sync.Mutex
	result Hooked
}

// RunHooks runs a hook of all roles that have it, and waits: the readers' before the writers',
// since readers may still need these; at resume the other way round. Independent hooks run in
// parallel.
func (o *Operator) RunHooks(ctx context.Context, v *status.Status, hook string, say func(string)) (*Hooked, error) {
	return o.runHooks(ctx, v, hook, nil, say)
}

func (o *Operator) runHooks(ctx context.Context, v *status.Status, hook string, only map[contract.RoleKey]bool, say func(string)) (*Hooked, error) {
	h := &hooking{Operator: o, plan: v.Plan, hook: hook, say: say, only: only, result: Hooked{Stack: string(o.Deployment), Hook: hook, Roles: []HookRan{}}}
	roles, err := h.present(ctx, v)
	if err != nil {
		return nil, err
	}
	for _, round := range rounds(v.Plan, roles, hook != contract.HookResume) {
		if err := h.round(ctx, round); err != nil {
			return nil, err
		}
		if h.result.Failed() {
			break
		}
	}
	return &h.result, nil
}

// present chooses the roles once all of their agents are present. An agent may be away for a
// moment, when its machine or its network pauses, or boots: that is waited out before its hook
// counts as unable to run.
func (h *hooking) present(ctx context.Context, v *status.Status) ([]*status.Role, error) {
	for end, said := time.Now().Add(h.Away), ""; ; {
		chosen, absent, err := h.choose(v)
		if err != nil || len(absent) == 0 {
			return chosen, err
		}
		if !time.Now().Before(end) {
			if h.only == nil {
				return nil, &AbsentError{absent}
			}
			return slices.DeleteFunc(chosen, func(r *status.Role) bool {
				if !r.Server.Alive {
					h.result.Without = append(h.result.Without, r.Key())
				}
				return !r.Server.Alive
			}), nil
		}
		if names := strings.Join(absent, ", "); names != said {
			said = names
			h.say(fmt.Sprintf("waiting up to %v for agents that are not running: %s", h.Away, names))
		}
		if store.Pause(ctx, betweenLooks) != nil {
			return nil, ErrInterrupted
		}
		if v, err = h.StatusOf(ctx, v.Plan); err != nil {
			return nil, err
		}
	}
}

// betweenLooks is the interval of checks whether agents have returned.
const betweenLooks = 500 * time.Millisecond

// choose returns the roles whose hook is to run, and their servers whose agents are absent. It
// refuses what would never end.
func (h *hooking) choose(v *status.Status) (chosen []*status.Role, absent []string, err error) {
	h.result.Without = []contract.RoleKey{}
	for r := range v.Roles() {
		if contract.FindTask(r.Plan.Hooks, h.hook) == nil || h.only != nil && !h.only[r.Key()] {
			continue
		}
		switch {
		case r.Server.Absent(), !r.Server.Came(), r.Status == protocol.RoleSkipped, r.Status == protocol.RoleFailed && h.hook != contract.HookDelete:
			h.result.Without = append(h.result.Without, r.Key())
		case r.Status.Ended():
			chosen = append(chosen, r)
		case h.only != nil:
			h.result.Without = append(h.result.Without, r.Key())
		default:
			return nil, nil, &EarlyHookError{r, h.hook}
		}
	}
	for _, r := range chosen {
		if !r.Server.Alive && !slices.Contains(absent, string(r.Server.Path)) && h.hook != contract.HookResume { // after a resume agents return
			absent = append(absent, string(r.Server.Path))
		}
	}
	return chosen, absent, nil
}

// round runs hooks in parallel.
func (h *hooking) round(ctx context.Context, roles []*status.Role) error {
	first := len(h.result.Roles)
	h.result.Roles = append(h.result.Roles, make([]HookRan, len(roles))...)
	failed := make([]error, len(roles))
	var running sync.WaitGroup
	for i, r := range roles {
		mistake.GoIn(&running, func() {
			answer, err := h.runOne(ctx, r)
			h.mu.Lock()
			defer h.mu.Unlock()
			failed[i] = err
			h.result.Roles[first+i] = HookRan{Role: r.Key(), Status: answer.Status, ExitCode: answer.ExitCode, Reason: answer.Reason,
				Output: answer.Output, Started: answer.Started, Ended: answer.Ended}
		})
	}
	running.Wait()
	return cmp.Or(failed...)
}

func (h *hooking) runOne(ctx context.Context, r *status.Role) (protocol.Answer, error) {
	id, answer, err := h.earlier(ctx, r)
	if err != nil || answer.Final() {
		return answer, err
	}
	if id == "" {
		request := NewRequest(protocol.Hook, r)
		request.Name = h.hook
		if err := h.Ask(ctx, h.plan, r.Server.Path, request); err != nil {
			return answer, err
		}
		id = request.ID
	}
	answer, err = h.Await(ctx, h.plan, r.Server.Path, id, func(text string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.say(text)
	})
	return answer, err
}

// earlier finds an earlier command's request without a final answer, to wait for that one. A delete
// hook that is done in this incarnation stays done.
func (h *hooking) earlier(ctx context.Context, r *status.Role) (id string, final protocol.Answer, err error) {
	var answers []protocol.Answer
	posted, err := reading(ctx, h.Operator, h.plan, func(ctx context.Context, reader *deploy.Reader) (posted protocol.RequestsRecord, err error) {
		if posted, err = reader.Requests(ctx, r.Server.Path); err == nil {
			answers, err = reader.Answers(ctx, r.Server.Path)
		}
		return posted, err
	})
	if err != nil {
		return "", final, err
	}
	if done := protocol.HookDone(posted.Requests, answers, r.Name, h.hook, r.Server.Incarnation); done != nil && h.hook == contract.HookDelete {
		final = *done
	}
	for _, q := range protocol.Open(posted.Requests, answers) {
		if q.Kind == protocol.Hook && q.Role == r.Name && q.Name == h.hook && q.Incarnation == r.Server.Incarnation.Number {
			id = q.ID
		}
	}
	return id, final, nil
}

// rounds orders roles by what they read: all of a round may run in parallel. Cycles are broken in
// the order of the plan.
func rounds(p *contract.Plan, roles []*status.Role, readersFirst bool) [][]*status.Role {
	depths := depthsOf(p)
	byDepth := map[int][]*status.Role{}
	deepest := 0
	for _, r := range roles {
		d := depths[r.Key()]
		byDepth[d] = append(byDepth[d], r)
		deepest = max(deepest, d)
	}
	var all [][]*status.Role
	for d := range deepest + 1 {
		if len(byDepth[d]) > 0 {
			all = append(all, byDepth[d])
		}
	}
	if readersFirst {
		slices.Reverse(all)
	}
	return all
}

// depthsOf is the length of the longest chain of roles that each role reads from, or that precede
// it on its server.
func depthsOf(p *contract.Plan) map[contract.RoleKey]int {
	writer := map[contract.CellName]contract.RoleKey{}
	for _, c := range p.Cells {
		if c.Role != "" {
			writer[c.Name] = c.Server.Role(c.Role)
		}
	}
	needs := map[contract.RoleKey][]contract.RoleKey{}
	var order []contract.RoleKey
	for _, s := range p.Servers {
		var before contract.RoleKey
		for _, r := range s.Roles {
			key := s.Path.Role(r.Name)
			order = append(order, key)
			if before != "" {
				needs[key] = append(needs[key], before)
			}
			before = key
			for _, cell := range r.Reads() {
				needs[key] = append(needs[key], writer[cell])
			}
		}
	}
	depths, busy := map[contract.RoleKey]int{}, map[contract.RoleKey]bool{}
	var depth func(contract.RoleKey) int
	depth = func(key contract.RoleKey) int {
		d, known := depths[key]
		if known || busy[key] {
			return d
		}
		busy[key] = true
		for _, on := range needs[key] {
			if on != "" && on != key {
				d = max(d, depth(on)+1)
			}
		}
		depths[key] = d
		return d
	}
	for _, key := range order {
		depth(key)
	}
	return depths
}
