// Package contract holds the contract between the compiler and the agents: the
// coordination plan (plan.json) and the boot file of a server.
//
// A plan is an immutable value: the compiler builds it, `hotc apply` publishes it, and an
// agent reads its own server's part. All it has of Heat's templates is residual
// expressions, as opaque JSON, with their source positions.
//
// The JSON forms are documented in docs/plan.md and checked by schema.json.
package contract

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// Format is the version of plan.json and of the boot file that this code
// writes and reads.
const Format = 1

// ServerPath names a server, or another resource, in a deployment: its name, preceded by
// those of its nested stacks ("db", "tier/2/db").
type ServerPath string

// Position is a place in the user's source: FILE:LINE:COLUMN, the column counted in
// characters from 1.
type Position string

// PublicKey is a public key in base64.
type PublicKey string

// Time says when a value is known (DESIGN, "Binding times").
type Time string

// The binding times, from earliest to latest.
const (
	Static Time = "static" // known to the compiler
	Deploy Time = "deploy" // known to Heat when it creates the stack
	Run    Time = "run"    // known to an agent while roles run
)

// Plan is what `hotc compile` writes as plan.json.
type Plan struct {
	Format   int        `json:"format"`
	Compiler string     `json:"compiler"` // "hotc VERSION"
	Template string     `json:"template"` // file name of the source template
	Signal   Signalling `json:"signal"`
	Servers  []Server   `json:"servers"`
	Cells    []Cell     `json:"cells"`
	// Outputs are the stack's outputs that need a run-time value.
	Outputs []StackOutput `json:"outputs"`
	// Secrets are the parameters that `hotc apply` sets, and Heat does not have.
	Secrets []Secret `json:"secrets,omitempty"`
	Files   []File   `json:"files"`
}

// Undecided counts the servers that Heat may or may not create.
func (p *Plan) Undecided() int {
	return len(lists.Only(p.Servers, func(s Server) bool { return len(s.If) > 0 }))
}

// Signalling says who reports the roles' results to Heat.
type Signalling string

// The reporters.
const (
	AgentsSignal  Signalling = "heat"  // each server's agent, by wait conditions
	RelaySignals  Signalling = "relay" // `hotc relay`, by software deployments (docs/relay.md)
	NobodySignals Signalling = "none"
)

// Secret is a parameter whose value `hotc apply` writes to a sealed cell.
type Secret struct {
	Name string   `json:"name"`
	Cell CellName `json:"cell"`
	At   Position `json:"at"`
	// Declaration is a template with only the parameter: its type and constraints.
	Declaration json.RawMessage `json:"declaration"`
	// Readers are derived, sorted.
	Readers []ServerPath `json:"-"`
}

// Operator replaces the server for cells that the operator's command writes. No server
// has this path.
const Operator ServerPath = "/operator"

// Ref is the readers' reference to the secret's cell.
func (s *Secret) Ref() CellRef { return CellRef{Cell: s.Cell, Server: Operator, Sealed: true} }

// Server is one server's part of the plan, and all that its agent gets.
type Server struct {
	Path ServerPath `json:"path"`
	At   Position   `json:"at"`
	// Change is the counter of the change that wrote it, if an agent has read it.
	Change int64 `json:"-"`
	// Slot is the place in a group whose members Heat names; nil for other servers.
	Slot *Slot `json:"slot,omitempty"`
	// If are the conditions, decided by Heat, that must all hold for the server to exist.
	If []Condition `json:"if,omitempty"`
	// Decides are the decisions that the server's agent can report, as residual expressions
	// of deploy-time values, by key.
	Decides map[string]json.RawMessage `json:"decides,omitempty"`
	// Facts are the facts that are read.
	Facts []Fact `json:"facts,omitempty"`
	// Deploy are the values that Heat puts into the boot file, by key. A key is derived from
	// the expression, so that user-data of an older plan may lack a value but never has a
	// wrong one.
	Deploy map[string]DeployValue `json:"deploy,omitempty"`
	// Reads are the cells that the server may read, each with the server that writes it. Writes are
	// its own cells, Seals the sealed ones of them, each with its readers. The three are derived:
	// plan.json has none, and the agent's copy has them.
	Reads  []CellRef  `json:"reads,omitempty"`
	Writes []CellName `json:"writes,omitempty"`
	Seals  []Sealing  `json:"seals,omitempty"`
	// Keys are the public keys of the servers that it reads from or seals for, and its own.
	// `hotc apply` adds them; plan.json has none.
	Keys map[ServerPath]PublicKey `json:"keys,omitempty"`
	// Relayed is set if Heat does not wait for signals of the server's agent, but for a relay or
	// nothing. `hotc apply` adds it.
	Relayed bool   `json:"relayed,omitempty"`
	Roles   []Role `json:"roles"`
}

// Slot is a replica slot, a place in a scaling group: the member is known once its agent has
// taken the slot.
type Slot struct {
	Group  string `json:"group"`  // the group's path
	Number int    `json:"number"` // from 0
	// Shared is the server's path in the boot files of all members, with a star for the
	// number.
	Shared ServerPath `json:"shared"`
}

// Condition is a decision of Heat that a server's existence depends on.
type Condition struct {
	Decision string `json:"decision"` // its key
	// Least is the required size of a group; 0 if the decision is a boolean.
	Least int `json:"least,omitempty"`
	// Why is the reason if the server does not exist.
	Why string   `json:"why"`
	At  Position `json:"at"`
}

// CellRef is a cell and the server that writes it, under which it is stored.
type CellRef struct {
	Cell   CellName   `json:"cell"`
	Server ServerPath `json:"server"`
	// Sealed is set if its value is sealed to the readers.
	Sealed bool `json:"sealed,omitempty"`
	// Type is that of its values, if the role declares one.
	Type Type `json:"type,omitempty"`
}

// Sealing is a cell that only its readers and its writer can open.
type Sealing struct {
	Cell    CellName     `json:"cell"`
	Readers []ServerPath `json:"readers,omitempty"`
}

// DeployValue is an expression that Heat resolves for a server.
type DeployValue struct {
	Expr json.RawMessage `json:"expr"`
	At   Position        `json:"at"`
	// Carried is set if a relay informs the server of changes (docs/relay.md).
	Carried bool `json:"carried,omitempty"`
}

// Role is one run of a tool on a server. Roles run in the order of the list.
type Role struct {
	Name      string          `json:"name"`
	At        Position        `json:"at"`
	Driver    string          `json:"driver"`
	Source    json.RawMessage `json:"source"` // of the driver; files are named by digest
	Inputs    []Input         `json:"inputs,omitempty"`
	Outputs   []Output        `json:"outputs,omitempty"`
	DependsOn []Dependency    `json:"depends_on,omitempty"`
	// Timeout ends the role, in seconds; 0 is never.
	Timeout    float64  `json:"timeout,omitempty"`
	Idempotent bool     `json:"idempotent,omitempty"`
	Files      []string `json:"files,omitempty"` // digests of the files it needs
	// Render are the files that the agent renders before it starts the tool.
	Render []RenderedFile `json:"render,omitempty"`
	// Install says how the driver's tool is installed; nil is the driver's default.
	Install *Install `json:"install,omitempty"`
	// Actions run on an operator's request, Hooks at the stack's life-cycle events (the Hook
	// constants).
	Actions []Task `json:"actions,omitempty"`
	Hooks   []Task `json:"hooks,omitempty"`
	// Signals are sent to Heat, for resources that wait, as soon as the role is done.
	Signals []Signal `json:"signals,omitempty"`
	// Follows are the cells that determine whether the role is up to date (docs/updates.md),
	// Carries the sources in the stamps of its outputs.
	Follows []Follow `json:"follows,omitempty"`
	Carries []Source `json:"carries,omitempty"`
}

// Follow is a cell that a role reads and whose version it follows.
type Follow struct {
	Cell CellName `json:"cell"`
	// Watch is set if the role runs for a newer version of it.
	Watch bool `json:"watch,omitempty"`
	// Optional is set if the role tolerates its failure.
	Optional bool `json:"optional,omitempty"`
	// Sources are the cell's sources that another followed cell shares.
	Sources []Source `json:"sources,omitempty"`
	// Member is the cell's member of a group, if the role follows the group's membership; nil
	// otherwise.
	Member *Member `json:"member,omitempty"`
	// Perhaps is the cell's server, if Heat decides whether that exists; nil otherwise.
	Perhaps *Perhaps `json:"perhaps,omitempty"`
}

// Perhaps is a server that exists if Heat's values in all of some cells (HeatCell) are true.
type Perhaps struct {
	Server ServerPath `json:"server"`
	If     []CellName `json:"if"`
}

// Machine returns the cell's server and its group, if Heat decides whether it exists; nil
// otherwise. A server with a condition is a group of its own.
func (f *Follow) Machine() *Member {
	if f.Perhaps != nil {
		return &Member{Group: string(f.Perhaps.Server), Server: f.Perhaps.Server}
	}
	return f.Member
}

// Source is an origin of changes: a role, by its key, a fact, by its cell, or Heat.
type Source string

// Updating returns what applies changes to the role: its hook update or, if it may be run
// again, its own source; nil if nothing does.
func (r *Role) Updating() *Task {
	if hook := FindTask(r.Hooks, HookUpdate); hook != nil {
		return hook
	}
	if r.Idempotent {
		return &Task{Name: HookUpdate, At: r.At, Source: r.Source, Files: r.Files}
	}
	return nil
}

// RenderedFile is a file rendered from a template (docs/files.md).
type RenderedFile struct {
	Path     string   `json:"path"` // absolute, or relative to the role's working folder
	At       Position `json:"at"`
	Template string   `json:"template"` // digest
	Name     string   `json:"name"`     // of the template, for messages
	Owner    string   `json:"owner,omitempty"`
	Group    string   `json:"group,omitempty"`
	Mode     string   `json:"mode"` // octal digits
}

// Install is how a tool is installed on a server.
type Install struct {
	// Version is a prefix of the tool's version ("7.23" matches 7.23.0) or, after ">=", the
	// minimum; "" is any.
	Version string `json:"version,omitempty"`
	// From is "packages", "url", "gem" or "none"; "" is the driver's default.
	From    string `json:"from,omitempty"`
	URL     string `json:"url,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // hex
	Proxy   string `json:"proxy,omitempty"`  // URL
	Licence string `json:"licence,omitempty"`
}

// Task is an additional run of the role's tool.
type Task struct {
	Name   string          `json:"name"`
	At     Position        `json:"at"`
	Source json.RawMessage `json:"source"`
	Files  []string        `json:"files,omitempty"`
}

// AllFiles returns the digests of the files that the role and its tasks need.
func (r *Role) AllFiles() []string {
	return slices.Concat(r.Files, lists.Map(r.Render, func(f RenderedFile) string { return f.Template }),
		lists.Flat(slices.Concat(r.Actions, r.Hooks), func(t Task) []string { return t.Files }))
}

// FindTask returns the task of a name, or nil.
func FindTask(tasks []Task, name string) *Task {
	for i := range tasks {
		if tasks[i].Name == name {
			return &tasks[i]
		}
	}
	return nil
}

// The hooks of a role.
const (
	HookCreate  = "create"  // right after the role's own source, as a part of the role
	HookUpdate  = "update"  // after the plan of a role that has run changes
	HookSuspend = "suspend" // before the stack is suspended
	HookResume  = "resume"  // after it is resumed
	HookDelete  = "delete"  // before it is deleted
)

// Signal is a wait condition that a role signals when it is done or has failed.
type Signal struct {
	// Handle is the name of the condition's handle, and the key of its credentials in the
	// boot file; with a relay, the resource that waits (HeatWaitAbout.Wait).
	Handle string `json:"handle"`
	// ID distinguishes the servers that signal one condition.
	ID string `json:"id"`
	// Outputs are the names of the role's outputs that Heat gets.
	Outputs []string `json:"outputs,omitempty"`
}

// Dependency is a read of another role's completion.
type Dependency struct {
	Cell CellName `json:"cell"`
	At   Position `json:"at"`
	// If is a residual expression: if it is false, the role does not exist, and nothing waits
	// for it. Nil is true.
	If json.RawMessage `json:"if,omitempty"`
}

// Input is a value that a role reads.
type Input struct {
	Name string `json:"name"`
	Time Time   `json:"time"`
	// Expr is the residual expression (docs/plan.md, "Residual expressions").
	Expr json.RawMessage `json:"expr"`
	// At are the positions of parts of Expr, by JSON pointer; "" is the whole.
	At map[string]Position `json:"at"`
	// Reads are the cells that Expr may read, in source order.
	Reads []CellName `json:"reads,omitempty"`
	// Parameters are those whose values the compiler has put into Expr, each with a digest of its
	// value, to explain a change.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Default is used when the producer has definitely failed to deliver.
	Default  json.RawMessage `json:"default,omitempty"`
	Optional bool            `json:"optional,omitempty"`
	// Timeout ends the wait, in seconds; 0 is never.
	Timeout float64 `json:"timeout,omitempty"`
	// IfDown is how many seconds to keep waiting for a producer whose agent is gone.
	IfDown float64 `json:"if_down,omitempty"`
	Eager  bool    `json:"eager,omitempty"`
	Watch  bool    `json:"watch,omitempty"`
	// AtLeast is how many members a group needs for the role's first run; 0 is all that Heat
	// was told to create.
	AtLeast int `json:"at_least,omitempty"`
	// Secret is set if the value has a secret part: it is put into an environment only if
	// the input is Eager.
	Secret bool `json:"secret,omitempty"`
	Type   Type `json:"type,omitempty"`
}

// Output is a value that a role writes.
type Output struct {
	Name string   `json:"name"` // in the tool's own terms
	Cell CellName `json:"cell"`
	Type Type     `json:"type"`
	// Attribute is the name in references, if it is not Name.
	Attribute string `json:"attribute,omitempty"`
	// Resource is the tool's resource whose completion the output reports: the driver writes
	// true when the tool has applied it successfully.
	Resource string `json:"resource,omitempty"`
	// Publish is "end" if the last value is published when the role has succeeded; "" if the
	// first is published at once and any other rejected.
	Publish string   `json:"publish,omitempty"`
	Secret  bool     `json:"secret,omitempty"`
	At      Position `json:"at"`
	// Heat is set if the stack needs the value: the agent sends it with its signal.
	Heat bool `json:"heat,omitempty"`
}

// AtEnd is the Output.Publish of an output that is published when its role has ended.
const AtEnd = "end"

// Cell is the place of a value in the coordinator.
type Cell struct {
	Name   CellName   `json:"name"`
	Server ServerPath `json:"server"` // its writer
	Role   string     `json:"role,omitempty"`
	// Readers are derived, sorted. The writer is not among them.
	Readers []ServerPath `json:"-"`
	// Sealed is set if the coordinator stores the value sealed (docs/secrets.md).
	Sealed bool `json:"sealed,omitempty"`
}

// StackOutput is an output of the stack that needs a run-time value.
type StackOutput struct {
	Name string              `json:"name"`
	Expr json.RawMessage     `json:"expr"`
	At   map[string]Position `json:"at"`
	// Deploy are the parts that only Heat knows, by key.
	Deploy map[string]DeployValue `json:"deploy,omitempty"`
}

// File is a file stored beside the plan as files/DIGEST.
type File struct {
	Digest string `json:"digest"` // sha256, 64 hex digits
	Size   int64  `json:"size"`   // bytes
	Name   string `json:"name"`   // its origin, for messages
}

// Fact names a property of a server that its agent can publish.
type Fact string

// The facts of every server.
const (
	FactID           Fact = "id"            // Nova's instance id, as get_resource gives it
	FactName         Fact = "name"          // the server's name in Nova
	FactFirstAddress Fact = "first_address" // the address of the one network
)

// addressFact names an address on one of a server's networks, both counted from 0.
const addressFact = "address.%d.%d"

// AddressFact names the fact of an address on one of a server's networks.
func AddressFact(network, number int) Fact { return Fact(fmt.Sprintf(addressFact, network, number)) }

// ParseAddressFact parses the name of such a fact.
func ParseAddressFact(name Fact) (network, number int, ok bool) {
	n, err := fmt.Sscanf(string(name), addressFact, &network, &number)
	return network, number, err == nil && n == 2 && network >= 0 && number >= 0 && AddressFact(network, number) == name
}

// DefaultIfDown is how many seconds a reader keeps waiting for a lost producer.
const DefaultIfDown = 300

// EachRole iterates over all roles, with their servers, in plan order.
func (p *Plan) EachRole() iter.Seq2[*Server, *Role] {
	return func(yield func(*Server, *Role) bool) {
		for i := range p.Servers {
			for k := range p.Servers[i].Roles {
				if !yield(&p.Servers[i], &p.Servers[i].Roles[k]) {
					return
				}
			}
		}
	}
}
