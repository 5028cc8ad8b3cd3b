package emit

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Scope is what expressions outside of a template are evaluated in.
type Scope struct {
	Template  *hot.Template
	Evaluator *binding.Evaluator
}

// NewScope reads what the expressions may refer to: a template or, without one, just
// parameters, with the functions of a version. It returns nil if an error was found.
func NewScope(o Options, version hot.Version, stackName string, diags *source.Diagnostics) *Scope {
	var p *program.Program
	if o.Template != "" {
		r := Analyse(o, diags)
		if r == nil {
			return nil
		}
		p = r.Program
	} else if p = withoutTemplate(o, version, diags); p == nil {
		return nil
	}
	// no plan is made of the values, so nothing needs to be pinned
	p.Supplied.Unpinnable = nil
	if stackName != "" {
		p.Supplied.Parameters[hot.StackName], p.Supplied.Parameters[hot.CFNStackName] = stackName, stackName
	}
	return &Scope{Template: p.Template, Evaluator: binding.NewEvaluator(p, binding.Options{Facts: o.Facts})}
}

// withoutTemplate is a program of parameters alone: those of -P as text, those of
// environments as they are written there.
func withoutTemplate(o Options, version hot.Version, diags *source.Diagnostics) *program.Program {
	t := hot.ParseTemplate(source.NewFile("", []byte("heat_template_version: "+version.String()+"\n")), diags)
	files := o.files(diags)
	env := readEnvironments(o, t, files, diags)
	if diags.Failed() {
		return nil
	}
	given := &program.Supplied{Parameters: map[string]value.Value{}, ReadFile: files.read, OpenFolder: files.open}
	for _, settings := range []map[string]environment.Setting{env.Defaults, env.Parameters} {
		for name, s := range settings {
			given.Parameters[name] = s.Value
		}
	}
	for name, text := range o.Parameters {
		given.Parameters[name] = text
	}
	return program.New(t, given)
}
