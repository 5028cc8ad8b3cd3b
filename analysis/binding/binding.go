// Package binding decides for every reference when its value is known: static,
// deploy or run. This is binding-time analysis as in partial evaluation, and the
// heart of the compiler.
//
// An input's expression is folded with everything that is static; what is left
// refers to values that Heat knows (deploy) and to cells (run). The expression's
// own time is the latest of its parts. Supplying more never makes anything later:
// a fold only ever replaces a reference by a value.
//
// A server's address, name or id in a role's input is a run-time fact that its
// own agent publishes, wherever the agent is certain to know it, so that servers
// boot in parallel and may need each other's addresses. Everywhere else Heat
// supplies the facts.
package binding

import (
	"errors"
	"fmt"
	"iter"

	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Facts selects where role inputs get servers' facts from.
type Facts uint8

// Facts come from agents where possible, or always from Heat.
const (
	FactsAtRun Facts = iota
	FactsFromHeat
)

// Options are the user's choices.
type Options struct {
	Facts Facts
	// AllOutputs binds all outputs of the stack, not only those that need a run-time
	// value: without Heat, nothing else would.
	AllOutputs bool
	// SecretParameters are the root's hidden parameters that `hotc apply` gives to roles.
	SecretParameters []string
}

// Analysis is the result of Analyse.
type Analysis struct {
	Program *program.Program
	Inputs  map[*program.Input]*Bound
	// Cells are what the cells in folded expressions hold.
	Cells map[contract.CellName]Cell
	// Facts are the facts to publish, by server path, in the order of first use.
	Facts map[contract.ServerPath][]contract.Fact
	// FactServers are the servers without roles that publish facts, in template order.
	FactServers []FactServer
	// Outputs are the stack's outputs that need a run-time value.
	Outputs []*StackOutput
	// Gathers are the lists and maps of group members' values that inputs read.
	Gathers []*Gather
	// Reads are the references to roles' outputs outside of roles.
	Reads []*Read
	// Edges are the dependencies between a stack's resources as Heat will see them,
	// including those that deploy-time inputs add, by the path of the resource.
	Edges map[contract.ServerPath][]Edge
	// Waits are the resources that Heat can create only after a role has run, Signals
	// the wait conditions that they wait for.
	Waits   []Wait
	Signals []*Signal
	// PropertyReads are the uses of roles' outputs in resource properties, and
	// Dependencies the roles in resources' depends_on.
	PropertyReads []*PropertyRead
	Dependencies  []*Dependency
	BetweenStacks
	// ExistenceConditions are the decisions of Heat on which a server's existence depends, by its
	// path; Decisions are all of these, and Witnesses the servers that know the outcome.
	ExistenceConditions map[contract.ServerPath][]ExistenceCondition
	Decisions           []*Decision
	Witnesses           map[contract.ServerPath][]Witness
	// IfThere says, for each of a role's DependsOn, whether that role's server exists,
	// as an expression for the role's own server; nil where it certainly does.
	IfThere map[*program.Role][]*hot.Expr
	// Secrets are the parameters that `hotc apply` supplies, in template order.
	Secrets []*hot.Parameter

	// SwitchedOff are references of the stack's outputs to what servers would write that the given
	// parameters switch off: they are null.
	SwitchedOff map[source.Place]bool

	signals map[reference]*Signal
}

// Bound visits the inputs of a role that are bound, in template order.
func (a *Analysis) Bound(r *program.Role) iter.Seq2[*program.Input, *Bound] {
	return func(yield func(*program.Input, *Bound) bool) {
		for _, in := range r.Inputs {
			if bound := a.Inputs[in]; bound != nil && !yield(in, bound) {
				return
			}
		}
	}
}

// FactServer is a server without roles whose facts are needed.
type FactServer struct {
	Path     contract.ServerPath
	Stack    *program.Stack
	Resource *hot.Resource
}

// Wait is a resource's wait for a role, through a wait condition.
type Wait struct {
	Resource contract.ServerPath
	Signal   *Signal
	Role     *program.Role // the first of the signal's
	At       source.Place
}

// Bound is an input's expression, folded, with its time.
type Bound struct {
	Expr       *hot.Expr
	Time       contract.Time
	References []Reference
	// Absent says that what it reads is not in the deployment, so that it is the default.
	Absent bool
}

// Reference is one reference in an input.
type Reference struct {
	At   source.Place
	Text string // as the user would write it
	Time contract.Time
	Rule string // why
	// Needs is the prerequisite: `role db.mysql`, `server db`, `resource net`,
	// `parameter size`; "" is none.
	Needs string
	Cell  contract.CellName // of a run-time reference
	// Writer is the server that writes the cell.
	Writer contract.ServerPath
}

// Cell is what a cell holds: a role's output, a parameter that `hotc apply` supplies, or else a fact.
type Cell struct {
	Output    *program.Output
	Parameter *hot.Parameter
	Server    contract.ServerPath // that writes it
}

// Role is the role that writes the cell; nil if none does.
func (c Cell) Role() *program.Role {
	if c.Output == nil {
		return nil
	}
	return c.Output.Role
}

// StackOutput is an output of the stack that needs a run-time value.
type StackOutput struct {
	Output     *hot.Output
	Expr       *hot.Expr
	References []Reference
}

// Read is a use of a role's output in a place that Heat evaluates.
type Read struct {
	Call   *yaml.Node // the map {get_attr: …}
	Arg    *yaml.Node
	Path   []*yaml.Node // after resource and attribute
	Output *program.Output
	// Template is the one that contains the call.
	Template *hot.Template
	// Outputs are all outputs that are read, and Expr is the folded call, where
	// the call names a nested stack or a group.
	Outputs []*program.Output
	Expr    *hot.Expr
	// Argument is the nested stack's argument that reads the output, if the call is
	// a get_param.
	Argument *hot.Expr
}

// Edge is a dependency of a resource on another one, by its path.
type Edge struct {
	On contract.ServerPath
	At source.Place
	// Added says that hotc adds it: a role's input needs a deploy-time value.
	Added bool
	// Implied is why Heat adds it by itself; "" for what the template says.
	Implied string
}

// Analyse decides the time of every reference of a program.
func Analyse(p *program.Program, options Options, diags *source.Diagnostics) *Analysis {
	b := newBinder(p, options, diags)
	b.secretParameters()
	for r := range p.Roles {
		for _, in := range r.Inputs {
			b.in(r.Stack).reading(in).input()
		}
		b.in(r.Server.Stack).dependencies(r)
	}
	p.Root.Walk(func(s *program.Stack) {
		b.in(s).bindHeatPlaces()
		b.in(s).impliedEdges()
	})
	b.alignSignals()
	b.checkSecretParameters()
	b.factServers()
	b.existenceConditions()
	return b.analysis
}

type binder struct {
	*shared
	scope
}

// shared is the part of a binder that all of its scopes have in common.
type shared struct {
	program  *program.Program
	options  Options
	diags    *source.Diagnostics
	analysis *Analysis

	following map[reference]bool // the values that are being evaluated
	steps     *int               // evaluations since the outermost of them, by all binders
	arguments map[reference]argumentValue
	// needed are the parameters of nested stacks that Heat itself evaluates, waiting
	// the pairs of a resource and the role that it waits for.
	needed, waiting map[reference]bool
	// written finds values that roles write, hidden those of hidden parameters; refused
	// are the places already reported for one.
	written *trace.Finder
	hidden  *trace.Finder
	// secretParams are the root's parameters that `hotc apply` supplies.
	secretParams map[string]*hot.Parameter
	refused      map[source.Place]bool
	// size is the total of the inputs so far.
	size int
}

func newBinder(p *program.Program, options Options, diags *source.Diagnostics) *binder {
	known := &shared{program: p, options: options, diags: diags, analysis: &Analysis{
		Program: p, Inputs: map[*program.Input]*Bound{}, Cells: map[contract.CellName]Cell{}, Facts: map[contract.ServerPath][]contract.Fact{}, Edges: map[contract.ServerPath][]Edge{}, BetweenStacks: newBetweenStacks(),
		ExistenceConditions: map[contract.ServerPath][]ExistenceCondition{}, Witnesses: map[contract.ServerPath][]Witness{}, IfThere: map[*program.Role][]*hot.Expr{}, signals: map[reference]*Signal{}, SwitchedOff: map[source.Place]bool{}},
		following: map[reference]bool{}, steps: new(int), arguments: map[reference]argumentValue{}, needed: map[reference]bool{}, waiting: map[reference]bool{}, refused: map[source.Place]bool{}}
	return &binder{shared: known, scope: scope{stack: p.Root, template: p.Template, effects: &effects{now: true}}}
}

// input binds the scope's reader.
func (b *binder) input() {
	in, server := b.reader, b.reader.Role.Server
	e, err := hot.Fold(in.Expr, b.resolve)
	elsewhere := b.stack != server.Stack
	if err == nil && server.StackResource != nil && !elsewhere {
		e, err = b.inMember(server, e)
	}
	absent := errors.Is(err, errAbsent) && b.toleratesAbsence()
	if absent {
		e, err = hot.Constant(in.Default, in.Expr.At), nil
	}
	if err != nil {
		b.failed(in.Expr.At, err)
		return
	}
	if !b.withinSize(in, e) {
		return
	}
	bound := &Bound{Expr: e, Time: TimeOf(e), Absent: absent}
	b.analysis.Inputs[in] = bound
	bound.References = b.effects.references
	checkBind(in, bound, b.diags)
	b.leftToHeat(e)
	bound.References = b.effects.references
	b.checkComputable(e)
	b.checkNumbers(e)
	if in.HasDefault {
		b.checkNumbers(hot.Constant(in.Default, in.Expr.At))
	}
	switch {
	case bound.Time == contract.Static:
	case elsewhere:
		b.nothingOfHeats(e)
	default:
		b.addedEdges(server, "input "+in.Name, e)
	}
}

// nothingOfHeats refuses what only Heat knows, in the input of a role that is in another stack than
// its server: it travels in the server's user_data.
func (b *binder) nothingOfHeats(e *hot.Expr) {
	e.Walk(func(x *hot.Expr) bool {
		if x.Kind == hot.CallExpr && x.Func.Reference && x.Ref().Kind != hot.ToCell {
			b.diags.Error(source.NotYet, x.At, fmt.Sprintf("only Heat knows this, in another stack than that of server %q, where the role runs", b.reader.Role.Server.Path), "pass what the server's own stack knows, or what a role writes")
			return false
		}
		return true
	})
}

// dependencies finds which of the roles that a role depends on may not exist: as with
// Heat's own dependencies, the role does not wait for those.
func (b *binder) dependencies(r *program.Role) {
	for _, d := range r.DependsOn {
		e, err := b.existsFor(d.Role.Server, r.Server)
		switch {
		case err != nil:
			b.failed(d.At, err)
		case e != nil:
			b.addedEdges(r.Server, fmt.Sprintf("the dependency on %s", d.Role.Key()), e)
		}
		b.analysis.IfThere[r] = append(b.analysis.IfThere[r], e)
	}
}

// TimeOf is the time of a folded expression.
func TimeOf(e *hot.Expr) contract.Time {
	switch {
	case e.IsValue():
		return contract.Static
	case e.Any(func(x *hot.Expr) bool { return x.Ref().Kind == hot.ToCell }):
		return contract.Run
	}
	return contract.Deploy
}

// leftToHeat notes the calls that hotc supports only in part, and leaves to Heat.
func (b *binder) leftToHeat(e *hot.Expr) {
	for x := range e.Calls() {
		if x.Func.HeatOnly && !x.Func.Reference {
			b.note(x, contract.Deploy, "Heat computes it: hotc evaluates only the most common queries, over known data", "", "")
		}
	}
}

// checkComputable refuses a run-time value in the argument of a function that only
// Heat can compute: neither Heat nor an agent could.
func (b *binder) checkComputable(e *hot.Expr) {
	e.Walk(func(x *hot.Expr) bool {
		if x.Kind != hot.CallExpr || x.Func == hot.CellRef {
			return true
		}
		if (x.OnlyHeat() || x.Func.Reference) && TimeOf(x) == contract.Run {
			d := b.diags.Error(source.HeatsFunction, x.At, x.Func.Name+" is computed by Heat, but its argument needs a value that is known only at run time",
				"pass the value itself to the role, and compute the rest there")
			if path := b.runTime().Find(b.stack, b.reader.Expr); path != nil {
				d.Notes = append(append(d.Notes, path.Hops...), source.Note{At: path.Output.At, Message: fmt.Sprintf("role %s writes it", path.Output.Role.Key())})
			}
			return false
		}
		return true
	})
}

// maxInputs bounds the size of the values of all inputs of a plan, in bytes, roughly.
const maxInputs = 64 << 20

// withinSize refuses the input with which a plan grows too large: a few words may make a
// large value, and there may be many inputs.
func (b *binder) withinSize(in *program.Input, e *hot.Expr) bool {
	before := b.size
	b.size += hot.Size(e)
	if b.size > maxInputs && before <= maxInputs {
		b.diags.Error(source.OverLimit, in.Expr.At, fmt.Sprintf("with this input, the role inputs in the plan exceed %d MiB", maxInputs>>20), "pass large values as files")
	}
	return b.size <= maxInputs
}

// checkNumbers refuses the numbers that Heat accepts and JSON, thus a plan, cannot hold.
func (b *binder) checkNumbers(e *hot.Expr) {
	for x := range e.Parts() {
		if x.IsValue() && !value.InJSON(x.Value) {
			b.diags.Error(source.BadArgument, x.At, "an infinity or NaN cannot be passed to a role: values travel as JSON, which has no such numbers", "write it as a string, in quotes")
		}
	}
}

// checkBind reports a `bind` that is impossible: a value can be bound later than it is
// known, but not earlier.
func checkBind(in *program.Input, bound *Bound, diags *source.Diagnostics) {
	switch {
	case in.Bind == contract.Deploy && bound.Time == contract.Run:
		impossible(in, bound, diags, "cannot be bound at deploy time: it needs a value that is known only at run time",
			"remove `bind: deploy`; an output that is known before its role runs can have a `value`", contract.Run)
	case in.Bind == contract.Run && bound.Time == contract.Deploy:
		impossible(in, bound, diags, "cannot be bound at run time: only Heat knows it", "remove `bind: run`; an agent knows only a server's id, its name and, with one network, its address", contract.Deploy)
	}
}

func impossible(in *program.Input, bound *Bound, diags *source.Diagnostics, message, hint string, time contract.Time) {
	d := diags.Error(source.ImpossibleTime, in.Expr.At, "input "+in.Name+" "+message, hint)
	for _, r := range bound.References {
		if r.Time == time {
			d.Note(r.At, r.Text+": "+r.Rule)
		}
	}
}

// addedEdges notes what the server's user_data will depend on, and refuses a
// dependency on the server itself.
func (b *binder) addedEdges(server *program.Server, what string, e *hot.Expr) {
	path := b.stack.PathOf(server.Resource.Name)
	for x := range e.Calls() {
		switch r := x.Ref(); {
		case !r.OfResource():
		case r.Name == server.Resource.Name:
			b.diags.Error(source.SelfReference, x.At, what+" needs a value of its own server that Heat knows only once the server exists",
				ownHint(server.Template, server.Resource, x))
		default:
			b.analysis.Edges[path] = append(b.analysis.Edges[path], Edge{On: b.stack.PathOf(r.Name), At: x.At, Added: true})
		}
	}
}

func (b *binder) failed(at source.Place, err error) {
	if errors.Is(err, errReported) {
		return
	}
	if absent := (*absentError)(nil); errors.As(err, &absent) {
		d := b.diags.Error(source.MissingProducer, absent.at, absent.Error(), "")
		d.Hint = "give the input a `default`, or make it `optional`"
		if b.reader == nil {
			d.Hint = "omit the reference under the same condition, with `" + b.template.Keywords().If + "`"
		}
		d.Notes = append(d.Notes, absent.why.Note(absent.resource))
		return
	}
	hot.Report(b.diags, source.BadArgument, at, err)
}
