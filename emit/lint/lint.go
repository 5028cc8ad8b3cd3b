// Package lint is `hotc lint`: it looks at many templates at once and says what is wrong with them.
//
//	arguments → Find → Run (every root beside the others) → filter → format
//
// A template that another one nests is judged by what that one gives it, and not a second
// time by itself. Whether it is nested, only the other's analysis knows; a glance at the
// texts tells which templates are likely roots, and these are looked at first.
package lint

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// Options are the user's wishes.
type Options struct {
	// Compile is what holds for all templates.
	Compile emit.Options
	// Untrusted says that the templates are a stranger's.
	Untrusted bool
	// FailOn is the least severity that fails.
	FailOn Level
	Config *Config
	// Known are the findings that were there before; nil if that is no matter.
	Known *Known
}

// Run looks at files. What is found is in the order of the files, and does not depend on
// which was looked at first.
func Run(ctx context.Context, targets []Target, o Options) (*Report, error) {
	r, err := look(ctx, targets, o)
	if err != nil {
		return nil, err
	}
	return r.report(), nil
}

func look(ctx context.Context, targets []Target, o Options) (*run, error) {
	r := &run{Options: o, targets: slices.Clone(targets), looked: make([]*looked, len(targets)), texts: map[string][]byte{}, watch: newWatch()}
	if err := each(ctx, len(targets), func(i int) error { r.read(i); return nil }); err != nil {
		return nil, err
	}
	if err := r.lookAtAll(ctx, r.roots()); err != nil {
		return nil, err
	}
	return r, r.complete(ctx)
}

// complete looks at what nothing has shown so far.
func (r *run) complete(ctx context.Context) error {
	nested := r.nested()
	var left []int
	for i, l := range r.looked {
		if l == nil && !nested[absolute(r.targets[i].Path)] {
			left = append(left, i)
		}
	}
	return r.lookAtAll(ctx, left)
}

// run is one look at all files.
type run struct {
	Options
	targets []Target
	looked  []*looked         // nil of those that were not looked at by themselves
	texts   map[string][]byte // that stand for files, by path
	*watch
}

// each does something with so many files, several at a time.
func each(ctx context.Context, files int, do func(i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(runtime.GOMAXPROCS(0), files) { // few goroutines, whose stacks grow once
		group.Go(func() error {
			defer mistake.Ends()
			for i := int(next.Add(1)) - 1; i < files; i = int(next.Add(1)) - 1 {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// nested are the paths of the templates that others have shown in their light.
func (r *run) nested() map[string]bool {
	out := map[string]bool{}
	for _, l := range r.looked {
		if l == nil {
			continue
		}
		for _, name := range l.Nested {
			out[absolute(name)] = true
		}
	}
	return out
}

// report is what all have found. What is found again by way of another template is kept once.
func (r *run) report() *Report {
	out := &Report{Version: r.Compile.Version, FailOn: r.FailOn}
	f := &filter{Config: r.Config, comments: map[string][]*ignore{}, failed: map[string]bool{}, packs: r.Compile.Packs}
	nested := r.nested()
	var kept []int
	found := make([][]*source.Diagnostic, len(r.looked))
	for i, l := range r.looked {
		out.Files = append(out.Files, r.targets[i].Path)
		if l == nil || nested[absolute(r.targets[i].Path)] {
			continue
		}
		kept, found[i] = append(kept, i), l.found.All()
		for _, file := range l.Files {
			f.see(file, l.found.Failed())
		}
	}
	seen, doubted := map[string]bool{}, r.doubted(kept, found)
	for _, i := range kept {
		for _, d := range found[i] {
			if key := d.Essence(); !seen[key] && !doubted(d) {
				seen[key] = true
				if x, is := f.apply(Finding{Diagnostic: d, File: fileOf(d, r.targets[i])}); is {
					out.Findings = append(out.Findings, x)
				}
			}
		}
	}
	for _, x := range f.useless() {
		out.Findings = slices.Insert(out.Findings, out.before(x), x)
	}
	if r.Known != nil {
		out.Gone = r.Known.suppress(out.Findings)
	}
	return out
}

// doubted says of findings that hold only if they are found everywhere which are not: not by
// way of each root that has to do with their file.
func (r *run) doubted(kept []int, all [][]*source.Diagnostic) func(*source.Diagnostic) bool {
	everywhere := map[source.Code]bool{}
	for _, x := range rule.All() {
		everywhere[x.Code] = x.Everywhere
	}
	found := map[string]int{}
	for _, i := range kept {
		for _, d := range all[i] {
			if everywhere[d.Code] {
				found[d.Essence()]++
			}
		}
	}
	return func(d *source.Diagnostic) bool {
		if !everywhere[d.Code] {
			return false
		}
		roots := 0
		for _, i := range kept {
			if own := absolute(r.targets[i].Path) == fileKey(d.At.File); !own && slices.ContainsFunc(r.looked[i].Files, func(f *source.File) bool { return fileKey(f) == fileKey(d.At.File) }) {
				roots++
			}
		}
		return found[d.Essence()] < roots
	}
}
