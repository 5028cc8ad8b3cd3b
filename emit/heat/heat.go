// Package heat turns a template into the one that Heat gets: the user's own text
// with edits. Byte ranges are inserted, replaced or removed; all else stays as
// the user wrote it, so that a diff of the two files shows exactly what the
// compiler did. Every edited text is parsed again and compared with the tree that
// was meant.
package heat

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// What hotc adds to a template. The names are fixed: scripts and people rely on
// them.
const (
	ParameterCoordinator = "hotc_coordinator"
	ParameterAgentURL    = "hotc_agent_url"
	ParameterSecret      = "hotc_secret"
	ResourceHandle       = "hotc_done_handle"
	ResourceCondition    = "hotc_done"
	ResourceValues       = "hotc_values"
	ResourceConfig       = "hotc_config"

	// ValuesFile is the nested template that gives roles' values to the stack.
	ValuesFile = "hotc/values.yaml"
)

// RootFile is where the root template goes.
const RootFile = "stack.yaml"

// UserDataFile is the file with hotc's user-data for servers whose user has given
// this kind of his own.
func UserDataFile(own userdata.Own) string {
	switch own {
	case userdata.NoOwn:
		return "hotc/user-data"
	case userdata.CfnTools:
		return "hotc/user-data-for-cfntools"
	}
	return "hotc/user-data-with-" + own.String()
}

// waitSeconds is the longest timeout that Heat allows a wait condition; the
// stack's own timeout comes before it.
const waitSeconds = 43200

// valuesTemplate gives the values that roles wrote back their types: a wait
// condition's data is a JSON text, which a json parameter decodes exactly.
const valuesTemplate = `heat_template_version: 2015-10-15
description: Written by hotc. The values that roles wrote, by server and attribute.
parameters:
  data: {type: json}
outputs:
  data: {value: {get_param: data}}
`

// Options are the user's wishes.
type Options struct {
	Coordinator string // default of hotc_coordinator; "" for none
	AgentURL    string
	Signal      contract.Signalling // who tells Heat of success and failure
	// MembersWait are the groups whose members wait for their own roles, with a relay.
	MembersWait map[*hot.Resource]bool
	// Templates are those that stacks are made of, in the order in which they are
	// emitted, the root first.
	Templates []Template
	UserData  userdata.Options
	// UserDataLimit is Nova's, in bytes after base64.
	UserDataLimit int
}

// Emitted is a template for Heat, with the small files that it names.
type Emitted struct {
	Text []byte
	// Files are nested templates and what hotc adds, by path below the output folder.
	Files map[string][]byte
	// UserData are the kinds of user-data files that are named.
	UserData map[userdata.Own]bool
	// Depth is how deep the stacks are nested that hotc adds.
	Depth int
	added int
	// Ignored is the number of servers whose user_data_update_policy hotc set.
	Ignored int
}

// Emit edits the templates.
func Emit(p *program.Program, a *binding.Analysis, b *emitplan.Built, o Options, diags *source.Diagnostics) *Emitted {
	out := &Emitted{Files: map[string][]byte{}, UserData: map[userdata.Own]bool{}}
	sites := sitesOf(p, a, b)
	stacks := map[*hot.Template][]*program.Stack{}
	p.Root.Walk(func(s *program.Stack) { stacks[s.Template] = append(stacks[s.Template], s) })
	sizes := map[userdata.Own]int{}
	counter := &counter{program: p, stacks: stacks}
	if o.Signal == contract.AgentsSignal {
		counter.count(a)
	}
	for _, t := range o.Templates {
		s := &stack{program: p, template: t.Template, analysis: a, built: b, options: o, diags: diags, generated: value.NewDict(), sizes: sizes, counter: counter,
			stacks: stacks[t.Template], sites: sites[t.Template], files: t, version: t.Version, out: out}
		text := s.emit()
		switch {
		case text == nil:
			return nil
		case s.isRoot():
			out.Text = text
		default:
			out.Files[t.Target] = text
		}
	}
	return out
}

// emit edits one template; nil if that cannot be done.
func (s *stack) emit() []byte {
	s.checkNames()
	s.checkOutputs()
	s.checkSecrets()
	s.checkSlots()
	if !s.open() {
		return nil
	}
	now := s.rewrite()
	s.properties()
	for _, server := range s.sites {
		now.server(server)
	}
	now.nests()
	s.outputs()
	s.pins()
	s.secretParameters()
	if s.carries() {
		s.parameters()
		s.resources()
	}
	if s.diags.Failed() {
		return nil
	}
	text, err := s.editor.Apply()
	if err == nil {
		err = s.editor.Verify(text, s.text.Root)
	}
	if err != nil {
		s.failed(err)
		return nil
	}
	return text
}

// rewritten is a stack whose roles' blocks are removed and whose reads of their outputs are
// replaced: what writes pieces of the text elsewhere takes them from it, changed.
type rewritten struct{ *stack }

func (s *stack) rewrite() rewritten {
	s.removeBlocks()
	s.moves()
	s.reads()
	return rewritten{s}
}

// content is a piece of the text as it is now.
func (s rewritten) content(n *yaml.Node) tree { return s.editor.Content(nil, n, false) }

// open makes the text that is edited.
func (s *stack) open() bool {
	text, err := s.unshare()
	if err != nil {
		s.failed(err)
		return false
	}
	s.text, s.editor = text, edit.New(text.Template)
	return true
}

func (s *stack) failed(err error) {
	d, ok := source.AsDiagnostic(err)
	if !ok {
		d, _ = source.AsDiagnostic(edit.Internal(err.Error()))
	}
	if at := oddLineEnd.FindIndex(s.template.File.Text); at != nil && d.Code == source.Internal {
		d = edit.CannotEdit(s.template.File, source.Span{Start: uint32(at[0]), End: uint32(at[1])}, "a line ends with a carriage return alone, or another character that only YAML takes for a line end")
		d.Hint = "end the lines as usual"
	}
	s.diags.Add(d)
}

// oddLineEnd is where a line ends for YAML, and not for editors.
var oddLineEnd = regexp.MustCompile("\r(?:[^\n]|$)|[\u0085\u2028\u2029]")

type stack struct {
	program  *program.Program
	template *hot.Template // the user's
	text     edit.Editable // the one that is edited
	analysis *binding.Analysis
	built    *emitplan.Built
	options  Options
	diags    *source.Diagnostics
	editor   *edit.Editor
	out      *Emitted
	// sizes are those of the user-data files, in bytes.
	sizes map[userdata.Own]int
	// stacks are the uses of the template, sites its servers with agents.
	stacks []*program.Stack
	sites  []site
	files  Template
	// inMember says that a generated member of a group is written, not the template.
	inMember bool
	// group is the one whose member that is.
	group *hot.Resource
	// ownSite is that member.
	ownSite site
	// isSlot says that it is a member of a group that scales; slotAround is, in a generated
	// member, what it is handed of such a group around.
	isSlot     bool
	slotAround tree
	counter    *counter

	carryingNests []*program.Nest
	nestsKnown    bool
	signalsHere   []*binding.Signal
	signalsKnown  bool
	version       hot.Version // of the text in which servers are written
	// generated are resources that hotc adds for single servers.
	generated *value.Dict
}

// checkNames refuses a template that has names of hotc's own.
func (s *stack) checkNames() {
	for _, p := range s.template.Parameters {
		if slices.Contains(ownParameters, p.Name) && (s.carries() || s.isRoot()) {
			s.diags.Error(source.NameTaken, s.template.Place(p.Entry.Key), fmt.Sprintf("hotc adds a parameter %q itself", p.Name), "name yours otherwise")
		}
	}
	for _, name := range []string{ResourceHandle, ResourceCondition, ResourceValues, ResourceConfig} {
		s.checkName(name)
	}
}

// checkName refuses a resource that has a name of hotc's own.
func (s *stack) checkName(name string) {
	if r := s.template.Resource(name); r != nil {
		s.diags.Error(source.NameTaken, s.template.Place(r.Entry.Key), fmt.Sprintf("hotc adds a resource %q itself", name), "name yours otherwise")
	}
}

// checkOutputs refuses run-time values in outputs of a stack that leaves Heat out.
func (s *stack) checkOutputs() {
	if s.tellsHeat() || !s.isRoot() {
		return
	}
	for _, r := range s.analysis.Reads {
		if r.Expr != nil || r.Output.Value == nil {
			s.diags.Error(source.NeedsHeat, s.template.Place(r.Call), fmt.Sprintf("this output needs %s.%s, which a role writes, and with --signal=none nothing reaches Heat",
				r.Output.Role.Server.Path, r.Output.Attribute), "`hotc outputs` shows it without Heat; else compile with --signal=heat or --signal=relay")
		}
	}
}

func (s *stack) removeBlocks() {
	for _, r := range s.text.Resources {
		if program.BlockOf(r) == nil {
			continue
		}
		if len(r.Metadata.Value.Entries) == 1 {
			s.editor.Remove(r.Entry.Value, "metadata")
		} else {
			s.editor.Remove(r.Metadata.Value, "hotc")
		}
	}
}

// reads rewrites the uses of roles' outputs that Heat evaluates.
func (s *stack) reads() {
	done := map[*yaml.Node]bool{}
	replace := func(n *yaml.Node, v tree) {
		for _, now := range s.text.Nodes(n) {
			if !done[now] {
				done[now] = true
				s.editor.Replace(now, v)
			}
		}
	}
	for _, r := range s.analysis.Reads {
		if r.Template != s.template {
			continue
		}
		if r.Expr != nil {
			replace(r.Call, s.fromValues(r.Expr))
			continue
		}
		if r.Output.Value != nil {
			replace(r.Call, emitplan.HOT(r.Output.Value))
			continue
		}
		arg := []value.Value{s.valuesOf(ResourceCondition, ResourceValues), "data", r.Output.Role.Server.Path, r.Output.Attribute}
		for _, n := range r.Path {
			arg = append(arg, s.editor.Content(nil, s.text.Nodes(n)[0], false))
		}
		replace(r.Arg, arg)
	}
}

// pins makes Heat refuse a stack with another value of a parameter that was
// folded into the plan.
func (s *stack) pins() {
	for _, p := range s.template.Parameters {
		values := s.pinned(p)
		if len(values) == 0 {
			continue
		}
		n := s.text.Parameter(p.Name).Entry.Value
		added := value.NewDict()
		s.put(n, added, s.template.Words().Default, values[0])
		if s.template.Version.CFN() {
			s.put(n, added, "AllowedValues", values)
			s.put(n, added, "ConstraintDescription", pinnedBecause)
		} else {
			s.pin(n, added, values)
		}
		if added.Len() > 0 {
			s.editor.Add(n, added)
		}
	}
}

// pinnedBecause is what Heat says to who gives another value.
const pinnedBecause = "hotc compiled the plan with this value"

// put sets an entry of a map, which is added if it is not there.
func (s *stack) put(n *yaml.Node, added *value.Dict, name string, value tree) {
	if e := n.Entry(name); e != nil {
		s.editor.Replace(e.Value, value)
		return
	}
	added.Set(name, value)
}

// pin adds the constraint that leaves only some values.
func (s *stack) pin(n *yaml.Node, added *value.Dict, values []value.Value) {
	pin := dict("allowed_values", values, "description", pinnedBecause)
	c := n.Get("constraints")
	if c.IsNull() || c.Kind == yaml.List && len(c.Items) == 0 && c.Target() == nil {
		s.put(n, added, "constraints", []value.Value{pin})
		return
	}
	items := []value.Value{pin}
	for _, x := range c.Items {
		items = append(items, x)
	}
	s.editor.Prepend(c, items, pin)
}

// moves renames files that could not stay where they were.
func (s *stack) moves() {
	var nodes []*yaml.Node
	names := map[*yaml.Node]string{}
	for n, name := range s.files.Moved {
		for _, now := range s.text.Use(n) {
			if names[now] == "" {
				nodes = append(nodes, now)
			}
			names[now] = name
		}
	}
	slices.SortFunc(nodes, func(a, b *yaml.Node) int { return int(a.Span.Start) - int(b.Span.Start) })
	for _, n := range nodes {
		s.editor.Replace(n, names[n])
	}
}

// AddedResources is how many resources hotc added to the stack.
func AddedResources(e *Emitted) int { return e.added }
