package coordinator

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
)

// RequestKind is what an operator may ask a server's agent for.
type RequestKind string

// The kinds of requests.
const (
	Retry  RequestKind = "retry"  // run a role again that has failed
	Skip   RequestKind = "skip"   // take a role that has failed as done
	Action RequestKind = "action" // run one of a role's actions
	Hook   RequestKind = "hook"   // run one of a role's hooks
)

// Request is what an operator asks a server's agent for. It is answered once.
type Request struct {
	ID   string      `json:"id"` // random
	Kind RequestKind `json:"kind"`
	// Incarnation is the machine that is asked; another one refuses.
	Incarnation int    `json:"incarnation"`
	Role        string `json:"role"`
	// Attempt is the one that has failed (Retry, Skip).
	Attempt int `json:"attempt,omitempty"`
	// Name is the action's or the hook's.
	Name string `json:"name,omitempty"`
	// Change is the definition (contract.Role.Definition) that the hook update brings the
	// role to.
	Change string `json:"change,omitempty"`
	// Again says that it is to run even if it has failed for that already.
	Again bool `json:"again,omitempty"`
	// Values are a skipped role's outputs, or an action's arguments.
	Values map[string]json.RawMessage `json:"values,omitempty"`
	Since  time.Time                  `json:"since"`
}

// RequestsRecord holds a server's requests, the oldest first.
type RequestsRecord struct {
	Requests []Request `json:"requests,omitempty"`
	// Coming are changes of the plan that reach roles by several ways, by role.
	Coming map[string]Coming `json:"coming,omitempty"`
}

// Coming is a change of the plan that reaches a role by what other roles write. All that it
// changes among these is to be there before the role runs for any of it.
type Coming struct {
	Number int64 `json:"number"` // of the change
	// Asked says that the role itself is changed, Added that it comes with the change.
	Asked bool `json:"asked,omitempty"`
	Added bool `json:"added,omitempty"`
	// After are cells, one of each role that writes what this one reads, with the incarnation
	// of the server: another machine has run with what is newest. So has, of a secret that an
	// operator gives together with the change, the value after the one of that number.
	After map[contract.CellName]int `json:"after,omitempty"`
}

// Missing is a cell that has not come to where the change is; "" is none. Come says that some
// have.
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

// AnswerStatus is how far an agent is with a request.
type AnswerStatus string

// The statuses of an answer. All but the first are final.
const (
	AnswerRunning AnswerStatus = "running"
	AnswerDone    AnswerStatus = "done"
	AnswerFailed  AnswerStatus = "failed"
	AnswerRefused AnswerStatus = "refused" // nothing was done
)

// Answer is what became of a request.
type Answer struct {
	ID       string       `json:"id"`
	Kind     RequestKind  `json:"kind"`
	Role     string       `json:"role"`
	Name     string       `json:"name,omitempty"`
	Status   AnswerStatus `json:"status"`
	Reason   string       `json:"reason,omitempty"`
	ExitCode *int         `json:"exit_code,omitempty"`
	// Output is the end of what an action printed, at most LogSize bytes.
	Output  string    `json:"output,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Final says that the answer will not change.
func (a *Answer) Final() bool { return a.Status != "" && a.Status != AnswerRunning }

// AnswersRecord holds a server's answers, the oldest first.
type AnswersRecord struct {
	Answers []Answer `json:"answers,omitempty"`
}

// Open are the requests that a server's agent has not answered for good.
func Open(requests []Request, answers []Answer) []Request {
	return lists.Only(requests, func(q Request) bool {
		return !slices.ContainsFunc(answers, func(a Answer) bool { return a.ID == q.ID && a.Final() })
	})
}

// HookDone is the answer of a server's agent that a role's hook is done, in this incarnation;
// nil is none.
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
