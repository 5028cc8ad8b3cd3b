// Package lint is `hotc lint`: it checks many templates at once.
//
//	arguments → Find → Run (every root beside the others) → filter → format
//
// A template nested by another is checked with the arguments it gets there, and not again on its
// own. Only the analysis of the other template knows whether it is nested; a quick scan of the
// texts finds the likely roots, which are checked first.
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

// Options are the user's settings.
type Options struct {
	// Compile are the options for all templates.
	Compile emit.Options
	// Untrusted means that the templates are not trusted.
	Untrusted bool
	// FailOn is the lowest severity that fails.
	FailOn Level
	Config *Config
	// Known is the baseline; nil if there is none.
	Known *Known
}

// Run lints files. Findings are in the order of the files, whichever was linted first.
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

// complete lints the files that no root has covered.
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

// run is one pass over all files.
type run struct {
	Options
	targets []Target
	looked  []*looked         // nil for files not linted on their own
	texts   map[string][]byte // replace files, by path
	*watch
}

// each calls do for so many files, several at a time.
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

// nested returns the paths of templates that were linted as nested in others.
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

// report merges all findings. A finding repeated by way of another template is kept once.
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

// doubted reports, for findings that must occur everywhere to hold, which do not: they are
// missing by way of some root that involves their file.
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
