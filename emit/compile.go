// Package emit creates the output folder of a template. Compile runs the stages in order and is
// hotc's table of contents:
//
//	bytes → hot.ParseTemplate → nesting.Load → Program.Lower → binding.Analyse → analysis.Check
//	      → emit/plan.Build and emit/heat.Emit → the folder
//
// Each stage is a function from value to value; errors are collected, and nothing is written if
// there are any.
package emit

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/analysis"
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/order"
	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/analysis/secrecy"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/emit/edit"
	"github.com/hotc-dev/hotc/emit/heat"
	"github.com/hotc-dev/hotc/emit/plan"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// Options are the user's settings.
type Options struct {
	Template     string            // path
	Text         []byte            // of the template; nil to read it from Template
	Access       Access            // nil is Machine
	Environments []string          // paths; the last one wins
	Parameters   map[string]string // from -P, as strings
	Coordinator  string
	AgentURL     string
	AgentDigests map[userdata.Arch]string
	Signal       contract.Signalling // "" is NobodySignals
	// AnySignal says that Signal is hotc's choice: what another one can deploy is no error.
	AnySignal bool
	Facts     binding.Facts
	// SecretParameters are hidden parameters supplied by `hotc apply`, not by Heat.
	SecretParameters []string
	Limits           Limits
	Types            *resourcetype.Catalogue // of the cloud; nil for Debian's Heat
	Drivers          []driver.Driver
	FrontEnds        []*program.FrontEnd // in addition to hotc's own
	Version          string
	// Lint only checks the template: all rules run, and an error does not stop later stages that
	// can still run.
	Lint bool
	// Packs are the community rule packs enabled in addition to hotc's own rules.
	Packs []*rule.Rule
	// Shell checks shell scripts for the linter; nil disables it.
	Shell func(script string) []rule.Advice
	// Now is the current time, for expiry checks; zero disables them.
	Now time.Time
	// Profile records how long the linter's rules take; nil disables it.
	Profile *rule.Profile
	// WithoutHeat means that no Heat sees the stack (`hotc run`): parameters without a value
	// take their defaults.
	WithoutHeat bool
}

// Result is the outcome of a compilation.
type Result struct {
	Program *program.Program
	// Environment is the merged content of the environment files, Templates all templates used
	// for stacks, by path.
	Environment *environment.Environment
	Templates   map[string]*hot.Template
	// Environments are the names of the environment files in the folder.
	Environments []string
	Analysis     *binding.Analysis
	// Findings are the analysis' findings on ordering.
	Findings *analysis.Findings
	Built    *plan.Built
	Emitted  *heat.Emitted // nil without Heat
	// PlanJSON is the content of plan.json.
	PlanJSON []byte
	Folder   Folder
}

// AgentsFile lists the agents that servers fetch from the coordinator, as sha256 by
// architecture; `hotc apply` uploads them.
const AgentsFile = "hotc/agents.json"

// EnvironmentsFile lists the environment files of an output folder, one per line, in the order
// in which they are passed to Heat.
const EnvironmentsFile = "hotc/environments"

// Compile creates the output folder in memory. It returns nil on an error.
func Compile(o Options, diags *source.Diagnostics) *Result {
	files := o.files(diags)
	r := analyse(o, files, diags)
	if r == nil || diags.Failed() {
		return nil
	}
	return r.make(o, files, diags)
}

// make creates the folder from the analysis; nil on an error.
func (r *Result) make(o Options, files *files, diags *source.Diagnostics) *Result {
	if o.Signal == "" {
		o.Signal = contract.NobodySignals
	}
	r.Built = plan.Build(r.Program, r.Analysis, plan.Options{Compiler: "hotc " + o.Version, Signal: o.Signal, Follow: r.Findings.Follow, Heat: r.Findings.Heat})
	if o.WithoutHeat {
		return r
	}
	r.checkWatched(o.Signal, diags)
	r.emit(o, files, diags)
	if diags.Failed() {
		return nil
	}
	return r
}

// Analyse runs the stages up to the analysis. It returns their results even if there are errors,
// and nil if the template cannot be read.
func Analyse(o Options, diags *source.Diagnostics) *Result {
	return analyse(o, o.files(diags), diags)
}

func analyse(o Options, files *files, diags *source.Diagnostics) *Result {
	defer o.Profile.Whole(o.Profile.Begin())
	file := o.read(files, diags)
	if file == nil {
		return nil
	}
	template := hot.ParseTemplate(file, diags)
	if template == nil || o.stopped(diags) {
		return nil
	}
	env := readEnvironments(o, template, files, diags)
	if env == nil || o.stopped(diags) {
		return nil
	}
	given := suppliedParameters(template, env, o, diags)
	given.ReadFile, given.OpenFolder = files.read, files.open
	if o.stopped(diags) {
		return nil
	}
	r := &Result{Program: program.New(template, given, o.frontEnds()...), Environment: env, Folder: Folder{}}
	r.Program.Types = o.Types
	want := rule.Options{Lint: o.Lint, Packs: o.Packs, Shell: o.Shell, Environment: env, Profile: o.Profile, Now: o.Now}
	broken := diags.Failed()
	r.Templates = nesting.Load(r.Program, nesting.Options{Environment: env, Read: files.readTemplate, Open: files.openFolder, MaxDepth: o.Limits.Depth, MaxResources: o.Limits.Resources}, diags)
	r.Program.Lower(diags)
	secrecy.Withhold(r.Program)
	if broken { // what binding relies on may be missing
		analysis.CheckBroken(r.Program, want, diags)
		return r
	}
	r.Analysis = binding.Analyse(r.Program, binding.Options{Facts: o.Facts, AllOutputs: o.WithoutHeat, SecretParameters: o.SecretParameters}, diags)
	r.Findings = analysis.Check(r.Program, r.Analysis, want, diags)
	return r
}

func (o Options) stopped(diags *source.Diagnostics) bool { return !o.Lint && diags.Failed() }

// read reads the template's text; nil on an error.
func (o Options) read(files *files, diags *source.Diagnostics) *source.File {
	text, err := o.Text, error(nil)
	if text == nil {
		text, err = files.access.Read(o.Template)
	} else if len(text) > MaxFile {
		err = fmt.Errorf("it has more than %d bytes, which is all that hotc reads", MaxFile)
	}
	if err != nil {
		diags.Add(CannotRead(o.Template, err))
		return nil
	}
	file := source.NewFile(o.Template, text)
	file.Portable = filepath.Base(o.Template)
	return file
}

func (r *Result) emit(o Options, files *files, diags *source.Diagnostics) {
	files.templates = r.Templates
	templates := files.collect(r.Program, r.Folder)
	r.Environments = files.environments(r.Environment, o.SecretParameters)
	if hooks := heat.DeleteHooks(r.Program, o.Signal); hooks != nil {
		r.Folder[heat.DeleteHooksFile] = hooks
		r.Environments = append(r.Environments, heat.DeleteHooksFile)
	}
	if len(r.Environments) > 0 {
		r.Folder[EnvironmentsFile] = []byte(strings.Join(r.Environments, "\n") + "\n")
	}
	if diags.Failed() {
		return
	}
	if o.Lint && len(r.Program.Servers) == 0 { // none of them is changed
		r.Emitted = &heat.Emitted{}
		for _, t := range templates {
			r.Folder[t.Target] = t.File.Text
		}
		o.Limits.check(r, diags)
		return
	}
	data := userdata.Options{AgentDigests: o.AgentDigests, Servers: len(r.Built.Plan.Servers)}
	encoded := make(chan error, 1)
	go func() { // concurrently with emission, the longest stage
		defer mistake.Ends()
		var err error
		r.PlanJSON, err = plan.Encode(r.Built.Plan)
		encoded <- err
	}()
	r.Emitted = heat.Emit(r.Program, r.Analysis, r.Built, heat.Options{Coordinator: o.Coordinator, AgentURL: o.AgentURL, Signal: o.Signal, AnySignal: o.AnySignal,
		MembersWait: membersWait(r, o.Signal), Templates: templates, UserData: data, UserDataLimit: o.Limits.UserData}, diags)
	if err := <-encoded; err != nil {
		diags.Add(edit.Internal(err.Error()))
	}
	if r.Emitted == nil || diags.Failed() {
		return
	}
	r.Folder[heat.RootFile] = r.Emitted.Text
	for name, text := range r.Emitted.Files {
		r.Folder[name] = text
	}
	for own := range r.Emitted.UserData {
		text, err := userdata.File(own, data)
		if err != nil {
			diags.Add(source.Fail(source.Usage, err.Error(), ""))
			return
		}
		r.Folder[heat.UserDataFile(own)] = text
	}
	if len(r.Built.Plan.Servers) > 0 {
		r.Folder["plan.json"] = r.PlanJSON
		if o.AgentURL == "" && len(o.AgentDigests) > 0 {
			text, _ := json.Marshal(o.AgentDigests) // strings; its keys are sorted
			r.Folder[AgentsFile] = append(text, '\n')
		}
		for digest, data := range r.Built.Files {
			r.Folder["files/"+digest] = data
		}
	}
	o.Limits.check(r, diags)
}

// HeatCannotTell lists, for a folder for a relay, what Heat does not show by itself.
func (r *Result) HeatCannotTell() []string {
	if r.Built.Plan.Signal != contract.RelaySignals {
		return nil
	}
	wait := membersWait(r, contract.RelaySignals)
	var held, scaling []string
	for _, s := range r.Program.Stacks() {
		for _, n := range s.StackResources {
			path := string(n.OwnPath())
			if n.Group() && n.HasRoles() && !wait[n.Resource] {
				held = append(held, path)
			}
			if n.Scales() && n.HasRoles() {
				scaling = append(scaling, path)
			}
		}
	}
	var lines []string
	if len(held) > 0 {
		lines = append(lines, "Heat takes members of "+strings.Join(held, ", ")+" for in service before their roles are done: these need what Heat makes after the group. The stack waits for them")
	}
	if len(scaling) > 0 {
		lines = append(lines, "when a policy scales "+strings.Join(scaling, ", ")+" the stack stays COMPLETE, whatever becomes of the new members: the group and `hotc status` tell")
	}
	return lines
}

// Unnoticed lists which members joining or leaving groups no role will notice.
func (r *Result) Unnoticed() []string {
	unwatched, followed := map[string]bool{}, map[string]bool{}
	for _, g := range r.Analysis.Gathers {
		switch {
		case g.Input.WatchAt.Known():
			followed[g.Group()] = true
		case g.StackResource.Open():
			unwatched[g.Group()] = true
		}
	}
	var lines []string
	if len(unwatched) > 0 {
		lines = append(lines, "when members join or leave "+strings.Join(slices.Sorted(maps.Keys(unwatched)), ", ")+" later, roles that read the list without `watch: true` do not notice: `hotc explain --changes` names them")
	}
	if len(followed) > 0 && r.Built.Plan.Signal != contract.RelaySignals {
		lines = append(lines, "members that leave "+strings.Join(slices.Sorted(maps.Keys(followed)), ", ")+" stay in the lists that roles follow, until another machine takes their place: only a relay tells that they have left (--signal=relay)")
	}
	return lines
}

// membersWait returns the groups whose members wait for their own roles.
func membersWait(r *Result, signal contract.Signalling) map[*hot.Resource]bool {
	if signal != contract.RelaySignals {
		return nil
	}
	return order.MembersThatWait(r.Program, r.Analysis)
}

type Limits struct {
	Template  int // bytes of each file
	Resources int // in the whole tree of stacks
	Depth     int // of nested stacks
	UserData  int // bytes after base64
}

// DefaultLimits are those of stock Heat and Nova (heat/common/config.py: max_template_size,
// max_resources_per_stack, max_nested_stack_depth).
var DefaultLimits = Limits{Template: 524288, Resources: 1000, Depth: 5, UserData: userdata.Base64Limit}

// Set changes a limit by name.
func (l *Limits) Set(name string, value int) error {
	limit := map[string]*int{"template": &l.Template, "resources": &l.Resources, "depth": &l.Depth, "user_data": &l.UserData}[name]
	if limit == nil {
		return fmt.Errorf("there is no limit %q: the limits are template, resources, depth and user_data", name)
	}
	*limit = value
	return nil
}

func (l Limits) check(r *Result, diags *source.Diagnostics) {
	start := source.Place{File: r.Program.Template.File}
	for _, name := range slices.Sorted(maps.Keys(r.Folder)) {
		if size := len(r.Folder[name]); size > l.Template && isHeats(name) {
			diags.Error(source.OverLimit, start, fmt.Sprintf("%s would have %d bytes; Heat takes %d per file (max_template_size)", name, size, l.Template),
				"split the template into nested stacks, or say --limit template=N if your cloud allows more")
		}
	}
	carried := 0
	for _, data := range r.Built.Files {
		carried += len(data)
	}
	if carried > deploy.MaxFiles {
		diags.Error(source.OverLimit, start, fmt.Sprintf("the files of the roles have %d bytes; the coordinator takes %d per deployment", carried, deploy.MaxFiles), driver.LargeHint)
	}
	if r.Emitted.Depth > l.Depth {
		diags.Error(source.OverLimit, start, fmt.Sprintf("with the stacks that hotc adds, they would be nested %d levels deep; Heat takes %d (max_nested_stack_depth)", r.Emitted.Depth, l.Depth),
			"nest less, or say --limit depth=N if your cloud allows more")
	}
	resources := nesting.Resources(r.Program.Root) + r.Emitted.Added
	if resources > l.Resources {
		diags.Error(source.OverLimit, start, fmt.Sprintf("the stack would have %d resources; Heat takes %d (max_resources_per_stack)", resources, l.Resources),
			"split it into several stacks, or say --limit resources=N if your cloud allows more")
	}
}

// isHeats reports whether a file of the folder is uploaded to Heat.
func isHeats(name string) bool { return name != "plan.json" && filepath.Dir(name) != "files" }
