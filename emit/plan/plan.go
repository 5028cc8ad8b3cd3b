// Package plan builds the coordination plan of an analysed program. It decides nothing: it
// records what the analysis found.
package plan

import (
	"encoding/json"
	"slices"
	"sort"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/analysis/secrecy"
	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Options are facts about the compilation that the plan repeats.
type Options struct {
	Compiler string // "hotc VERSION"
	Signal   contract.Signalling
	// Follow is what roles follow, Heat the values that Heat passes to them.
	Follow map[*program.Role]*follow.Role
	Heat   *follow.HeatValues
}

// Built is a plan with its files and expressions.
type Built struct {
	Plan *contract.Plan
	// Files are the contents of the plan's files, by digest.
	Files map[string][]byte
	// Deploy are the expressions that Heat resolves for each server, by key.
	Deploy map[contract.ServerPath]map[string]*hot.Expr
	// Carried are the keys of those carried by a relay.
	Carried map[string]bool
	// OutputDeploy are those of the stack's outputs, by key.
	OutputDeploy map[string]*hot.Expr
}

func Build(p *program.Program, a *binding.Analysis, o Options) *Built {
	b := &builder{program: p, analysis: a, sealed: map[contract.CellName]bool{}, heat: map[*program.Output]bool{}, signalsOf: map[*program.Role][]*binding.Signal{}, secret: secrecy.OfInputs(), follow: o.Follow, heatValues: o.Heat, relayed: o.Signal == contract.RelaySignals, pinned: pinnedOf(p), built: &Built{
		Plan: &contract.Plan{Format: contract.Format, Compiler: o.Compiler, Template: p.Template.File.Portable, Signal: o.Signal,
			Outputs: []contract.StackOutput{}, Files: []contract.File{}},
		Files: map[string][]byte{}, Deploy: map[contract.ServerPath]map[string]*hot.Expr{}, Carried: map[string]bool{}, OutputDeploy: map[string]*hot.Expr{}}}
	for _, r := range a.Reads {
		for _, o := range r.Outputs {
			b.heat[o] = o.Value == nil || b.heat[o]
		}
	}
	if o.Signal != contract.NobodySignals {
		for _, s := range a.Signals {
			for _, r := range s.Roles {
				b.signalsOf[r] = append(b.signalsOf[r], s)
			}
		}
	}
	b.declareCells()
	b.built.Plan.Servers = make([]contract.Server, 0, len(p.Servers)+len(a.FactServers))
	for _, s := range p.Servers {
		b.server(s)
	}
	for _, s := range a.FactServers {
		b.factServer(s)
	}
	b.built.Plan.Derive()
	b.built.Plan.Secrets = lists.Only(b.built.Plan.Secrets, func(s contract.Secret) bool { return len(s.Readers) > 0 })
	for _, out := range a.Outputs {
		b.stackOutput(out)
	}
	sort.Slice(b.built.Plan.Files, func(i, j int) bool { return b.built.Plan.Files[i].Digest < b.built.Plan.Files[j].Digest })
	return b.built
}

type builder struct {
	program  *program.Program
	analysis *binding.Analysis
	built    *Built
	sealed   map[contract.CellName]bool
	heat     map[*program.Output]bool
	// signalsOf are the wait conditions that a role signals.
	signalsOf map[*program.Role][]*binding.Signal
	secret    *secrecy.Inputs
	follow    map[*program.Role]*follow.Role
	// heatValues are passed by Heat to roles; relayed means that a relay carries them.
	heatValues *follow.HeatValues
	relayed    bool
	pinned     []pinned
}

// pinned is a parameter whose value was compiled in.
type pinned struct {
	name, digest string
	ways         *trace.Finder // from it
}

func pinnedOf(p *program.Program) (all []pinned) {
	for _, parameter := range p.Template.Parameters {
		if !p.Supplied.Used(parameter.Name) || parameter.Hidden {
			continue
		}
		all = append(all, pinned{parameter.Name, contract.Digest(value.EncodeJSON(p.Supplied.Parameters[parameter.Name]))[:16],
			trace.NewFinder(func(o trace.Origin) bool { return o.Stack == p.Root && o.Parameter == parameter }, nil)})
	}
	return all
}

func (b *builder) declare(name contract.CellName, server contract.ServerPath, role string, sealed bool) {
	b.sealed[name] = sealed
	b.built.Plan.Cells = append(b.built.Plan.Cells, contract.Cell{Name: name, Server: server, Role: role, Sealed: sealed})
}

// declareSecrets declares the parameters supplied by `hotc apply`; no agent writes their cells.
func (b *builder) declareSecrets() {
	for _, p := range b.analysis.Secrets {
		name := contract.SecretCell(p.Name)
		b.sealed[name] = true
		b.built.Plan.Secrets = append(b.built.Plan.Secrets, contract.Secret{Name: p.Name, Cell: name,
			At: position(b.program.Template.Place(p.Entry.Key).Portable()), Declaration: value.EncodeJSON(b.program.Template.Declaration(p))})
	}
}

func (b *builder) declareCells() {
	b.declareSecrets()
	declareFacts := func(server contract.ServerPath) {
		for _, fact := range b.analysis.Facts[server] {
			b.declare(server.Fact(fact), server, "", false)
		}
	}
	for _, s := range b.program.Servers {
		declareFacts(s.Path)
		for _, r := range s.Roles {
			for _, o := range r.Outputs {
				if o.Value == nil {
					b.declare(o.Cell(), s.Path, r.Name, o.Secret)
				}
			}
			b.declare(r.Key().Completion(), s.Path, r.Name, false)
		}
	}
	for _, s := range b.analysis.FactServers {
		declareFacts(s.Path)
	}
}

func (b *builder) factServer(s binding.FactServer) {
	w := &serverWriter{builder: b, out: contract.Server{Path: s.Path,
		At: position(s.Stack.Place(s.Resource.Entry.Key).Portable()), Facts: b.analysis.Facts[s.Path], Roles: []contract.Role{}}}
	w.out.Slot = slot(s.Path, s.Stack, nil, nil)
	w.presence()
	for key, v := range w.out.Deploy { // Heat does not wait for a server without roles
		v.Carried = false
		w.out.Deploy[key] = v
	}
	b.built.Plan.Servers = append(b.built.Plan.Servers, w.out)
}

func (b *builder) server(s *program.Server) {
	w := &serverWriter{builder: b, out: contract.Server{Path: s.Path, At: position(s.At().Portable()),
		Slot: slot(s.Path, s.Stack, s.StackResource, s.Member), Facts: b.analysis.Facts[s.Path], Roles: []contract.Role{}}}
	w.presence()
	for _, r := range s.Roles {
		w.role(r)
	}
	b.built.Plan.Servers = append(b.built.Plan.Servers, w.out)
}

// slot returns a server's replica slot in a scaling group that contains it or one of its stacks;
// nil if there is none.
func slot(path contract.ServerPath, in *program.Stack, n *program.StackResource, m *program.Member) *contract.Slot {
	if n == nil || !n.Slots() {
		if n, m = in.Scaled(); n == nil {
			return nil
		}
	}
	group := n.OwnPath()
	return &contract.Slot{Group: string(group), Number: n.Number(m),
		Shared: group + "/" + contract.AnyMember + path[len(n.Path(m)):]}
}

type serverWriter struct {
	*builder
	out contract.Server
}

func (w *serverWriter) role(r *program.Role) {
	src, files := w.source(r, r.Meaning)
	out := contract.Role{Name: r.Name, At: position(r.At.Portable()), Driver: r.Driver, Source: value.EncodeJSON(src),
		Timeout: r.Timeout, Idempotent: r.Idempotent, Signals: w.signals(r)}
	if r.Install != (contract.Install{}) {
		out.Install = &r.Install
	}
	out.Files = w.files(files)
	out.Actions, out.Hooks = w.tasks(r, r.Actions), w.tasks(r, r.Hooks)
	for _, f := range r.Files {
		out.Render = append(out.Render, w.rendered(r, f))
		w.files([]program.File{f.Template})
	}
	out.Inputs = slices.Grow(out.Inputs, len(r.Inputs))
	for in, bound := range w.analysis.Bound(r) {
		out.Inputs = append(out.Inputs, w.input(in, bound))
	}
	for _, o := range r.Outputs {
		if o.Value == nil {
			out.Outputs = append(out.Outputs, w.output(o))
		}
	}
	for i, d := range r.DependsOn {
		on := contract.Dependency{Cell: d.Role.Key().Completion(), At: position(d.At.Portable())}
		if there := w.analysis.IfThere[r][i]; there != nil {
			on.If = w.residual(there)
		}
		out.DependsOn = append(out.DependsOn, on)
	}
	if f := w.follow[r]; f != nil {
		if !w.relayed {
			f = f.WithoutHeat()
		}
		out.Follows, out.Carries = f.Follows, f.Carries
	}
	w.out.Roles = append(w.out.Roles, out)
}

// The default file modes: only the owner can read a secret.
const (
	openMode   = "0644"
	secretMode = "0600"
)

func (w *serverWriter) rendered(r *program.Role, f *program.RoleFile) contract.RenderedFile {
	mode := f.Mode
	if mode == "" {
		mode = openMode
		if w.secret.InFile(r, f) != nil {
			mode = secretMode
		}
	}
	return contract.RenderedFile{Path: f.Path, At: position(f.At.Portable()), Template: f.Template.Digest, Name: f.Template.Name,
		Owner: f.Owner, Group: f.Group, Mode: mode}
}

func (w *serverWriter) tasks(r *program.Role, tasks []*program.Task) []contract.Task {
	var out []contract.Task
	for _, t := range tasks {
		text, files := w.source(r, t.Meaning)
		out = append(out, contract.Task{Name: t.Name, At: position(t.At.Portable()), Source: value.EncodeJSON(text), Files: w.files(files)})
	}
	return out
}

// source returns a role's source and its files, in the plan's form.
func (b *builder) source(r *program.Role, m *program.Meaning) (value.Value, []program.File) {
	if m.Finish == nil {
		return m.Source, m.Files
	}
	var late []string
	for _, in := range r.Inputs {
		if in.Eager {
			continue
		}
		// no secret in the environment, where other processes could read it
		if bound := b.analysis.Inputs[in]; bound != nil && bound.Time == contract.Run || b.secret.Secret(in) {
			late = append(late, in.Name)
		}
	}
	return m.Finish(late)
}

// files adds files to the plan, each once; it returns their digests, nil if there are none.
func (b *builder) files(files []program.File) (digests []string) {
	for _, f := range files {
		if _, have := b.built.Files[f.Digest]; !have {
			b.built.Files[f.Digest] = f.Data
			b.built.Plan.Files = append(b.built.Plan.Files, contract.File{Digest: f.Digest, Size: int64(len(f.Data)), Name: f.Name})
		}
		digests = append(digests, f.Digest)
	}
	return digests
}

func (w *serverWriter) output(o *program.Output) contract.Output {
	out := contract.Output{Name: o.Name, Cell: o.Cell(), Type: o.Type, Secret: o.Secret, Resource: o.Resource,
		At: position(o.At.Portable()), Heat: w.heat[o]}
	if o.Attribute != o.Name {
		out.Attribute = o.Attribute
	}
	if o.AtEnd {
		out.Publish = contract.AtEnd
	}
	return out
}

func (w *serverWriter) input(in *program.Input, bound *binding.Bound) contract.Input {
	e := binding.Slots(bound.Expr, w.deploy)
	expr, at := hot.EncodeResidual(e)
	out := contract.Input{Name: in.Name, Time: bound.Time, Expr: expr, At: at, Optional: in.Optional,
		Timeout: in.Timeout, IfDown: in.IfDown, Eager: in.Eager, Watch: in.WatchAt.Known(), AtLeast: in.AtLeast, Secret: w.secret.Secret(in), Type: in.Type}
	if in.HasDefault {
		out.Default = value.EncodeJSON(in.Default)
	}
	if slices.ContainsFunc(bound.References, func(r binding.Reference) bool { return r.Time == contract.Static }) {
		out.Parameters = w.behind(in)
	}
	seen := map[contract.CellName]bool{}
	for _, name := range e.Cells() {
		if !seen[name] {
			seen[name] = true
			out.Reads = append(out.Reads, name)
			out.Secret = out.Secret || w.sealed[name]
		}
	}
	return out
}

// behind returns the parameters whose values were compiled into an input.
func (b *builder) behind(in *program.Input) map[string]string {
	var all map[string]string
	for _, p := range b.pinned {
		if p.ways.Find(in.Role.Stack, in.Expr) != nil {
			if all == nil {
				all = map[string]string{}
			}
			all[p.name] = p.digest
		}
	}
	return all
}

// deploy gives an expression a key in the server's boot file.
func (w *serverWriter) deploy(e *hot.Expr) *hot.Expr {
	key := binding.Key(e)
	if w.built.Deploy[w.out.Path] == nil {
		w.built.Deploy[w.out.Path] = map[string]*hot.Expr{}
	}
	w.built.Deploy[w.out.Path][key] = e
	if w.out.Deploy == nil {
		w.out.Deploy = map[string]contract.DeployValue{}
	}
	carried := w.relayed && w.heatValues.Relays(key)
	if carried {
		w.built.Carried[key] = true
	}
	w.out.Deploy[key] = contract.DeployValue{Expr: value.EncodeJSON(HOT(e)), At: position(e.At.Portable()), Carried: carried}
	return hot.NewCall(hot.DeployRef, e.At, hot.Constant(key, e.At))
}

func (b *builder) stackOutput(out *binding.StackOutput) {
	deploy := map[string]contract.DeployValue{}
	e := binding.Slots(out.Expr, func(e *hot.Expr) *hot.Expr {
		key := binding.Key(e)
		b.built.OutputDeploy[key] = e
		deploy[key] = contract.DeployValue{Expr: value.EncodeJSON(HOT(e)), At: position(e.At.Portable())}
		return hot.NewCall(hot.DeployRef, e.At, hot.Constant(key, e.At))
	})
	expr, at := hot.EncodeResidual(e)
	b.built.Plan.Outputs = append(b.built.Plan.Outputs, contract.StackOutput{Name: out.Output.Name, Expr: expr, At: at, Deploy: deploy})
}

// HOT returns an expression as written in an emitted template.
func HOT(e *hot.Expr) value.Value { return binding.Written(e.WithElse()) }

func position(text string) contract.Position { return contract.Position(text) }

// Encode writes a plan as plan.json: indented, so that two plans can be compared line by line.
func Encode(p *contract.Plan) ([]byte, error) {
	whole := *p
	if whole.Servers == nil {
		whole.Servers = []contract.Server{}
	}
	if whole.Cells == nil {
		whole.Cells = []contract.Cell{}
	}
	text, err := json.MarshalIndent(&whole, "", " ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// presence records what Heat decides about the server's existence, and which decisions the
// server itself can detect.
func (w *serverWriter) presence() {
	for _, p := range w.analysis.ExistenceConditions[w.out.Path] {
		w.out.If = append(w.out.If, contract.Condition{Decision: p.Decision.Key, Least: p.Member + 1, Why: p.Why, At: position(p.At.Portable())})
	}
	for _, x := range w.analysis.Witnesses[w.out.Path] {
		if w.out.Decides == nil {
			w.out.Decides = map[string]json.RawMessage{}
		}
		w.out.Decides[x.Decision.Key] = w.residual(x.Expr)
	}
}

// residual encodes an expression for the agent.
func (w *serverWriter) residual(e *hot.Expr) json.RawMessage {
	expr, _ := hot.EncodeResidual(binding.Slots(e, w.deploy))
	return expr
}
