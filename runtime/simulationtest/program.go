package simulationtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Program is a deployment: a plan, and what its roles do.
type Program struct {
	Plan  contract.Plan
	Roles map[contract.RoleKey]*Role
	// Follow says that roles follow what they read, and record what their values are computed from.
	Follow bool
	// Slow says that hooks take up to a minute.
	Slow bool
	// OneByOne says that a change of the plan comes at rest, with nothing in its way.
	OneByOne bool
	// Joining are members that come and go; nil is none.
	Joining *Joining
}

// Role is what a role does, whatever its tool.
type Role struct {
	Steps []Step
	// Exit is the exit status of the tool, when it finishes.
	Exit int
	// Stubborn goes on after a read or write that failed.
	Stubborn bool
}

// Op is what a step does.
type Op string

// The steps.
const (
	Read  Op = "read"  // of the input Name
	Both  Op = "both"  // of the inputs Name and Other, at the same time
	Write Op = "write" // of the output Name
	Other Op = "other" // a second value for the output Name: a mistake
	Work  Op = "work"  // for a while
	Hang  Op = "hang"  // for ever, until it is ended
)

// Step is a step of a role.
type Step struct {
	Op          Op
	Name, Other string
	For         time.Duration
	// Eager is a read that precedes the start of the tool.
	Eager bool
}

func (s Step) String() string {
	switch s.Op {
	case Work:
		return fmt.Sprintf("work %v", s.For)
	case Both:
		return fmt.Sprintf("both %s %s", s.Name, s.Other)
	case Hang:
		return "hang"
	}
	if s.Eager {
		return fmt.Sprintf("eager %s %s", s.Op, s.Name)
	}
	return fmt.Sprintf("%s %s", s.Op, s.Name)
}

// Options are what a generated program may contain.
type Options struct {
	// Timed allows what ends by the clock: timeouts of inputs and roles.
	Timed bool
	// Straight leaves out what no order of reads and writes can express: simultaneous reads, and
	// tools that continue after an error.
	Straight bool
}

// generator generates a program.
type generator struct {
	*rand.Rand
	Options
	program *Program
	// cells are all cells that a role may read, in the order in which they are written when the
	// servers run one after the other.
	cells []contract.CellRef
}

// Generate generates a random program.
func Generate(r *rand.Rand, o Options) *Program {
	g := &generator{Rand: r, Options: o, program: &Program{Roles: map[contract.RoleKey]*Role{},
		Plan: contract.Plan{Format: contract.Format, Compiler: "simulation", Template: "site.yaml", Signal: "none",
			Outputs: []contract.StackOutput{}, Files: []contract.File{}}}}
	for i := range 1 + g.IntN(5) {
		g.server(contract.ServerPath([]string{"a", "b", "c", "tier/0/d", "e"}[i]))
	}
	g.connect()
	g.finish()
	return g.program
}

func (g *generator) perhaps(p float64) bool { return g.Float64() < p }

// server adds a server with its outputs; its reads are decided when all exist.
func (g *generator) server(path contract.ServerPath) {
	s := contract.Server{Path: path, At: "site.yaml:1:1", Roles: []contract.Role{}}
	if g.perhaps(0.4) {
		s.Facts = []contract.Fact{contract.FactFirstAddress}
		g.own(&s, path.Fact(contract.FactFirstAddress), "")
	}
	for i := range g.IntN(4) {
		r := contract.Role{Name: fmt.Sprintf("r%d", i), At: contract.Position(fmt.Sprintf("site.yaml:%d:1", 10*(i+1))),
			Driver: driverName, Source: json.RawMessage(`{}`), Idempotent: g.perhaps(0.25)}
		for k := range g.IntN(3) {
			cell := contract.CellName(fmt.Sprintf("%s.%s:o%d", path, r.Name, k))
			r.Outputs = append(r.Outputs, contract.Output{Name: fmt.Sprintf("o%d", k), Cell: cell, Type: contract.String, At: r.At})
			g.own(&s, cell, r.Name)
		}
		g.own(&s, path.Role(r.Name).Completion(), r.Name)
		s.Roles = append(s.Roles, r)
	}
	g.program.Plan.Servers = append(g.program.Plan.Servers, s)
}

func (g *generator) own(s *contract.Server, cell contract.CellName, role string) {
	g.program.Plan.Cells = append(g.program.Plan.Cells, contract.Cell{Name: cell, Server: s.Path, Role: role})
	g.cells = append(g.cells, contract.CellRef{Cell: cell, Server: s.Path})
}

// connect adds the roles' reads. In most programs a role reads only what precedes it; in the others
// there may be cycles.
func (g *generator) connect() {
	circles := g.perhaps(0.3)
	before := 0 // among the cells
	for i := range g.program.Plan.Servers {
		s := &g.program.Plan.Servers[i]
		before += len(s.Facts)
		for k := range s.Roles {
			known := g.cells[:before]
			if circles && g.perhaps(0.5) {
				known = g.cells
			}
			g.role(s, &s.Roles[k], known)
			before += len(s.Roles[k].Outputs) + 1
		}
	}
}

func (g *generator) role(s *contract.Server, r *contract.Role, known []contract.CellRef) {
	if own := s.Path.Role(r.Name).Completion(); len(known) > 0 && g.perhaps(0.2) {
		c := known[g.IntN(len(known))]
		if isCompletion(c.Cell) && c.Cell != own {
			r.DependsOn = append(r.DependsOn, contract.Dependency{Cell: c.Cell, At: r.At})
		}
	}
	for n := range g.IntN(4) {
		g.input(s, r, fmt.Sprintf("i%d", n), known)
	}
	behaviour := &Role{Steps: g.steps(r)}
	switch {
	case g.perhaps(0.06):
		behaviour.Exit = 3
	case g.Timed && g.perhaps(0.03):
		behaviour.Steps = append(behaviour.Steps, Step{Op: Hang})
		r.Timeout = 20
	case !g.Straight && g.perhaps(0.1):
		behaviour.Stubborn = true
	}
	g.program.Roles[s.Path.Role(r.Name)] = behaviour
}

// isCompletion reports whether a cell's name is that of no output or fact: SERVER.ROLE.
func isCompletion(c contract.CellName) bool { return !slices.Contains([]byte(c), ':') }

func (g *generator) input(s *contract.Server, r *contract.Role, name string, known []contract.CellRef) {
	var from []contract.CellRef
	for range 1 + g.IntN(8)/7 {
		if len(known) == 0 {
			return
		}
		if c := known[g.IntN(len(known))]; !isCompletion(c.Cell) {
			from = append(from, c)
		}
	}
	if len(from) == 0 {
		return
	}
	in := contract.Input{Name: name, Time: contract.Run, At: map[string]contract.Position{"": r.At}, IfDown: float64(5 + g.IntN(40))}
	for _, c := range from {
		in.Reads = append(in.Reads, c.Cell)
	}
	if len(from) == 1 {
		in.Expr = json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, from[0].Cell))
		switch {
		case g.perhaps(0.1):
			in.Default = json.RawMessage(`"default"`)
		case g.perhaps(0.1):
			in.Optional = true
		}
	} else {
		in.Expr = json.RawMessage(fmt.Sprintf(`[{"$cell":%q},{"$cell":%q}]`, from[0].Cell, from[1].Cell))
	}
	if g.Timed && g.perhaps(0.05) {
		in.Timeout = float64(1 + g.IntN(60))
	}
	r.Inputs = append(r.Inputs, in)
}

// steps reads every input and writes every output, in any order, with work between.
func (g *generator) steps(r *contract.Role) []Step {
	var steps []Step
	for i := 0; i < len(r.Inputs); i++ {
		if !g.Straight && i+1 < len(r.Inputs) && g.perhaps(0.15) {
			steps = append(steps, Step{Op: Both, Name: r.Inputs[i].Name, Other: r.Inputs[i+1].Name})
			i++
			continue
		}
		steps = append(steps, Step{Op: Read, Name: r.Inputs[i].Name})
	}
	for _, o := range r.Outputs {
		if g.perhaps(0.96) {
			steps = append(steps, Step{Op: Write, Name: o.Name})
		}
	}
	g.Shuffle(len(steps), func(i, k int) { steps[i], steps[k] = steps[k], steps[i] })
	for i := range steps {
		if steps[i].Op == Read && g.perhaps(0.1) {
			steps[i].Eager = true
		}
	}
	// Eager steps come first.
	slices.SortStableFunc(steps, func(a, b Step) int {
		switch {
		case a.Eager == b.Eager:
			return 0
		case a.Eager:
			return -1
		}
		return 1
	})
	var out []Step
	for _, step := range steps {
		if !step.Eager && g.perhaps(0.7) {
			out = append(out, Step{Op: Work, For: g.lasting()})
		}
		out = append(out, step)
		switch {
		case step.Op == Write && g.perhaps(0.1):
			out = append(out, step) // the same value again changes nothing
		case step.Op == Write && g.perhaps(0.02):
			out = append(out, Step{Op: Other, Name: step.Name})
		}
	}
	return append(out, Step{Op: Work, For: g.lasting()})
}

// lasting is the duration of a piece of work: mostly short.
func (g *generator) lasting() time.Duration {
	if g.perhaps(0.2) {
		return time.Duration(g.Int64N(int64(20 * time.Second)))
	}
	return time.Duration(g.Int64N(int64(2 * time.Second)))
}

func (g *generator) finish() {
	p := &g.program.Plan
	slices.SortFunc(p.Cells, func(a, b contract.Cell) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	p.Derive()
}

// addSignals makes Heat wait for most programs' servers, and for some of their roles.
func (p *Program) addSignals(r *rand.Rand) {
	g := mishaps{r}
	if !g.perhaps(0.7) {
		return
	}
	p.Plan.Signal = "heat"
	for i := range p.Plan.Servers {
		s := &p.Plan.Servers[i]
		for k := range s.Roles {
			role := &s.Roles[k]
			var outputs []string
			for n := range role.Outputs {
				if role.Outputs[n].Heat = g.perhaps(0.3); role.Outputs[n].Heat {
					outputs = append(outputs, role.Outputs[n].Name)
				}
			}
			if g.perhaps(0.3) {
				role.Signals = []contract.Signal{{Handle: fmt.Sprintf("wait_%d_%s", i, role.Name), ID: string(s.Path), Outputs: outputs}}
			}
		}
	}
}

// server is a server's part of the plan.
func (p *Program) server(path contract.ServerPath) *serverPlan {
	i := slices.IndexFunc(p.Plan.Servers, func(s contract.Server) bool { return s.Path == path })
	return &serverPlan{&p.Plan.Servers[i]}
}

type serverPlan struct{ *contract.Server }

// signaller is the index of the role that signals a handle, and the signal; -1 is none.
func (s *serverPlan) signaller(handle string) (int, contract.Signal) {
	for i, r := range s.Roles {
		for _, to := range r.Signals {
			if to.Handle == handle {
				return i, to
			}
		}
	}
	return -1, contract.Signal{}
}
