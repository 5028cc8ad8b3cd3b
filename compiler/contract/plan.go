// Package contract holds the contract between the compiler and the agents: the
// coordination plan (plan.json) and the boot file of a server.
//
// A plan is a value: the compiler builds it, `hotc apply` publishes it, an agent
// reads its own server's part of it, and nobody changes it on the way. It knows
// nothing of Heat's templates but residual expressions, which it carries as
// opaque JSON together with the positions that they came from.
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
// those of the nested stacks it lives in ("db", "tier/2/db").
type ServerPath string

// Role names a role of the server.
func (s ServerPath) Role(name string) RoleKey { return RoleKey(string(s) + "." + name) }

// Fact names the cell of a fact that the server's agent publishes.
func (s ServerPath) Fact(fact Fact) CellName { return CellName(string(s) + ":" + string(fact)) }

// RoleKey names a role in a deployment: SERVER.ROLE, split at the last dot.
type RoleKey string

// Completion names the cell of the role's completion.
func (k RoleKey) Completion() CellName { return CellName(k) }

// Output names the cell of one of the role's outputs.
func (k RoleKey) Output(name string) CellName { return CellName(string(k) + ":" + name) }

// CellName names a cell in a deployment. SERVER.ROLE:OUTPUT is a role's output,
// SERVER.ROLE the role's completion, SERVER:FACT a fact its agent publishes,
// Operator:PARAMETER a parameter that `hotc apply` gives.
type CellName string

// Position is a place in the user's text as people read it: FILE:LINE:COLUMN,
// the column counted in characters from 1.
type Position string

// PublicKey is the half of a key that everybody may know, in base64.
type PublicKey string

// Time says when a value is known (DESIGN, "Binding times").
type Time string

// The binding times, from early to late.
const (
	Static Time = "static" // known to the compiler
	Deploy Time = "deploy" // known to Heat when it creates the stack
	Run    Time = "run"    // known to an agent while roles run
)

// Type is the declared type of a role's input or output.
type Type string

// The types of values. JSON is any value at all.
const (
	String  Type = "string"
	Number  Type = "number"
	Boolean Type = "boolean"
	List    Type = "list"
	JSON    Type = "json"
)

// Scalar says that a value of the type has no parts.
func (t Type) Scalar() bool { return t == String || t == Number || t == Boolean }

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
	// Secrets are the parameters that `hotc apply` gives, and Heat does not have.
	Secrets []Secret `json:"secrets,omitempty"`
	Files   []File   `json:"files"`
}

// Undecided is how many servers Heat may create or not.
func (p *Plan) Undecided() int {
	return len(lists.Only(p.Servers, func(s Server) bool { return len(s.If) > 0 }))
}

// Signalling says who tells Heat how roles went.
type Signalling string

// Who tells Heat.
const (
	AgentsSignal  Signalling = "heat"  // each server's agent, by wait conditions
	RelaySignals  Signalling = "relay" // `hotc relay`, by software deployments (docs/relay.md)
	NobodySignals Signalling = "none"
)

// Secret is a parameter whose value `hotc apply` puts into a sealed cell.
type Secret struct {
	Name string   `json:"name"`
	Cell CellName `json:"cell"`
	At   Position `json:"at"`
	// Declaration is a template with the parameter alone: its type and constraints.
	Declaration json.RawMessage `json:"declaration"`
	Readers     []ServerPath    `json:"readers"`
}

// Operator stands in a server's place where the operator's command writes a cell. No
// server has this path.
const Operator ServerPath = "/operator"

// SecretCell names the cell of a parameter that `hotc apply` gives.
func SecretCell(parameter string) CellName { return CellName(string(Operator) + ":" + parameter) }

// Ref is the secret's cell, as its readers know it.
func (s *Secret) Ref() CellRef { return CellRef{Cell: s.Cell, Server: Operator, Sealed: true} }

// Server is one server's part of the plan; its agent gets this and no other.
type Server struct {
	Path ServerPath `json:"path"`
	At   Position   `json:"at"`
	// Change is the counter of the change that wrote it, where an agent has read it.
	Change int64 `json:"-"`
	// Slot is the place in a group whose members have names that Heat makes up; nil for
	// all other servers.
	Slot *Slot `json:"slot,omitempty"`
	// If is what Heat decides of whether the server is there: all of it must be so.
	If []Presence `json:"if,omitempty"`
	// Decides are the decisions that the server's agent can tell, as residual expressions
	// of deploy-time values, by their keys.
	Decides map[string]json.RawMessage `json:"decides,omitempty"`
	// Facts are the names of the facts that somebody reads: see the Fact constants.
	Facts []Fact `json:"facts,omitempty"`
	// Deploy are the values that Heat puts into the boot file, by key. A key is
	// derived from the expression, so that user-data of an older plan can lack a
	// value but never hold a wrong one.
	Deploy map[string]DeployValue `json:"deploy,omitempty"`
	// Reads are the cells that the server may read, each with the server that writes it.
	Reads []CellRef `json:"reads,omitempty"`
	// Writes are the server's own cells.
	Writes []CellName `json:"writes,omitempty"`
	// Seals are those of them that are sealed, each for its readers.
	Seals []Sealing `json:"seals,omitempty"`
	// Keys are the keys by which servers sign: those that it reads from or seals for, and
	// its own. `hotc apply` adds them; plan.json has none.
	Keys map[ServerPath]PublicKey `json:"keys,omitempty"`
	// Relayed says that Heat does not wait for what the server's agent may tell it: a relay tells
	// it, or nobody. `hotc apply` adds it, too.
	Relayed bool   `json:"relayed,omitempty"`
	Roles   []Role `json:"roles"`
}

// Slot is a place in a group that scales: which of its members has it is known when the
// member's agent has taken it.
type Slot struct {
	Group  string `json:"group"`  // the group's path
	Number int    `json:"number"` // from 0
	// Shared is the path that the server has in the boot files of all members, with a
	// star for the number.
	Shared ServerPath `json:"shared"`
}

// Presence is a decision of Heat's that a server is there by.
type Presence struct {
	Decision string `json:"decision"` // its key
	// Least is how many members a group must have; 0 where the decision is true or false.
	Least int `json:"least,omitempty"`
	// Why is why the server is not there, if it is not.
	Why string   `json:"why"`
	At  Position `json:"at"`
}

// CellRef is a cell and the server that writes it, which is where it lies.
type CellRef struct {
	Cell   CellName   `json:"cell"`
	Server ServerPath `json:"server"`
	// Sealed says that its value is sealed to the readers.
	Sealed bool `json:"sealed,omitempty"`
}

// Sealing is a cell whose value only its readers, and its writer, can open.
type Sealing struct {
	Cell    CellName     `json:"cell"`
	Readers []ServerPath `json:"readers,omitempty"`
}

// DeployValue is an expression that Heat resolves for a server.
type DeployValue struct {
	Expr json.RawMessage `json:"expr"`
	At   Position        `json:"at"`
	// Carried says that a relay tells the server of another value (docs/relay.md).
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
	// Timeout ends the role after so many seconds; 0 is never.
	Timeout    float64  `json:"timeout,omitempty"`
	Idempotent bool     `json:"idempotent,omitempty"`
	Files      []string `json:"files,omitempty"` // digests of the files it needs
	// Render are the files that the agent makes before the tool is started.
	Render []RenderedFile `json:"render,omitempty"`
	// Install says how the driver's tool gets onto the server; nil leaves it to the
	// driver.
	Install *Install `json:"install,omitempty"`
	// Actions run when an operator asks, Hooks around what becomes of the stack: the
	// names of those are the Hook constants.
	Actions []Task `json:"actions,omitempty"`
	Hooks   []Task `json:"hooks,omitempty"`
	// Signals are what Heat is told as soon as the role is done: resources wait for it.
	Signals []Signal `json:"signals,omitempty"`
	// Follows are the cells that decide whether the role is up to date (docs/updates.md),
	// Carries the sources that the stamps of its outputs name.
	Follows []Follow `json:"follows,omitempty"`
	Carries []Source `json:"carries,omitempty"`
}

// Follow is a cell that a role reads and that counts when the role is brought up to date.
type Follow struct {
	Cell CellName `json:"cell"`
	// Watch says that the role runs for a newer version of it.
	Watch bool `json:"watch,omitempty"`
	// Optional says that the role does without it if it has failed.
	Optional bool `json:"optional,omitempty"`
	// Sources are those of the cell's sources from which another of the cells comes, too.
	Sources []Source `json:"sources,omitempty"`
	// Member says of which member of a group the cell is, where the role follows who is in
	// the group; nil elsewhere.
	Member *Member `json:"member,omitempty"`
	// Perhaps says of which server the cell is, where Heat decides whether that is there; nil
	// elsewhere.
	Perhaps *Perhaps `json:"perhaps,omitempty"`
}

// Perhaps is a server that is there if Heat gives true in all of some cells (HeatCell).
type Perhaps struct {
	Server ServerPath `json:"server"`
	If     []CellName `json:"if"`
}

// Machine says of which server's machine the cell is, in which group, where machines come and go
// by what Heat decides; nil elsewhere. A server behind a condition is a group of its own.
func (f *Follow) Machine() *Member {
	if f.Perhaps != nil {
		return &Member{Group: string(f.Perhaps.Server), Server: f.Perhaps.Server}
	}
	return f.Member
}

// Source is what changes by itself, and other values with it: a role, by its key, a fact,
// by its cell, or Heat.
type Source string

// Updating is what brings the role to what has changed: its hook update or, if it may be run
// again, its own source. Nil is that nothing does.
func (r *Role) Updating() *Task {
	if hook := FindTask(r.Hooks, HookUpdate); hook != nil {
		return hook
	}
	if r.Idempotent {
		return &Task{Name: HookUpdate, At: r.At, Source: r.Source, Files: r.Files}
	}
	return nil
}

// RenderedFile is a file that is made from a template (docs/files.md).
type RenderedFile struct {
	Path     string   `json:"path"` // a relative one begins at the folder that the role runs in
	At       Position `json:"at"`
	Template string   `json:"template"` // digest
	Name     string   `json:"name"`     // of the template, for messages
	Owner    string   `json:"owner,omitempty"`
	Group    string   `json:"group,omitempty"`
	Mode     string   `json:"mode"` // octal digits
}

// Install is how a tool gets onto a server.
type Install struct {
	// Version is one that fits if the tool's begins with the same parts ("7.23" fits
	// 7.23.0), or after ">=" the lowest one; "" is any.
	Version string `json:"version,omitempty"`
	// From is "packages", "url", "gem" or "none"; "" is the driver's own choice.
	From    string `json:"from,omitempty"`
	URL     string `json:"url,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // hex
	Proxy   string `json:"proxy,omitempty"`  // URL
	Licence string `json:"licence,omitempty"`
}

// Task is a run of the role's tool beside the role's own.
type Task struct {
	Name   string          `json:"name"`
	At     Position        `json:"at"`
	Source json.RawMessage `json:"source"`
	Files  []string        `json:"files,omitempty"`
}

// AllFiles are the digests of the files that the role and its tasks need.
func (r *Role) AllFiles() []string {
	return slices.Concat(r.Files, lists.Map(r.Render, func(f RenderedFile) string { return f.Template }),
		lists.Flat(slices.Concat(r.Actions, r.Hooks), func(t Task) []string { return t.Files }))
}

// FindTask finds a task by its name; nil is none.
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
	HookUpdate  = "update"  // after the plan of a role that has run was changed
	HookSuspend = "suspend" // before the stack is suspended
	HookResume  = "resume"  // after it was resumed
	HookDelete  = "delete"  // before it is deleted
)

// Signal is a wait condition that a role signals when it is done, or has failed.
type Signal struct {
	// Handle is the name of the condition's handle, and the key of its credentials in
	// the boot file.
	// With a relay it is the resource that waits (HeatWaitAbout.Wait).
	Handle string `json:"handle"`
	// ID tells the servers apart that signal one condition.
	ID string `json:"id"`
	// Outputs are the role's outputs, by name, whose values Heat gets.
	Outputs []string `json:"outputs,omitempty"`
}

// Dependency is a read of another role's completion.
type Dependency struct {
	Cell CellName `json:"cell"`
	At   Position `json:"at"`
	// If is a residual expression: where it is false the role is not there, and nothing is
	// waited for. Nil is true.
	If json.RawMessage `json:"if,omitempty"`
}

// Input is a value that a role reads.
type Input struct {
	Name string `json:"name"`
	Time Time   `json:"time"`
	// Expr is the residual expression (docs/plan.md, "Residual expressions").
	Expr json.RawMessage `json:"expr"`
	// At gives the position of parts of Expr by JSON pointer; "" is the whole.
	At map[string]Position `json:"at"`
	// Reads are the cells that Expr may read, in the order of the text.
	Reads []CellName `json:"reads,omitempty"`
	// Parameters are those whose values the compiler has put into Expr, each with a digest of its
	// value: they say what is behind a change.
	Parameters map[string]string `json:"parameters,omitempty"`
	// Default is used when the producer has definitely not delivered.
	Default  json.RawMessage `json:"default,omitempty"`
	Optional bool            `json:"optional,omitempty"`
	// Timeout ends the wait after so many seconds; 0 is never.
	Timeout float64 `json:"timeout,omitempty"`
	// IfDown is how many seconds to wait on for a producer whose agent is gone.
	IfDown float64 `json:"if_down,omitempty"`
	Eager  bool    `json:"eager,omitempty"`
	Watch  bool    `json:"watch,omitempty"`
	// AtLeast is how many members of a group must be in it for the role's first run; 0 is all
	// that Heat was told to make.
	AtLeast int `json:"at_least,omitempty"`
	// Secret says that the value has a secret part: it is not put into an
	// environment unless the input is Eager.
	Secret bool `json:"secret,omitempty"`
	Type   Type `json:"type,omitempty"`
}

// Output is a value that a role writes.
type Output struct {
	Name string   `json:"name"` // in the tool's own terms
	Cell CellName `json:"cell"`
	Type Type     `json:"type"`
	// Attribute is the name that references use, where it is not Name.
	Attribute string `json:"attribute,omitempty"`
	// Resource is the tool's resource whose completion the output is: the driver
	// writes true when the tool has applied it successfully.
	Resource string `json:"resource,omitempty"`
	// Publish is "end" for an output whose last value is published when the role has ended
	// well; "" publishes the first one at once, and refuses another.
	Publish string   `json:"publish,omitempty"`
	Secret  bool     `json:"secret,omitempty"`
	At      Position `json:"at"`
	// Heat says that the stack needs the value: the agent sends it with its signal.
	Heat bool `json:"heat,omitempty"`
}

// AtEnd is Output.Publish of one that is published when its role has ended.
const AtEnd = "end"

// Cell is one value's place in the coordinator.
type Cell struct {
	Name    CellName     `json:"name"`
	Server  ServerPath   `json:"server"` // who writes it
	Role    string       `json:"role,omitempty"`
	Readers []ServerPath `json:"readers,omitempty"`
	// Sealed says that the coordinator holds the value sealed (docs/secrets.md).
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

// File is a file that lies beside the plan as files/DIGEST.
type File struct {
	Digest string `json:"digest"` // sha256, 64 hex digits
	Size   int64  `json:"size"`   // bytes
	Name   string `json:"name"`   // where it came from, for people
}

// Fact names what an agent can publish about its server.
type Fact string

// The facts of every server.
const (
	FactID           Fact = "id"            // Nova's instance id, as get_resource gives it
	FactName         Fact = "name"          // the server's name in Nova
	FactFirstAddress Fact = "first_address" // the address of the one network
)

// addressFact is the name of an address on one of a server's networks, both counted from 0.
const addressFact = "address.%d.%d"

// AddressFact is the name of the fact that is an address on one of a server's networks.
func AddressFact(network, number int) Fact { return Fact(fmt.Sprintf(addressFact, network, number)) }

// ParseAddressFact reads the name of such a fact.
func ParseAddressFact(name Fact) (network, number int, ok bool) {
	n, err := fmt.Sscanf(string(name), addressFact, &network, &number)
	return network, number, err == nil && n == 2 && network >= 0 && number >= 0 && AddressFact(network, number) == name
}

// DefaultIfDown is how many seconds a reader waits on for a lost producer.
const DefaultIfDown = 300

// EachRole are all roles, each with its server, in the order of the plan.
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
