// Package heat turns a template into the one that Heat gets: the user's own text
// with edits. Byte ranges are inserted, replaced or removed; all else stays as
// the user wrote it, so that a diff of the two files shows exactly what the
// compiler did. Every edited text is parsed again and compared with the tree that
// was meant.
package heat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/plan"
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

	// ValuesFile is the nested template that gives roles' values to the stack.
	ValuesFile = "hotc/values.yaml"
)

// UserDataFile is the file with hotc's user-data for servers whose user has given
// this kind of his own.
func UserDataFile(own userdata.Own) string {
	if own == userdata.NoOwn {
		return "hotc/user-data"
	}
	return "hotc/user-data-with-" + own.String()
}

// waitSeconds is the longest time-out that Heat allows a wait condition; the
// stack's own time-out comes before it.
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
	Signal      bool // whether Heat learns of success and failure
	// Moved are scalars that name files, with the names that the files have in the
	// output folder.
	Moved    map[*hot.Node]string
	UserData userdata.Options
	// UserDataLimit is Nova's, in bytes after base64.
	UserDataLimit int
}

// Emitted is a template for Heat, with the small files that it names.
type Emitted struct {
	Text  []byte
	Files map[string][]byte // by path below the output folder
	// UserData are the kinds of user-data files that are named.
	UserData map[userdata.Own]bool
	added    int
	// Ignored is the number of servers whose user_data_update_policy hotc set.
	Ignored int
}

// Emit edits the template.
func Emit(p *program.Program, a *binding.Analysis, b *emitplan.Built, o Options, diags *source.Diagnostics) *Emitted {
	s := &stack{program: p, template: p.Template, analysis: a, built: b, options: o, diags: diags, editor: newEditor(p.Template),
		sizes: map[userdata.Own]int{}, out: &Emitted{Files: map[string][]byte{}, UserData: map[userdata.Own]bool{}}}
	s.checkVersion()
	s.checkNames()
	s.checkOutputs()
	s.removeBlocks()
	for _, server := range b.Plan.Servers {
		s.server(server)
	}
	s.reads()
	s.pins()
	s.moves()
	if len(b.Plan.Servers) > 0 {
		s.parameters()
		s.resources()
	}
	if diags.Failed() {
		return nil
	}
	text, err := s.editor.apply()
	if err == nil {
		err = s.editor.verify(text, p.Template.Root)
	}
	if err != nil {
		d, ok := source.AsDiagnostic(err)
		if !ok {
			d, _ = source.AsDiagnostic(internal(err.Error()))
		}
		diags.Add(d)
		return nil
	}
	s.out.Text = text
	return s.out
}

type stack struct {
	program  *program.Program
	template *hot.Template
	analysis *binding.Analysis
	built    *emitplan.Built
	options  Options
	diags    *source.Diagnostics
	editor   *editor
	out      *Emitted
	sizes    map[userdata.Own]int // of the user-data files, in bytes
}

// checkVersion refuses versions that lack what user_data needs: digest, and
// str_replace that inserts maps as JSON.
func (s *stack) checkVersion() {
	if n := s.template.Root.Get("heat_template_version"); s.template.Version < hot.V20151015 && len(s.built.Plan.Servers) > 0 {
		s.diags.Error(source.NotYet, s.template.Place(n), "hotc compiles roles in templates from version 2015-10-15 on; older ones lack functions that user_data needs",
			"raise the version; hotc does not do it by itself, since that changes what functions mean")
	}
}

// checkNames refuses a template that has names of hotc's own.
func (s *stack) checkNames() {
	for _, p := range s.template.Parameters {
		if slices.Contains([]string{ParameterCoordinator, ParameterAgentURL, ParameterSecret}, p.Name) {
			s.diags.Error(source.NameTaken, s.template.Place(p.Entry.Key), fmt.Sprintf("hotc adds a parameter %q itself", p.Name), "name yours otherwise")
		}
	}
	for _, r := range s.template.Resources {
		if slices.Contains([]string{ResourceHandle, ResourceCondition, ResourceValues}, r.Name) {
			s.diags.Error(source.NameTaken, s.template.Place(r.Entry.Key), fmt.Sprintf("hotc adds a resource %q itself", r.Name), "name yours otherwise")
		}
	}
}

// checkOutputs refuses run-time values in outputs of a stack that leaves Heat out.
func (s *stack) checkOutputs() {
	if s.options.Signal {
		return
	}
	for _, r := range s.analysis.Reads {
		if r.Output.Value == nil {
			s.diags.Error(source.NeedsHeat, s.template.Place(r.Call), fmt.Sprintf("this output needs %s.%s, which a role writes, and with --signal=none nothing reaches Heat",
				r.Output.Role.Server.Path, r.Output.Attribute), "`hotc outputs` shows it without Heat; else compile with --signal=heat")
		}
	}
}

func (s *stack) removeBlocks() {
	for _, server := range s.program.Servers {
		r := server.Resource
		if len(r.Metadata.Value.Entries) == 1 {
			s.editor.remove(r.Entry.Value, "metadata")
		} else {
			s.editor.remove(r.Metadata.Value, "hotc")
		}
	}
}

// boot is what the server's agent is told; see plan.Boot.
func (s *stack) boot(p plan.Server) *hot.Dict {
	param := func(name string) hot.Value { return dict("get_param", name) }
	b := dict(
		"format", int64(plan.Format),
		"server", string(p.Path),
		"deployment", param("OS::stack_name"),
		"stack_id", param("OS::stack_id"),
		"coordinator", param(ParameterCoordinator),
		"token", dict("digest", []hot.Value{"sha256", dict("list_join", []hot.Value{":", []hot.Value{
			param(ParameterSecret), param("OS::stack_name"), string(p.Path)}})}),
	)
	if s.options.Signal && len(p.Roles) > 0 {
		b.Set("signal", dict("get_attr", []hot.Value{ResourceHandle, "signal"}))
		b.Set("signal_resource", ResourceHandle)
	}
	if slots := s.built.Deploy[string(p.Path)]; len(slots) > 0 {
		values := hot.NewDict()
		keys := make([]string, 0, len(slots))
		for k := range slots {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			values.Set(k, emitplan.HOT(slots[k]))
		}
		b.Set("deploy", section{values})
	}
	return b
}

// reads rewrites the uses of roles' outputs that Heat evaluates.
func (s *stack) reads() {
	for _, r := range s.analysis.Reads {
		if r.Output.Value != nil {
			s.editor.replace(r.Call, emitplan.HOT(r.Output.Value))
			continue
		}
		arg := []hot.Value{ResourceValues, "data", r.Output.Role.Server.Path, r.Output.Attribute}
		for _, n := range r.Path {
			arg = append(arg, n)
		}
		s.editor.replace(r.Arg, arg)
	}
}

// pins makes Heat refuse a stack with another value of a parameter that was
// folded into the plan.
func (s *stack) pins() {
	for _, p := range s.template.Parameters {
		if !s.program.Given.Used(p.Name) || s.program.Given.Unpinned {
			continue
		}
		value := s.program.Given.Parameters[p.Name]
		n := p.Entry.Value
		added := hot.NewDict()
		if e := n.Entry("default"); e != nil {
			s.editor.replace(e.Value, value)
		} else {
			added.Set("default", value)
		}
		pin := dict("allowed_values", []hot.Value{value}, "description", "hotc compiled the plan with this value")
		switch c := n.Get("constraints"); {
		case c.IsNull():
			added.Set("constraints", []hot.Value{pin})
		default:
			items := []hot.Value{pin}
			for _, x := range c.Items {
				items = append(items, x)
			}
			s.replaceConstraints(c, items, pin)
		}
		if added.Len() > 0 {
			s.editor.add(n, added)
		}
	}
}

// replaceConstraints puts the pin in front of the user's constraints.
func (s *stack) replaceConstraints(c *hot.Node, items []hot.Value, pin *hot.Dict) {
	if c.Target != nil || c.Kind != hot.List || len(c.Items) == 0 {
		s.editor.fail(c, "constraints are not a list that stands here")
		return
	}
	change := s.editor.change(c)
	change.whole, change.value = true, items
	first := c.Items[0].Span.Start
	text := s.editor.flow(pin) + ", "
	if c.Style == hot.Block {
		line := string(s.template.File.Text[s.template.File.LineStart(c.Span.Start):c.Span.Start])
		if strings.TrimSpace(line) != "" {
			s.editor.fail(c, "constraints do not begin their line")
			return
		}
		text = "- " + s.editor.flow(pin) + s.editor.nl + line
		first = c.Span.Start
	}
	s.editor.inserts = append(s.editor.inserts, source.Edit{Span: source.Span{Start: first, End: first}, New: text})
}

// moves renames files that could not stay where they were.
func (s *stack) moves() {
	nodes := make([]*hot.Node, 0, len(s.options.Moved))
	for n := range s.options.Moved {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b *hot.Node) int { return int(a.Span.Start) - int(b.Span.Start) })
	for _, n := range nodes {
		s.editor.replace(n, s.options.Moved[n])
	}
}

// parameters declares where the coordinator and the agent are, and the secret.
func (s *stack) parameters() {
	withDefault := func(text, description string) *hot.Dict {
		d := dict("type", "string")
		if text != "" {
			d.Set("default", text)
		}
		d.Set("description", description)
		return d
	}
	agent := withDefault(s.options.AgentURL, "where servers get hotc-agent if their image lacks it; {arch} becomes amd64, arm64, …")
	if s.options.AgentURL == "" {
		agent.Set("default", "")
	}
	added := dict(
		ParameterCoordinator, section{withDefault(s.options.Coordinator, "where the servers' agents meet: zk://HOST:PORT[,…]/ROOT")},
		ParameterAgentURL, section{agent},
		ParameterSecret, section{dict("type", "string", "hidden", true, "description", "made by `hotc secret new`",
			"constraints", []hot.Value{dict("allowed_pattern", "[0-9a-f]{64}", "description", "64 hex digits, made by hotc secret new")})},
	)
	s.addTo("parameters", "resources", added)
}

// resources adds the one wait condition of the deployment, and what gives the
// values of roles back to the stack.
func (s *stack) resources() {
	if !s.options.Signal {
		return
	}
	var names []hot.Value
	for _, p := range s.built.Plan.Servers {
		if len(p.Roles) > 0 {
			names = append(names, string(p.Path))
		}
	}
	if len(names) == 0 {
		return
	}
	added := dict(
		ResourceHandle, section{dict("type", "OS::Heat::WaitConditionHandle", "properties", dict("signal_transport", "HEAT_SIGNAL"))},
		ResourceCondition, section{dict("type", "OS::Heat::WaitCondition", "depends_on", names, "properties",
			dict("handle", dict("get_resource", ResourceHandle), "count", int64(len(names)), "timeout", int64(waitSeconds)))},
	)
	if slices.ContainsFunc(s.analysis.Reads, func(r *binding.Read) bool { return r.Output.Value == nil }) {
		added.Set(ResourceValues, section{dict("type", ValuesFile, "properties",
			dict("data", dict("get_attr", []hot.Value{ResourceCondition, "data"})))})
		s.out.Files[ValuesFile] = []byte(valuesTemplate)
	}
	s.out.added = added.Len()
	s.addTo("resources", "", added)
}

// addTo adds entries to a section of the template, making it if it is missing.
func (s *stack) addTo(name, before string, added *hot.Dict) {
	root := s.template.Root
	entry := root.Entry(name)
	switch {
	case entry != nil && !entry.Value.IsNull():
		s.editor.add(entry.Value, added)
	case entry != nil:
		s.editor.fill(entry, added)
	case root.Style == hot.Flow:
		s.editor.add(root, dict(name, section{added}))
	default:
		s.editor.change(root).added.Set(name, section{added})
		at := s.template.File.LineStart(root.Entry(before).Key.Span.Start)
		s.editor.inserts = append(s.editor.inserts, source.Edit{Span: source.Span{Start: at, End: at},
			New: s.editor.entry(name, section{added}, 0) + s.editor.nl})
	}
}

// AddedResources is how many resources hotc added to the stack.
func AddedResources(e *Emitted) int { return e.added }
