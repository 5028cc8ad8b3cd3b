package protocol

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
)

// RequestKind is a kind of operator request.
type RequestKind string

// The kinds of requests.
const (
	Retry  RequestKind = "retry"  // run a failed role again
	Skip   RequestKind = "skip"   // treat a failed role as done
	Action RequestKind = "action" // run one of a role's actions
	Hook   RequestKind = "hook"   // run one of a role's hooks
)

// Request is an operator's request to a server's agent. It is answered once.
type Request struct {
	ID   string      `json:"id"` // random
	Kind RequestKind `json:"kind"`
	// Number is that of the list to which it was added: an agent that has forgotten which it has
	// answered knows by it that this one is among them.
	Number int64 `json:"number,omitempty"`
	// Incarnation is the machine that the request is for; others refuse it.
	Incarnation int    `json:"incarnation"`
	Role        string `json:"role"`
	// Attempt is the failed one (Retry, Skip).
	Attempt int `json:"attempt,omitempty"`
	// Name is the action's or the hook's.
	Name string `json:"name,omitempty"`
	// Change is the definition (contract.Role.Definition) to which the update hook brings the role.
	Change string `json:"change,omitempty"`
	// Force says that it has to run even if the role is up to date: the role itself, if it has no hook.
	Force bool `json:"force,omitempty"`
	// Values are a skipped role's outputs, or an action's arguments.
	Values map[string]json.RawMessage `json:"values,omitempty"`
	Since  time.Time                  `json:"since"`
}

// RequestsRecord holds a server's requests, the oldest first.
type RequestsRecord struct {
	Requests []Request `json:"requests,omitempty"`
	// Coming are, by role, changes of the plan that reach it on several paths.
	Coming map[string]Coming `json:"coming,omitempty"`
}

// Coming is a change of the plan that reaches a role through the outputs of others. All of these
// that it changes must be there before the role runs for any of them.
type Coming struct {
	Number int64 `json:"number"` // of the change
	// Asked says that the role itself is changed, Added that the change adds it.
	Asked bool `json:"asked,omitempty"`
	Added bool `json:"added,omitempty"`
	// After are cells to wait for, one of each role whose outputs this one reads, with the server's
	// incarnation: a later machine has run with the newest values. For a secret that an operator
	// supplies together with the change, the number is that of its previous value.
	After map[contract.CellName]int `json:"after,omitempty"`
}

// Missing is a cell that the change has not reached yet; "" is none. come reports whether it has
// reached some.
func (c *Coming) Missing(now func(contract.CellName) CellRecord) (missing contract.CellName, come bool) {
	for _, cell := range slices.Sorted(maps.Keys(c.After)) {
		switch r := now(cell); {
		case r.State != Valued: // nothing is to be waited for
		case r.Incarnation > c.After[cell]:
			if _, given := cell.Parameter(); given {
				come = true
			}
		case int64(r.Stamp[contract.PlanSource][1]) >= c.Number:
			come = true
		case missing == "":
			missing = cell
		}
	}
	return missing, come
}

// AnswerStatus is an agent's progress with a request.
type AnswerStatus string

// The statuses of an answer. All but the first are final.
const (
	AnswerRunning AnswerStatus = "running"
	AnswerDone    AnswerStatus = "done"
	AnswerFailed  AnswerStatus = "failed"
	AnswerRefused AnswerStatus = "refused" // nothing was done
)

// Answer is the result of a request.
type Answer struct {
	ID       string       `json:"id"`
	Kind     RequestKind  `json:"kind"`
	Role     string       `json:"role"`
	Name     string       `json:"name,omitempty"`
	Status   AnswerStatus `json:"status"`
	Reason   string       `json:"reason,omitempty"`
	ExitCode *int         `json:"exit_code,omitempty"`
	// Output is the end of an action's output, at most LogSize bytes.
	Output  string    `json:"output,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Final reports whether the answer will not change.
func (a *Answer) Final() bool { return a.Status != "" && a.Status != AnswerRunning }

// AnswersRecord holds a server's answers, the oldest first.
type AnswersRecord struct {
	Answers []Answer `json:"answers,omitempty"`
}

// Open are the requests without a final answer.
func Open(requests []Request, answers []Answer) []Request {
	return lists.Only(requests, func(q Request) bool {
		return !slices.ContainsFunc(answers, func(a Answer) bool { return a.ID == q.ID && a.Final() })
	})
}

// HookDone is the agent's answer that a role's hook is done, in this incarnation; nil is none.
func HookDone(requests []Request, answers []Answer, role, hook string, is IncarnationRecord) *Answer {
	for i := len(answers) - 1; i >= 0; i-- {
		a := &answers[i]
		if a.Kind != Hook || a.Role != role || a.Name != hook || a.Status != AnswerDone {
			continue
		}
		now := !a.Ended.Before(is.Since) // by the server's clock, which may have been set since
		if of := slices.IndexFunc(requests, func(q Request) bool { return q.ID == a.ID }); of >= 0 {
			now = requests[of].Incarnation == is.Number
		}
		if now {
			return a
		}
	}
	return nil
}
