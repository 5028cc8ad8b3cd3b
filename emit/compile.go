// Package emit makes the output folder of a template. Compile runs the stages in
// their order and is hotc's table of contents:
//
//	bytes → hot.ParseTemplate → roles.Lower → binding.Analyse → order.HeatCycles
//	      → emit/plan.Build and emit/heat.Emit → the folder
//
// Each stage is a function from value to value; what is found wrong is collected,
// and nothing is written if an error is among it.
package emit

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/order"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit/heat"
	"github.com/hotc-dev/hotc/emit/plan"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// Options are the user's wishes.
type Options struct {
	Template     string            // path
	Environments []string          // paths, the last one wins
	Parameters   map[string]string // of -P, as text
	Coordinator  string
	AgentURL     string
	AgentDigests map[userdata.Arch]string
	Signal       bool
	Facts        binding.Facts
	Limits       Limits
	Drivers      []driver.Driver
	Version      string
	// WithoutHeat says that no Heat will see the stack (`hotc run`): parameters left
	// to their defaults have them.
	WithoutHeat bool
}

// Result is what was made of a template.
type Result struct {
	Program  *program.Program
	Analysis *binding.Analysis
	Built    *plan.Built
	Emitted  *heat.Emitted // nil without Heat
	// PlanJSON is the text of plan.json.
	PlanJSON []byte
	Folder   Folder
}

// Compile makes the output folder, in memory. It returns nil if an error was
// found.
func Compile(o Options, diags *source.Diagnostics) *Result {
	files := &files{root: filepath.Dir(o.Template), diags: diags}
	text, err := readFile(o.Template)
	if err != nil {
		diags.Add(cannotRead(source.Place{}, o.Template, err))
		return nil
	}
	template := hot.ParseTemplate(source.NewFile(o.Template, text), diags)
	if template == nil || diags.Failed() {
		return nil
	}
	given := givenParameters(template, o, diags)
	given.ReadFile = files.read
	if diags.Failed() {
		return nil
	}
	r := &Result{Program: roles.Lower(template, given, o.Drivers, diags), Folder: Folder{}}
	r.Analysis = binding.Analyse(r.Program, binding.Options{Facts: o.Facts, AllOutputs: o.WithoutHeat}, diags)
	order.HeatCycles(template, r.Analysis, diags)
	if diags.Failed() {
		return nil
	}
	signal := "none"
	if o.Signal {
		signal = "heat"
	}
	r.Built = plan.Build(r.Program, r.Analysis, plan.Options{Compiler: "hotc " + o.Version, Signal: signal})
	if o.WithoutHeat {
		return r
	}
	r.emit(o, files, diags)
	if diags.Failed() {
		return nil
	}
	return r
}

// emit makes the files of the output folder.
func (r *Result) emit(o Options, files *files, diags *source.Diagnostics) {
	moved := files.collect(r.Program.Template, r.Folder)
	data := userdata.Options{AgentDigests: o.AgentDigests}
	encoded := make(chan error, 1)
	go func() { // beside the emission, which is the longest part of the work
		var err error
		r.PlanJSON, err = plan.Encode(r.Built.Plan)
		encoded <- err
	}()
	r.Emitted = heat.Emit(r.Program, r.Analysis, r.Built, heat.Options{Coordinator: o.Coordinator, AgentURL: o.AgentURL, Signal: o.Signal,
		Moved: moved, UserData: data, UserDataLimit: o.Limits.UserData}, diags)
	if err := <-encoded; err != nil {
		diags.Add(source.Fail(source.Internal, "hotc made a mistake, nothing was written: "+err.Error(), "please report it"))
	}
	if r.Emitted == nil || diags.Failed() {
		return
	}
	r.Folder["stack.yaml"] = r.Emitted.Text
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
		for digest, data := range r.Built.Files {
			r.Folder["files/"+digest] = data
		}
	}
	o.Limits.check(r, diags)
}

// Limits are those of a Heat installation.
type Limits struct {
	Template  int // bytes of each file
	Resources int // in the whole tree of stacks
	UserData  int // bytes after base64
}

// DefaultLimits are those of stock Heat and Nova (heat/common/config.py:
// max_template_size, max_resources_per_stack).
var DefaultLimits = Limits{Template: 524288, Resources: 1000, UserData: userdata.Base64Limit}

// Set changes a limit by its name.
func (l *Limits) Set(name string, value int) error {
	switch name {
	case "template":
		l.Template = value
	case "resources":
		l.Resources = value
	case "user_data":
		l.UserData = value
	default:
		return fmt.Errorf("there is no limit %q: the limits are template, resources and user_data", name)
	}
	return nil
}

func (l Limits) check(r *Result, diags *source.Diagnostics) {
	start := source.Place{File: r.Program.Template.File}
	names := make([]string, 0, len(r.Folder))
	for name := range r.Folder {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if size := len(r.Folder[name]); size > l.Template && isHeats(name) {
			diags.Error(source.OverLimit, start, fmt.Sprintf("%s would have %d bytes; Heat takes %d a file (max_template_size)", name, size, l.Template),
				"split the template into nested stacks, or say --limit template=N if your cloud allows more")
		}
	}
	resources := len(r.Program.Template.Resources) + heat.AddedResources(r.Emitted)
	if resources > l.Resources {
		diags.Error(source.OverLimit, start, fmt.Sprintf("the stack would have %d resources; Heat takes %d (max_resources_per_stack)", resources, l.Resources),
			"split it into several stacks, or say --limit resources=N if your cloud allows more")
	}
}

// isHeats says whether a file of the folder goes to Heat.
func isHeats(name string) bool { return name != "plan.json" && filepath.Dir(name) != "files" }

// maxFile is how large a file may be that hotc reads, in bytes.
const maxFile = 64 << 20

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is not a regular file")
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it has %d bytes; hotc reads at most %d", info.Size(), maxFile)
	}
	return os.ReadFile(path)
}

func cannotRead(at source.Place, path string, err error) *source.Diagnostic {
	if pathErr, ok := err.(*os.PathError); ok {
		err = pathErr.Err
	}
	return &source.Diagnostic{Code: source.CannotRead, At: at, Message: fmt.Sprintf("cannot read %s: %v", path, err)}
}
