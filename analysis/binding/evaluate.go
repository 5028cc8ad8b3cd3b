package binding

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Evaluator binds expressions from outside the templates, as if they were inputs of a
// role in the root stack.
type Evaluator struct {
	program *program.Program
	options Options
}

// NewEvaluator returns an evaluator for a program.
func NewEvaluator(p *program.Program, options Options) *Evaluator {
	return &Evaluator{program: p, options: options}
}

// Evaluate binds one expression. The error is a *source.Diagnostic.
func (v *Evaluator) Evaluate(e *hot.Expr) (*Bound, error) {
	var diags source.Diagnostics
	b := newBinder(v.program, v.options, &diags).reading(&program.Input{Name: "expression", Expr: e})
	bound := &Bound{}
	out, err := hot.Fold(e, b.resolve)
	if err != nil {
		b.failed(e.At, err)
	} else {
		*bound = Bound{Expr: out, Time: TimeOf(out), References: b.effects.references}
		b.checkComputable(out)
	}
	for _, d := range diags.All() {
		if d.Severity == source.Error {
			return nil, d
		}
	}
	return bound, nil
}
