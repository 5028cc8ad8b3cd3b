package coordinator

import (
	"encoding/json"
	"math"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// DeploymentRecord is what stands at a deployment's root.
type DeploymentRecord struct {
	Format  int       `json:"format"` // RecordFormat
	ID      string    `json:"id"`     // random
	Counter int64     `json:"-"`      // of the change that signed it
	Plan    string    `json:"plan"`   // sha256 of plan.json
	Created time.Time `json:"created"`
	// Enrol says how often a server's token lets a machine in.
	Enrol Enrolment `json:"enrol,omitempty"`
	// Restored says that it was put in the place of one that the coordinator had lost.
	Restored bool `json:"restored,omitempty"`
	// Updates counts the changes of the plan, Updating is the sha256 of the plan that
	// one which has not come to its end makes of it.
	Updates  int    `json:"updates,omitempty"`
	Updating string `json:"updating,omitempty"`
	// Handles is when, by the coordinator's clock, servers began to tell Heat where a relay or
	// nobody did before: machines of before have no credentials for the handles that Heat has now.
	Handles time.Time `json:"handles,omitzero"`
}

// IncarnationRecord says which machine a server's name means now. The version
// of its node fences: every write of an agent checks it.
type IncarnationRecord struct {
	Number   int       `json:"number"`             // 0: no server has come yet
	ID       string    `json:"id,omitempty"`       // random, in the agent's journal
	Instance string    `json:"instance,omitempty"` // Nova's instance id
	Since    time.Time `json:"since,omitzero"`
}

// KeysRecord holds passwords of readers' sets, by id.
type KeysRecord struct {
	Sets map[string]string `json:"sets,omitempty"`
}

// PublicRecord is the key that values for a server are sealed with. It is made on
// the server; only its public half leaves it.
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

// CellState is what a cell is.
type CellState string

// The states of a cell: empty → value or failed, and back to empty with the next
// incarnation of its server.
const (
	Empty  CellState = "empty"
	Valued CellState = "value"
	Failed CellState = "failed"
	// Gone is what a member's cell is to who follows its group, once its machine is gone. It
	// is never written.
	Gone CellState = "gone"
)

// CellRecord is a cell.
type CellRecord struct {
	State CellState `json:"state"`
	// Incarnation is the number of the server's incarnation that wrote this.
	Incarnation int `json:"incarnation"`
	// Version counts what was written in an incarnation; later ones are larger.
	Version int             `json:"version,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	// Sealed is the value in a box, of a cell that is sealed; Value is not there then.
	Sealed string `json:"sealed,omitempty"`
	// Fingerprint is that of a value which an operator has given (Secret.Fingerprint).
	Fingerprint string `json:"fingerprint,omitempty"`
	// Cause is why it has failed; of a value, why the run failed that was to renew it.
	Cause *Cause `json:"cause,omitempty"`
	// RoleFailed says of a value that the role which wrote it has failed since, for the cause: a
	// first run may have it, and none is brought up to date to it.
	RoleFailed bool      `json:"role_failed,omitempty"`
	Since      time.Time `json:"since,omitzero"`
	// Stamp says of which runs the value is made, where a reader has to know.
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

// PresenceRecord stands while an agent has a session.
type PresenceRecord struct {
	Incarnation int       `json:"incarnation"`
	Since       time.Time `json:"since"`
}

// LogSize is how many bytes of what a role printed the coordinator keeps.
const LogSize = 16 << 10

// Phase is how far a server's agent is.
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

// RoleStatus is how far a role is.
type RoleStatus string

// The statuses of a role.
const (
	RolePending RoleStatus = "pending"
	RoleRunning RoleStatus = "running"
	RoleDone    RoleStatus = "done"
	RoleFailed  RoleStatus = "failed"
	RoleSkipped RoleStatus = "skipped" // an earlier role of its server failed
)

// Ended says that the role has run, whatever came of it.
func (s RoleStatus) Ended() bool { return s == RoleDone || s == RoleFailed }

// ServerState is what an agent reports of its server; only it writes this.
type ServerState struct {
	Incarnation int       `json:"incarnation"`
	Phase       Phase     `json:"phase"`
	Since       time.Time `json:"since"`
	Message     string    `json:"message,omitempty"`
	Agent       string    `json:"agent,omitempty"` // version
	// Untold is why Heat does not know yet of what has ended, where the agent tells it.
	Untold string `json:"untold,omitempty"`
	// NoHandle says that the machine was made when no server told Heat: it has no credentials. An
	// operator's look says it, too, of one whose credentials were for handles that are gone.
	NoHandle bool        `json:"no_handle,omitempty"`
	Roles    []RoleState `json:"roles"`
	// Wrote are the versions of the values that the server has published.
	Wrote map[contract.CellName]Count `json:"wrote,omitempty"`
	// Decided is what Heat decided of the stack's topology, by the keys of the plan: true,
	// false or a number of members.
	Decided map[string]json.RawMessage `json:"decided,omitempty"`
	// Going is how far the machine is that Heat takes away; nil where it does not.
	Going *GoingState `json:"going,omitempty"`
}

// Role is how a role stands; it has no name where nothing is known of it.
func (s ServerState) Role(name string) RoleState {
	for _, r := range s.Roles {
		if r.Name == name {
			return r
		}
	}
	return RoleState{}
}

// GoingState is how far a machine that Heat takes away is with its roles' delete hooks.
type GoingState struct {
	Since time.Time `json:"since"`
	Ended time.Time `json:"ended,omitzero"`
	// Failed are the hooks that have failed, the first one first.
	Failed []*Cause `json:"failed,omitempty"`
}

// RoleState is how far one role of a server is.
type RoleState struct {
	Name   string     `json:"name"`
	Status RoleStatus `json:"status"`
	// Attempt counts the operator's requests to run the role again.
	Attempt int `json:"attempt,omitempty"`
	// ByHand says that the role is done because an operator said so.
	ByHand   bool      `json:"by_hand,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	ExitCode *int      `json:"exit_code,omitempty"`
	// Blocked are the reads that wait now.
	Blocked []Wait `json:"blocked,omitempty"`
	// BlockedSeconds is the time in which at least one read waited, so far.
	BlockedSeconds float64 `json:"blocked_seconds,omitempty"`
	Cause          *Cause  `json:"cause,omitempty"`
	// LastLines are the end of what the role printed, kept when it fails.
	LastLines string `json:"last_lines,omitempty"`
	// Made names what the role ran with last, or was updated to: contract.Role.Definition.
	Made string `json:"made,omitempty"`
	// Update is the last run of the hook update since the role itself ran.
	Update *UpdateState `json:"update,omitempty"`
	// Followed are the versions of the cells that the role follows, as its last run had
	// them, and Runs counts its runs for the stamps of its outputs.
	Followed map[contract.CellName]Count `json:"followed,omitempty"`
	Runs     int                         `json:"runs,omitempty"`
	// Behind is why the role is not brought to what it follows by now; nil where it is, or
	// will be.
	Behind *BehindState `json:"behind,omitempty"`
}

// BehindState is why a role stays as it is though what it follows has changed.
type BehindState struct {
	Cause *Cause `json:"cause"`
	// Heat is the number of the last change of Heat's that the agent has seen then.
	Heat int64 `json:"heat,omitempty"`
}

// UpdateState is how far a run of a role's hook update is.
type UpdateState struct {
	Status   RoleStatus `json:"status"` // running, done or failed
	Started  time.Time  `json:"started,omitzero"`
	Ended    time.Time  `json:"ended,omitzero"`
	ExitCode *int       `json:"exit_code,omitempty"`
	Cause    *Cause     `json:"cause,omitempty"`
	// LastLines are the end of what it printed, kept when it fails.
	LastLines string `json:"last_lines,omitempty"`
}

// Wait is a read that is blocked.
type Wait struct {
	Cell  contract.CellName `json:"cell"`
	Input string            `json:"input,omitempty"`
	At    contract.Position `json:"at,omitempty"`
	Since time.Time         `json:"since"`
}

// Next is the version of what is written after the record, in an incarnation.
func (r CellRecord) Next(incarnation int) int {
	if r.Incarnation != incarnation || r.Version < 0 || r.Version > math.MaxInt32 { // empty cells are not signed
		return 1
	}
	return r.Version + 1
}
