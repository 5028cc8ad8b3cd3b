// Package program is the form that every front-end lowers a template into:
// servers with their roles, the cells that roles write, and the expressions that
// they read. What kind of text it came from is no longer visible, but every part
// keeps its place there.
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
	// Servers are those with roles, in all stacks, in the order of the text.
	Servers []*Server

	byPath map[contract.ServerPath]*Server
}

// New makes a program of a root template without any servers yet.
func New(t *hot.Template, given *Supplied) *Program {
	return &Program{Template: t, Supplied: given, Root: NewStack("", t, given, nil), byPath: map[contract.ServerPath]*Server{}}
}

// AddServer adds a server of a stack, or returns the one of that resource.
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

// Stacks are all stacks, the root first, in the order of the text.
func (p *Program) Stacks() []*Stack {
	var all []*Stack
	p.Root.Walk(func(s *Stack) { all = append(all, s) })
	return all
}

// Roles visits all roles of all servers, in the order of the text.
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
	// Stack is the one in which the server's expressions are evaluated: a group's
	// server is described by the stack around the group.
	Stack         *Stack
	Resource      *hot.Resource
	StackResource *StackResource // the group whose member it is; nil for most
	Member        *Member
	Roles         []*Role
	// Unread says that the roles could not be read: what they declare is not known.
	Unread bool

	attributes map[string]*Output
	roles      map[string]*Role
}

// At is where the server's resource begins.
func (s *Server) At() source.Place { return s.Template.Place(s.Resource.Entry.Key) }

// Output finds a role's output by the attribute that references use.
func (s *Server) Output(attribute string) *Output { return s.attributes[attribute] }

// Attributes are the names that references to the server's outputs may use.
func (s *Server) Attributes() []string {
	return lists.Flat(s.Roles, func(r *Role) []string { return lists.Map(r.Outputs, func(o *Output) string { return o.Attribute }) })
}

// Declare makes an output known as an attribute of the server. It returns the
// one that has the name already, if there is one.
func (s *Server) Declare(o *Output) (taken *Output) {
	if other := s.attributes[o.Attribute]; other != nil {
		return other
	}
	s.attributes[o.Attribute] = o
	return nil
}

// Role finds a role of the server.
func (s *Server) Role(name string) *Role { return s.roles[name] }

// Add adds a role to the server, after the others.
func (s *Server) Add(r *Role) {
	s.Roles, s.roles[r.Name] = append(s.Roles, r), r
}

// Role is one run of a tool on a server.
type Role struct {
	Server     *Server
	Name       string
	At         source.Place
	Driver     string
	Meaning    *Meaning
	Inputs     []*Input // in the order of the text
	Outputs    []*Output
	DependsOn  []Dependency
	Files      []*RoleFile // in the order of the text
	Timeout    float64     // seconds; 0 is never
	Idempotent bool
	// Install is how the tool gets onto the server. The zero value leaves it to the driver.
	Install contract.Install
	// Actions run when an operator asks, Hooks at turns of the stack's life; in the
	// order of the text. Hooks are named create, update, suspend, resume, delete.
	Actions []*Task
	Hooks   []*Task
}

// Update is the hook that brings the role to what has changed; nil is none.
func (r *Role) Update() *Task {
	return lists.Find(r.Hooks, func(t *Task) bool { return t.Name == "update" })
}

// Apart are the tasks that are not part of the role's own run.
func (r *Role) Apart() []*Task {
	return slices.Concat(r.Actions, lists.Only(r.Hooks, func(t *Task) bool { return t.Name != "create" }))
}

// Task is a run of the role's tool beside the role's own. It reads the role's
// inputs. But for the hooks create, which is a part of the role, and update it writes no output.
type Task struct {
	Name    string
	At      source.Place
	Meaning *Meaning
}

// RoleFile is a file that the agent renders before the role runs.
type RoleFile struct {
	Path         string // on the server; a relative one begins at the folder that the role runs in
	At           source.Place
	Template     File
	Owner, Group string // "" is who the agent runs as
	Mode         string // octal digits; "" leaves it to what the template reads
	// Steps are its reads, in their order.
	Steps []Step
}

// Walk visits all steps, those within forks included.
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

// Meaning is what a driver found a role's source to mean.
type Meaning struct {
	// Source is what the driver's other half gets on the server. It names files by
	// digest.
	Source value.Value
	Files  []File
	// Sequence is the order of its reads and writes; nil where that is not known.
	Sequence *Sequence
	// Unchecked is why the driver, which looks for inputs that the source never reads and
	// outputs that it never writes, cannot tell; "" where it can, or does not look.
	Unchecked string
	// Finish gives the source and the files as they travel, once it is known which
	// inputs come while the role runs; nil where they travel as they are.
	Finish func(late []string) (source value.Value, files []File)
	// Environment are the inputs that the source reads from its environment, where they
	// have to be when it starts.
	Environment map[string]EnvironmentRead
}

// EnvironmentRead is where a source reads an input from its environment. Perhaps says that
// the name of what it reads there is computed or, where Unknown names an interpreter, that
// it stands in a text of a language that hotc does not know.
type EnvironmentRead struct {
	At      source.Place
	Perhaps bool
	Unknown string
}

// File is a file that travels with the plan.
type File struct {
	Name   string // where it came from
	Digest string // sha256, hex
	Data   []byte
}

// Dependency is a role's wish to run after another one.
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
	Type       contract.Type // "" is whatever the expression gives
	Default    value.Value
	HasDefault bool
	Optional   bool
	Timeout    float64 // seconds; 0 is never
	IfDown     float64 // seconds; 0 is the default
	Eager      bool
	EagerSaid  bool          // the user did, either way
	EagerAt    source.Place  // where the role's source reads it from its environment, if it is eager for that
	Bind       contract.Time // "", "deploy" or "run"
	// WatchAt is where the input says that its role follows the value; not known if it does not.
	WatchAt source.Place
	// AtLeast is how many members of a group must be in it for the role's first run; 0 is all.
	// AtLeastAt is where the input says so.
	AtLeast   int
	AtLeastAt source.Place
}

// Output is a value that a role writes, or with Value one that is known before.
type Output struct {
	Role      *Role
	Name      string
	Attribute string
	Type      contract.Type // "" is whatever the tool gives
	Secret    bool
	Value     *hot.Expr
	// Resource is the tool's resource whose completion the output is; "" for most.
	Resource string
	AtEnd    bool // it is published when the role has ended
	At       source.Place
}

// Cell is the name of the output's cell: SERVER.ROLE:OUTPUT.
func (o *Output) Cell() contract.CellName { return o.Role.Key().Output(o.Name) }
