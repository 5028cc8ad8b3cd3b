// Package program is the intermediate form that every front-end lowers a template
// into: servers with their roles, the cells that roles write, and the expressions that
// they read. It is independent of the kind of source, but every part keeps its
// position there.
package program

import (
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Program is a deployment as its template describes it.
type Program struct {
	Template *hot.Template // of the root
	Supplied *Supplied     // of the root
	Root     *Stack
	// Types are the resource types of the cloud; nil for those of Debian's Heat.
	Types *resourcetype.Catalogue
	// Servers are those with roles, in all stacks, in source order.
	Servers []*Server

	frontEnds []*FrontEnd
	byPath    map[contract.ServerPath]*Server
}

// New makes a program of a root template, without servers yet.
func New(t *hot.Template, supplied *Supplied, frontEnds ...*FrontEnd) *Program {
	p := &Program{Template: t, Supplied: supplied, frontEnds: frontEnds, byPath: map[contract.ServerPath]*Server{}}
	p.Root = NewStack("", t, supplied, nil)
	p.Root.program = p
	return p
}

// AddServer adds a server of a stack, or returns the resource's existing one.
func (p *Program) AddServer(in *Stack, r *hot.Resource) *Server {
	if s := in.byResource[r.Name]; s != nil {
		return s
	}
	s := p.add(in, r, in.PathOf(r.Name))
	in.byResource[r.Name] = s
	return s
}

// AddMember adds a server that is the member of a group.
func (p *Program) AddMember(n *StackResource, m *Member) *Server {
	m.Server = p.add(n.In, n.definition, n.Path(m))
	m.Server.Member, m.Server.StackResource = m, n
	return m.Server
}

func (p *Program) add(in *Stack, r *hot.Resource, path contract.ServerPath) *Server {
	s := &Server{Path: path, Template: in.Template, Stack: in, Resource: r, attributes: map[string]*Output{}, roles: map[string]*Role{}}
	p.Servers = append(p.Servers, s)
	p.byPath[path] = s
	return s
}

// Server finds a server by its path: in the root, the name of its resource.
func (p *Program) Server(path contract.ServerPath) *Server { return p.byPath[path] }

// Stacks are all stacks, the root first, in source order.
func (p *Program) Stacks() []*Stack {
	var all []*Stack
	p.Root.Walk(func(s *Stack) { all = append(all, s) })
	return all
}

// Roles visits all roles of all servers, in source order.
func (p *Program) Roles(yield func(*Role) bool) {
	for _, s := range p.Servers {
		for _, r := range s.Roles {
			if !yield(r) {
				return
			}
		}
	}
}

// Server is a server with roles.
type Server struct {
	Path     contract.ServerPath
	Template *hot.Template
	// Stack is the one in which the server's expressions are evaluated: for a group's
	// server, that of the group.
	Stack         *Stack
	Resource      *hot.Resource
	StackResource *StackResource // the group whose member it is; nil for most
	Member        *Member
	Roles         []*Role
	// Unread says that the roles have errors: what they declare is not known.
	Unread bool

	attributes map[string]*Output
	roles      map[string]*Role
}

// At is the position of the server's resource.
func (s *Server) At() source.Place { return s.Template.Place(s.Resource.Entry.Key) }

// Output finds a role's output by the attribute that references use.
func (s *Server) Output(attribute string) *Output { return s.attributes[attribute] }

// Attributes are the names that references to the server's outputs may use.
func (s *Server) Attributes() []string {
	return lists.Flat(s.Roles, func(r *Role) []string { return lists.Map(r.Outputs, func(o *Output) string { return o.Attribute }) })
}

// Declare declares an output as an attribute of the server. It returns the output that
// already has the name, if any.
func (s *Server) Declare(o *Output) (taken *Output) {
	if other := s.attributes[o.Attribute]; other != nil {
		return other
	}
	s.attributes[o.Attribute] = o
	return nil
}

// Role finds a role of the server.
func (s *Server) Role(name string) *Role { return s.roles[name] }

// Add adds a role to the server, after the others. Its front-end has to see that the name is free.
func (s *Server) Add(r *Role) {
	if r.Stack == nil {
		r.Stack = s.Stack
	}
	s.Roles, s.roles[r.Name] = append(s.Roles, r), r
}

// Role is one run of a tool on a server.
type Role struct {
	Server *Server
	// Stack is the one in which its expressions are evaluated: the server's, if its front-end does not
	// say another one.
	Stack      *Stack
	Name       string
	At         source.Place
	Driver     string
	Meaning    *Meaning
	Inputs     []*Input // in source order
	Outputs    []*Output
	DependsOn  []Dependency
	Files      []*RoleFile // in source order
	Timeout    float64     // seconds; 0 is never
	Idempotent bool
	// Install is how the tool is installed. The zero value leaves it to the driver.
	Install contract.Install
	// Actions run on an operator's request, Hooks at events of the stack's life cycle; in
	// source order. Hooks are named create, update, suspend, resume, delete.
	Actions []*Task
	Hooks   []*Task
}

// Update is the hook that applies changes to the role; nil if there is none.
func (r *Role) Update() *Task {
	return lists.Find(r.Hooks, func(t *Task) bool { return t.Name == "update" })
}

// Apart are the tasks outside of the role's own run.
func (r *Role) Apart() []*Task {
	return slices.Concat(r.Actions, lists.Only(r.Hooks, func(t *Task) bool { return t.Name != "create" }))
}

// Task is a run of the role's tool besides the role's own. It reads the role's inputs. Only
// the hooks create, which is part of the role, and update write outputs.
type Task struct {
	Name    string
	At      source.Place
	Meaning *Meaning
}

// RoleFile is a file that the agent renders before the role runs.
type RoleFile struct {
	Path         string // on the server; a relative one is relative to the role's working directory
	At           source.Place
	Template     File
	Owner, Group string // "" is the agent's user or group
	Mode         string // octal digits; "" depends on what the template reads
	// Steps are its reads, in order.
	Steps []Step
}

// Walk visits all steps, including those within forks.
func (f *RoleFile) Walk(visit func(*Step)) { walkSteps(f.Steps, visit) }

// Reads are the names of the inputs that the template may read.
func (f *RoleFile) Reads(r *Role) map[string]bool {
	found := map[string]bool{}
	f.Walk(func(s *Step) {
		switch s.Op {
		case ReadInput:
			found[s.Name] = true
		case ReadAny:
			for _, in := range r.Inputs {
				found[in.Name] = true
			}
		case WriteOutput, Fork, AnyOrder:
		}
	})
	return found
}

// Key is SERVER.ROLE.
func (r *Role) Key() contract.RoleKey { return r.Server.Path.Role(r.Name) }

// Meaning is the driver's analysis of a role's source.
type Meaning struct {
	// Source is what the driver's other half gets on the server. It refers to files by
	// digest.
	Source value.Value
	Files  []File
	// Sequence is the order of its reads and writes; nil if unknown.
	Sequence *Sequence
	// Unchecked is why a driver that checks for inputs never read and outputs never
	// written cannot decide; "" if it can, or does not check.
	Unchecked string
	// Finish returns the final source and files, once it is known which inputs arrive while
	// the role runs; nil if they do not depend on that.
	Finish func(late []string) (source value.Value, files []File)
	// Environment are the inputs that must be in the source's environment when it starts, as it
	// reads them there or may.
	Environment map[string]EnvironmentRead
	// Unread are inputs that a source without a sequence certainly never reads. The value is
	// what may have been meant instead, or "".
	Unread map[string]string
}

// EnvironmentRead is how a source reads an input from its environment, and where.
type EnvironmentRead struct {
	At  source.Place
	How HowRead
}

// HowRead is what is known about a read of the environment.
type HowRead uint8

// How a source reads a variable of its environment.
const (
	ReadByName  HowRead = iota
	PerhapsRead         // it contains the name, or uses the environment, in a way that is not understood
	NotRead             // it contains neither, but programs that it starts may read it
)

// File is a file shipped with the plan.
type File struct {
	Name   string // its origin
	Digest string // sha256, hex
	Data   []byte
}

// Dependency makes a role run after another one.
type Dependency struct {
	At   source.Place
	Role *Role
}

// Input is a value that a role reads.
type Input struct {
	Role       *Role
	Name       string
	At         source.Place // of its name
	Expr       *hot.Expr
	Type       contract.Type // "" is any type
	Default    value.Value
	HasDefault bool
	Optional   bool
	Timeout    float64 // seconds; 0 is never
	IfDown     float64 // seconds; 0 is the default
	Eager      bool
	EagerSaid  bool          // the user set it, either way
	EagerAt    source.Place  // where the role's source reads it from its environment, if that makes it eager
	Bind       contract.Time // "", "deploy" or "run"
	// WatchAt is where the input sets `watch: true`; unknown if it does not.
	WatchAt source.Place
	// AtLeast is how many members of a group must be in it for the role's first run; 0 is all.
	// AtLeastAt is where the input sets it.
	AtLeast   int
	AtLeastAt source.Place
}

// Output is a value that a role writes or, with Value, one that is known before.
type Output struct {
	Role      *Role
	Name      string
	Attribute string
	Type      contract.Type // "" is any type
	Secret    bool
	Value     *hot.Expr
	// Resource is the tool's resource whose completion the output is; "" for most.
	Resource string
	AtEnd    bool // it is published when the role ends
	At       source.Place
}

// Cell is the name of the output's cell: SERVER.ROLE:OUTPUT.
func (o *Output) Cell() contract.CellName { return o.Role.Key().Output(o.Name) }
