package protocol

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// DeploymentRecord is the record at a deployment's root.
type DeploymentRecord struct {
	Format  int       `json:"format"` // RecordFormat
	ID      string    `json:"id"`     // random
	Counter int64     `json:"-"`      // of the change with which it was signed
	Plan    string    `json:"plan"`   // sha256 of plan.json
	Created time.Time `json:"created"`
	// Enrol says how often a server's token lets a machine enrol.
	Enrol Enrolment `json:"enrol,omitempty"`
	// Restored says that it replaces one that the coordinator had lost.
	Restored bool `json:"restored,omitempty"`
	// Updates counts the changes of the plan. Updating is the SHA-256 of the new plan while a
	// change is unfinished.
	Updates  int    `json:"updates,omitempty"`
	Updating string `json:"updating,omitempty"`
	// Handles is when, by the coordinator's clock, servers began to signal Heat where a relay or
	// nothing did before: older machines have no credentials for the handles that Heat has now.
	Handles time.Time `json:"handles,omitzero"`
}

// IncarnationRecord says which machine is the server now. The version of its node is the fence:
// every write of an agent checks it.
type IncarnationRecord struct {
	Number   int       `json:"number"`             // 0: no machine has enrolled yet
	ID       string    `json:"id,omitempty"`       // random, in the agent's journal
	Instance string    `json:"instance,omitempty"` // Nova's instance id
	Since    time.Time `json:"since,omitzero"`
}

// KeysRecord holds the passwords of reader sets, by id.
type KeysRecord struct {
	Sets map[string]string `json:"sets,omitempty"`
}

// PublicRecord is the key with which values are sealed for a server. It is generated on the server;
// only its public half leaves it.
type PublicRecord struct {
	Incarnation int    `json:"incarnation"`
	Key         string `json:"key,omitempty"`
}

// SealsRecord holds the keys of one writer's boxes for one reader, by cell.
type SealsRecord map[contract.CellName]SealedKey

// SealedKey is the key of a box, sealed to a reader.
type SealedKey struct {
	Box string `json:"box"` // seal.ID of the box that it opens
	To  string `json:"to"`  // seal.ID of the reader's public key
	Key string `json:"key"`
}

// CellState is the state of a cell.
type CellState string

// The states of a cell: empty → value or failed, and back to empty with the next
// incarnation of its server.
const (
	Empty  CellState = "empty"
	Valued CellState = "value"
	Failed CellState = "failed"
	// Gone is a member's cell as its group's followers see it once its machine is gone. It is never
	// written.
	Gone CellState = "gone"
	// Unknown is a cell whose record is not its writer's, or older than one that was seen: nothing
	// follows from it. It is never written.
	Unknown CellState = "unknown"
)

// CellRecord is a cell.
type CellRecord struct {
	State CellState `json:"state"`
	// Incarnation is the number of the server's incarnation that wrote this.
	Incarnation int `json:"incarnation"`
	// Version counts the writes of an incarnation.
	Version int             `json:"version,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	// Sealed is the value of a sealed cell, in a box, in place of Value.
	Sealed string `json:"sealed,omitempty"`
	// Fingerprint is that of a value that an operator supplied (Secret.Fingerprint).
	Fingerprint string `json:"fingerprint,omitempty"`
	// Cause is why it failed; for a value, why the run that should have renewed it failed.
	Cause *Cause `json:"cause,omitempty"`
	// RoleFailed says of a value that its role has failed since, with Cause: first runs of readers
	// use the value, but none is brought up to date with it.
	RoleFailed bool      `json:"role_failed,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	// Stamp says from which runs the value was made, where a reader has to know.
	Stamp Stamp `json:"stamp,omitempty"`
}

// Cause says why something failed, and what made that happen.
type Cause struct {
	Role   contract.RoleKey  `json:"role,omitempty"`
	Reason string            `json:"reason"`
	At     contract.Position `json:"at,omitempty"`
	Cause  *Cause            `json:"cause,omitempty"`
}

// Root is the first cause of the chain.
func (c *Cause) Root() *Cause {
	if c == nil {
		return &Cause{}
	}
	for c.Cause != nil {
		c = c.Cause
	}
	return c
}

// String writes the chain, the last effect first.
func (c *Cause) String() string {
	var text string
	for ; c != nil; c = c.Cause {
		if text != "" {
			text += "\n  because "
		}
		if c.Role != "" {
			text += string(c.Role) + ": "
		}
		text += c.Reason
		if c.At != "" {
			text += " (" + string(c.At) + ")"
		}
	}
	return text
}

// PresenceRecord exists while an agent has a session.
type PresenceRecord struct {
	Incarnation int       `json:"incarnation"`
	Since       time.Time `json:"since"`
}

// LogSize is how many bytes of a role's output the coordinator keeps.
const LogSize = 16 << 10

// Phase is the progress of a server's agent.
type Phase string

// The phases of an agent.
const (
	PhaseUp         Phase = "up"
	PhaseWaiting    Phase = "waiting"    // for the deployment to be applied
	PhaseInstalling Phase = "installing" // a tool
	PhaseRunning    Phase = "running"
	PhaseDone       Phase = "done"
	PhaseFailed     Phase = "failed"
)

// RoleStatus is the progress of a role.
type RoleStatus string

// The statuses of a role.
const (
	RolePending RoleStatus = "pending"
	RoleRunning RoleStatus = "running"
	RoleDone    RoleStatus = "done"
	RoleFailed  RoleStatus = "failed"
	RoleSkipped RoleStatus = "skipped" // an earlier role of its server failed
)

// Ended reports whether the role has run, successfully or not.
func (s RoleStatus) Ended() bool { return s == RoleDone || s == RoleFailed }

// ServerState is what an agent reports about its server; it alone writes this.
type ServerState struct {
	Incarnation int       `json:"incarnation"`
	Phase       Phase     `json:"phase"`
	Since       time.Time `json:"since"`
	Message     string    `json:"message,omitempty"`
	Agent       string    `json:"agent,omitempty"` // version
	// Untold is why the agent could not yet signal to Heat what has ended.
	Untold string `json:"untold,omitempty"`
	// NoHandle says that the machine was created when servers did not signal Heat: it has no
	// credentials. Operators' commands also set it for one whose credentials were for handles that
	// are gone.
	NoHandle bool        `json:"no_handle,omitempty"`
	Roles    []RoleState `json:"roles"`
	// Wrote are the versions of the values that the server has published.
	Wrote map[contract.CellName]Count `json:"wrote,omitempty"`
	// Decided is what Heat decided about the stack's topology, by the keys of the plan: true, false
	// or a number of members.
	Decided map[string]json.RawMessage `json:"decided,omitempty"`
	// Newer are the numbers that the machine has seen on records, by kind, where the coordinator has
	// older ones now: it was restored to an earlier state. See NextNumber.
	Newer map[string]int64 `json:"newer,omitempty"`
	// Going is the progress of a machine that Heat is about to delete; nil otherwise.
	Going *GoingState `json:"going,omitempty"`
	// Again is the last update of Heat's for which failed roles were started again (HeatValues.Again).
	Again string `json:"again,omitempty"`
}

// Failures identifies the failed runs of the server's roles, and of their update hooks; "" is none.
func (s ServerState) Failures() (all string) {
	for _, r := range s.Roles {
		if r.Status == RoleFailed || r.Update != nil && r.Update.Status == RoleFailed {
			all += fmt.Sprintf(" %s:%d:%d", r.Name, r.Attempt, r.Runs)
		}
	}
	if all != "" {
		all = Digest(fmt.Appendf(nil, "hotc failures 1\n%d%s", s.Incarnation, all))[:16]
	}
	return all
}

// Role is the state of a role; its name is empty if nothing is known of it.
func (s ServerState) Role(name string) RoleState {
	for _, r := range s.Roles {
		if r.Name == name {
			return r
		}
	}
	return RoleState{}
}

// GoingState is the progress of the delete hooks on a machine that Heat is about to delete.
type GoingState struct {
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended,omitzero"`
	// Failed are the hooks that have failed, in order.
	Failed []*Cause `json:"failed,omitempty"`
}

// RoleState is the progress of one role of a server.
type RoleState struct {
	Name   string     `json:"name"`
	Status RoleStatus `json:"status"`
	// Attempt counts the operator's retries of the role.
	Attempt int `json:"attempt,omitempty"`
	// ByHand says that an operator has marked the role as done.
	ByHand   bool      `json:"by_hand,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	ExitCode *int      `json:"exit_code,omitempty"`
	// Blocked are the reads that are waiting.
	Blocked []Wait `json:"blocked,omitempty"`
	// BlockedSeconds is the time for which at least one read has waited so far.
	BlockedSeconds float64 `json:"blocked_seconds,omitempty"`
	Cause          *Cause  `json:"cause,omitempty"`
	// LastLines are the end of the role's output, kept when it fails.
	LastLines string `json:"last_lines,omitempty"`
	// Made is the definition that the role last ran with, or was updated to: contract.Role.Definition.
	Made string `json:"made,omitempty"`
	// Update is the last run of the update hook since the role itself ran.
	Update *UpdateState `json:"update,omitempty"`
	// Followed are the versions of the followed cells in the role's last run, and Runs counts its
	// runs for the stamps of its outputs.
	Followed map[contract.CellName]Count `json:"followed,omitempty"`
	Runs     int                         `json:"runs,omitempty"`
	// Behind is why the role is not brought up to date with what it follows; nil where it is, or
	// will be.
	Behind *BehindState `json:"behind,omitempty"`
}

// BehindState is why a role is not updated though what it follows has changed.
type BehindState struct {
	Cause *Cause `json:"cause"`
	// Seen are the versions of all that the agent has seen to be newer than the role's last run.
	Seen map[contract.CellName]Count `json:"seen,omitempty"`
}

// Covers reports whether the agent said it of the current versions of some cells.
func (b *BehindState) Covers(cells []contract.CellName, now func(contract.CellName) CellRecord) bool {
	return b != nil && !slices.ContainsFunc(cells, func(cell contract.CellName) bool {
		r := now(cell)
		return b.Seen[cell] != r.Input()
	})
}

// UpdateState is the progress of a run of a role's hook update.
type UpdateState struct {
	Status   RoleStatus `json:"status"` // running, done or failed
	Started  time.Time  `json:"started,omitzero"`
	Ended    time.Time  `json:"ended,omitzero"`
	ExitCode *int       `json:"exit_code,omitempty"`
	Cause    *Cause     `json:"cause,omitempty"`
	// LastLines are the end of its output, kept when it fails.
	LastLines string `json:"last_lines,omitempty"`
}

// Wait is a read that is blocked.
type Wait struct {
	Cell  contract.CellName `json:"cell"`
	Input string            `json:"input,omitempty"`
	At    contract.Position `json:"at,omitempty"`
	Since time.Time         `json:"since"`
}

// Next is the version of the next write in an incarnation.
func (r CellRecord) Next(incarnation int) int {
	if r.Incarnation != incarnation || r.Version < 0 || r.Version > math.MaxInt32 { // it may be anybody's
		return 1
	}
	return r.Version + 1
}
