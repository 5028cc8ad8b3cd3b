package binding

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// scope says for whom an expression is resolved. It is immutable: following a
// reference to another stack, or a dry run, takes a scope of its own.
type scope struct {
	stack       *program.Stack // whose expressions are resolved
	template    *hot.Template  // the stack's
	reader      *program.Input // the input being bound; nil for places that Heat evaluates
	via         *hot.Expr      // the call in the reader's own stack that led to this one
	effects     *effects
	mayBeAbsent bool // Heat decides whether the enclosing resource exists
}

// at is the binder for a resource's places.
func (b *binder) at(r *hot.Resource) *binder {
	if r == nil || r.Condition == nil {
		return b
	}
	e, err := hot.Fold(b.template.Enabled(r.Condition), b.stack.Supplied.Peek)
	inner := *b
	inner.mayBeAbsent = err == nil && !e.IsValue()
	return &inner
}

// effects are the side effects of resolving: facts to publish, values to carry between
// stacks, parameters to pin, references and diagnostics. A dry run drops them.
type effects struct {
	references []Reference
	steps      []func()
	now        bool // run each at once
	silent     bool // do not collect references
}

// add runs an effect or queues it.
func (x *effects) add(step func()) {
	if x.now {
		step()
	} else {
		x.steps = append(x.steps, step)
	}
}

// take runs or queues all effects of a dry run.
func (x *effects) take(looked *effects) {
	x.references = append(x.references, looked.references...)
	for _, step := range looked.steps {
		x.add(step)
	}
}

// in is the binder for a stack's own expressions.
func (b *binder) in(s *program.Stack) *binder {
	inner := *b
	inner.stack, inner.template = s, s.Template
	return &inner
}

// through is the binder for another stack's expressions, reached by a call of this one.
func (b *binder) through(call *hot.Expr, to *program.Stack) *binder {
	inner := b.in(to)
	if inner.via == nil {
		inner.via = call
	}
	return inner
}

// reading is the binder for an input, or with nil for what Heat evaluates. Its effects
// run at once; the references are its own.
func (b *binder) reading(in *program.Input) *binder {
	inner := *b
	inner.reader, inner.effects = in, &effects{now: true}
	return &inner
}

// dryRun is the binder for a dry run, whose effects may be taken later.
func (b *binder) dryRun() *binder {
	inner := *b
	inner.effects = &effects{silent: b.effects.silent}
	return &inner
}

// asHeat is the binder for a dry run as a place that Heat evaluates.
func (b *binder) asHeat() *binder {
	inner := *b
	inner.reader, inner.effects = nil, &effects{silent: true}
	return &inner
}

// report adds a diagnostic, unless this is a dry run.
func (b *binder) report(severity source.Severity, code source.Code, at source.Place, message, hint string, notes ...source.Note) {
	b.effects.add(func() {
		b.diags.Add(&source.Diagnostic{Severity: severity, Code: code, At: at, Message: message, Hint: hint, Notes: notes})
	})
}
