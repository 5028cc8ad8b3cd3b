// Package heat turns a template into the one that Heat gets: the user's own text with edits.
// Byte ranges are inserted, replaced or removed; the rest stays as the user wrote it, so that a
// diff of the two files shows exactly what the compiler did. Every edited text is parsed again
// and compared with the intended tree.
package heat

import (
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

// What hotc adds to a template. The names are fixed: scripts and people rely on them.
const (
	ParameterCoordinator = contract.CoordinatorParameter
	ParameterAgentURL    = "hotc_agent_url"
	ParameterSecret      = contract.SecretParameter
	ResourceHandle       = contract.DoneHandle
	ResourceCondition    = contract.DoneWait
	ResourceHere         = "hotc_here" // signals that a group's member exists
	ResourceValues       = "hotc_values"
	ResourceConfig       = "hotc_config"

	// ValuesFile is the nested template that returns roles' values to the stack.
	ValuesFile = "hotc/values.yaml"
)

// RootFile is the file of the root template.
const RootFile = "stack.yaml"

// UserDataFile is the file with hotc's user-data for servers with user-data of this kind of
// their own.
func UserDataFile(own userdata.Own) string {
	switch own {
	case userdata.NoOwn:
		return "hotc/user-data"
	case userdata.CfnTools:
		return "hotc/user-data-for-cfntools"
	}
	return "hotc/user-data-with-" + own.String()
}

// waitSeconds is the longest timeout that Heat allows for a wait condition; the stack's own
// timeout expires first.
const waitSeconds = 43200

// valuesTemplate restores the types of values that roles wrote: a wait condition's data is JSON
// text, which a json parameter decodes exactly.
const valuesTemplate = `heat_template_version: 2015-10-15
description: Written by hotc. The values that roles wrote, by server and attribute.
parameters:
  data: {type: json}
outputs:
  data: {value: {get_param: data}}
`

// Options are the user's settings.
type Options struct {
	Coordinator string // default of hotc_coordinator; "" for none
	AgentURL    string
	Signal      contract.Signalling // who signals success and failure to Heat
	AnySignal   bool                // what needs another Signal is a warning
	// MembersWait are the groups whose members wait for their own roles, with a relay.
	MembersWait map[*hot.Resource]bool
	// Templates are those used for stacks, in the order of emission, the root first.
	Templates []Template
	UserData  userdata.Options
	// UserDataLimit is Nova's, in bytes after base64.
	UserDataLimit int
}

// Emitted is a template for Heat, with the small files it refers to.
type Emitted struct {
	Text []byte
	// Files are nested templates and files of hotc, by path below the output folder.
	Files map[string][]byte
	// UserData are the kinds of user-data files that are used.
	UserData map[userdata.Own]bool
	// Depth is the nesting depth of the stacks that hotc adds.
	Depth int
	// Added is how many resources hotc added to the stack.
	Added int
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
		s := &stack{&emission{program: p, template: t.Template, analysis: a, built: b, options: o, diags: diags, sizes: sizes, counter: counter,
			stacks: stacks[t.Template], sites: sites[t.Template], out: out,
			reads:         slices.DeleteFunc(slices.Clone(a.Reads), func(r *binding.Read) bool { return r.Template != t.Template }),
			propertyReads: slices.DeleteFunc(slices.Clone(a.PropertyReads), func(r *binding.PropertyRead) bool { return r.Template != t.Template }),
			dependencies:  slices.DeleteFunc(slices.Clone(a.Dependencies), func(d *binding.Dependency) bool { return d.In.Template != t.Template }),
		}, target{files: t, version: t.Version, generated: value.NewDict()}}
		s.carrying, s.roleSignals = s.withAgents(), s.ownSignals()
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

// emit edits one template; nil on an error.
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
	if err != nil {
		s.failed(err)
		return nil
	}
	return text
}

// rewritten is a stack without its roles' blocks and with replaced reads of their outputs: code
// that writes pieces of the text elsewhere takes the edited text from it.
type rewritten struct{ *stack }

func (s *stack) rewrite() rewritten {
	s.removeOwn()
	s.moves()
	s.rewriteReads()
	return rewritten{s}
}

// content is a piece of the text with its edits.
func (s rewritten) content(n *yaml.Node) tree { return s.editor.Content(nil, n, false) }

// open creates the text that is edited.
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
	d := edit.Diagnosed(err)
	if at := oddLineEnd.FindIndex(s.template.File.Text); at != nil && d.Code == source.Internal {
		d = edit.CannotEdit(s.template.File, source.Span{Start: uint32(at[0]), End: uint32(at[1])}, "a line ends with a carriage return alone, or another character that only YAML takes for a line end")
		d.Hint = "end the lines as usual"
	}
	s.diags.Add(d)
}

// oddLineEnd is a line break for YAML, but not for editors.
var oddLineEnd = regexp.MustCompile("\r(?:[^\n]|$)|[\u0085\u2028\u2029]")

// stack is a template being emitted, and the text in which its servers are written.
type stack struct {
	*emission
	target
}

// emission is the state of emitting a template.
type emission struct {
	program  *program.Program
	template *hot.Template // the user's
	text     edit.Editable // the edited one
	analysis *binding.Analysis
	built    *emitplan.Built
	options  Options
	diags    *source.Diagnostics
	editor   *edit.Editor
	out      *Emitted
	// sizes are those of the user-data files, in bytes.
	sizes map[userdata.Own]int
	// stacks are the uses of the template, sites its servers with agents.
	stacks  []*program.Stack
	sites   []site
	counter *counter

	carrying    []*program.StackResource
	roleSignals []*binding.Signal
	// reads, propertyReads and dependencies are the analysis results for this template.
	reads         []*binding.Read
	propertyReads []*binding.PropertyRead
	dependencies  []*binding.Dependency
}

// target is the text in which servers are written: the template, or a generated member of one of
// its groups.
type target struct {
	files   Template
	version hot.Version
	// generated are resources that hotc adds for individual servers.
	generated *value.Dict
	// isSlot means that it is a member of a scaling group; slotAround is, in a generated member,
	// what such a group around passes to it.
	isSlot     bool
	slotAround tree

	// inMember means that it is a generated member: ownSite, of group.
	inMember bool
	group    *hot.Resource
	ownSite  site
}
