package binding

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// scope says for whom an expression is resolved. It never changes: who follows a
// reference to another stack, or only looks, has a scope of its own.
type scope struct {
	stack    *program.Stack // whose expressions are resolved
	template *hot.Template  // the stack's
	reader   *program.Input // that is bound; nil for places that Heat evaluates
	via      *hot.Expr      // the call in the reader's own stack that led to this one
	effects  *effects
	doubtful bool // it is Heat that decides whether the resource is there that is looked at
}

// at is the binder for a resource's places.
func (b *binder) at(r *hot.Resource) *binder {
	if r == nil || r.Condition == nil {
		return b
	}
	e, err := hot.Fold(b.template.Enabled(r.Condition), b.stack.Supplied.Peek)
	inner := *b
	inner.doubtful = err == nil && !e.IsValue()
	return &inner
}

// effects are what resolving asks for beside the value: facts that are published, values
// that are carried between stacks, parameters that are pinned, what is said of it all.
// Who only looks drops them.
type effects struct {
	references []Reference
	steps      []func()
	now        bool // each is had at once
	silent     bool // nobody asks for the references
}

// add notes one more.
func (x *effects) add(step func()) {
	if x.now {
		step()
	} else {
		x.steps = append(x.steps, step)
	}
}

// take has all effects of what was only looked at before.
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

// through is the binder for what a call of this stack leads to.
func (b *binder) through(call *hot.Expr, to *program.Stack) *binder {
	inner := b.in(to)
	if inner.via == nil {
		inner.via = call
	}
	return inner
}

// reading is the binder for an input, or with nil for what Heat evaluates. Its effects are
// had; the references are its own.
func (b *binder) reading(in *program.Input) *binder {
	inner := *b
	inner.reader, inner.effects = in, &effects{now: true}
	return &inner
}

// looking is the binder for who wants to know a value, and perhaps has its effects later.
func (b *binder) looking() *binder {
	inner := *b
	inner.effects = &effects{silent: b.effects.silent}
	return &inner
}

// asHeat is looking for a place that Heat evaluates.
func (b *binder) asHeat() *binder {
	inner := *b
	inner.reader, inner.effects = nil, &effects{silent: true}
	return &inner
}

// report says something of what is resolved, unless it is only looked at.
func (b *binder) report(severity source.Severity, code source.Code, at source.Place, message, hint string, notes ...source.Note) {
	b.effects.add(func() {
		b.diags.Add(&source.Diagnostic{Severity: severity, Code: code, At: at, Message: message, Hint: hint, Notes: notes})
	})
}
