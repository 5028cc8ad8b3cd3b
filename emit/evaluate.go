package emit

import (
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Scope is the context in which expressions outside a template are evaluated.
type Scope struct {
	Template  *hot.Template
	Evaluator *binding.Evaluator
}

// NewScope reads what the expressions may refer to: a template or, without one, only parameters,
// with the functions of a version. It returns nil on an error.
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
	// no plan is built from the values, so nothing needs to be pinned
	p.Supplied.Unpinnable = nil
	if stackName != "" {
		p.Supplied.Parameters[hot.StackName], p.Supplied.Parameters[hot.CFNStackName] = stackName, stackName
	}
	return &Scope{Template: p.Template, Evaluator: binding.NewEvaluator(p, binding.Options{Facts: o.Facts})}
}

// withoutTemplate returns a program of parameters alone: those of -P as strings, those of
// environments as written there.
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
