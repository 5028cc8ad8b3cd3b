package lint

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// Fixing applies the fixes that findings carry, and trusts none of them: fixed files are linted
// again, and a fix that leaves its finding, or causes a new one, is not applied. Overlapping
// fixes are applied one after the other.

// Change is a fixed file.
type Change struct {
	Path          string
	Before, After []byte
}

// Fix lints files as Run does and applies the fixes of the findings, with unsafe also those that
// are guesses. Nothing is written; the report is of the fixed texts.
func Fix(ctx context.Context, targets []Target, o Options, unsafe bool) ([]Change, *Report, error) {
	r, err := look(ctx, targets, o)
	if err != nil {
		return nil, nil, err
	}
	m := &mending{run: r, unsafe: unsafe, before: map[string]*source.File{}, left: map[string]string{}, others: newOthers(r)}
	for more := true; more; { // each round has fewer findings than the last, or fewer fixes to try
		if more, err = m.round(ctx); err != nil {
			return nil, nil, err
		}
	}
	var out []Change
	for _, path := range slices.Sorted(maps.Keys(m.before)) {
		if after, is := m.run.texts[path]; is {
			out = append(out, Change{m.before[path].Name, m.before[path].Text, after})
		}
	}
	return out, m.report(), nil
}

// mending is the state of one call of Fix.
type mending struct {
	run    *run
	unsafe bool
	before map[string]*source.File // as it was read, by path
	left   map[string]string       // why fixes are not applied, by the finding's place
	others *others
}

// report is of the fixed texts: a fix that was left is not offered again, and the hint says why.
func (m *mending) report() *Report {
	r := m.run.report()
	for i, f := range r.Findings {
		if f.Fix == nil || m.left[f.place()] == "" {
			continue
		}
		d := *f.Diagnostic
		why := "not fixed: " + m.left[f.place()]
		if d.Hint != "" {
			why = d.Hint + " (" + why + ")"
		}
		d.Fix, d.Hint = nil, why
		r.Findings[i].Diagnostic = &d
	}
	return r
}

// round applies fixes that do not overlap; false if there are none. All at once are tried. Where that
// does harm, half of the fixes are tried that may have done it, those of the templates that nest each
// other: the other templates are fixed at once, so that one bad fix costs no more in a large folder.
func (m *mending) round(ctx context.Context) (bool, error) {
	fixes, err := m.choose(ctx, m.run.report())
	if err != nil || len(fixes) == 0 {
		return false, err
	}
	for len(fixes) > 0 {
		next, harmed, err := m.try(ctx, fixes)
		if err != nil {
			return false, err
		}
		if len(harmed) == 0 {
			m.run = next
			return true, nil
		}
		groups := m.run.groups()
		suspect := map[string]bool{}
		for path := range harmed {
			suspect[groups(path)] = true
		}
		isSuspect := func(f Finding) bool { return suspect[groups(absolute(f.File))] }
		bad, good := lists.Only(fixes, isSuspect), lists.Only(fixes, func(f Finding) bool { return !isSuspect(f) })
		if len(good) > 0 {
			if next, harmed, err = m.try(ctx, good); err != nil {
				return false, err
			}
		}
		switch {
		case len(good) > 0 && len(harmed) == 0:
			m.run = next
		case len(good) > 0: // harm beyond the groups: any of them may have done it
			bad, groups = fixes, func(string) string { return "" }
		}
		fixes = m.half(bad, groups)
	}
	return true, nil
}

// half is the first half of the fixes of each group of templates. A single one is refused.
func (m *mending) half(fixes []Finding, groups func(string) string) (some []Finding) {
	by := map[string][]Finding{}
	for _, f := range fixes {
		group := groups(absolute(f.File))
		by[group] = append(by[group], f)
	}
	for _, group := range slices.Sorted(maps.Keys(by)) {
		if all := by[group]; len(all) > 1 {
			some = append(some, all[:len(all)/2]...)
		} else {
			m.left[all[0].place()] = "then it is found again, or something else is"
		}
	}
	return some
}

// groups returns a function that names the group of a file: of the templates that were linted
// together, directly or not.
func (r *run) groups() func(path string) string {
	above := map[string]string{}
	top := func(path string) string {
		for above[path] != "" {
			path = above[path]
		}
		return path
	}
	for i, l := range r.looked {
		if l == nil {
			continue
		}
		own := top(absolute(r.targets[i].Path))
		environments := lists.Map(r.Config.compile(r.targets[i].Path, r.Compile).Environments, absolute) // shared by all
		for _, f := range l.Files {
			path := absolute(f.Name)
			if other := top(path); other != own && !slices.Contains(environments, path) {
				above[other] = own
			}
		}
	}
	return top
}

// choose returns the findings whose fixes can be applied together, by file and place.
func (m *mending) choose(ctx context.Context, r *Report) (out []Finding, err error) {
	for f := range r.Active() {
		if f.Fix == nil || f.Fix.Unsafe && !m.unsafe || f.At.File.Within.Known() || m.left[f.place()] != "" {
			continue
		}
		if len(f.Fix.Parameters) > 0 {
			why, err := m.others.against(ctx, m.run, absolute(f.File), f.Fix.Parameters)
			if err != nil {
				return nil, err
			}
			if why != "" {
				m.left[f.place()] = why
				continue
			}
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(absolute(a.File), absolute(b.File)), cmp.Compare(a.extent().Start, b.extent().Start))
	})
	last := map[string]uint32{}
	return slices.DeleteFunc(out, func(f Finding) bool {
		path, span := absolute(f.File), f.extent()
		if end, is := last[path]; is && span.Start <= end {
			return true
		}
		last[path] = span.End
		return false
	}), nil
}

// extent is the span of the edits of a finding's fix.
func (f Finding) extent() source.Span {
	out := f.Fix.Edits[0].Span
	for _, e := range f.Fix.Edits {
		out = source.Span{Start: min(out.Start, e.Span.Start), End: max(out.End, e.Span.End)}
	}
	return out
}

// number matches what an edit elsewhere may change in a message.
var number = regexp.MustCompile(`[0-9]+`)

// essence identifies a finding regardless of its line.
func (f Finding) essence() string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%s", f.File, f.Code, f.Severity, number.ReplaceAllString(f.Message, "#"))
}

// place tells a finding apart from others of the same essence in its file.
func (f Finding) place() string {
	return f.essence() + "\x00" + f.At.File.Slice(source.Span{Start: f.At.File.LineStart(f.At.Span.Start), End: f.At.File.LineEnd(f.At.Span.Start)})
}

// try applies some fixes and lints again. Harmed are the files with a fixed finding that remains, or
// with a new one.
func (m *mending) try(ctx context.Context, fixes []Finding) (next *run, harmed map[string]bool, err error) {
	edits := map[string][]source.Edit{}
	files := map[string]*source.File{}
	left := map[string]int{}
	for f := range m.run.report().Active() {
		left[f.essence()]++
	}
	for _, f := range fixes {
		path := absolute(f.File)
		files[path] = f.At.File
		edits[path] = append(edits[path], f.Fix.Edits...)
		left[f.essence()]--
	}
	harmed = map[string]bool{}
	changed := map[string][]byte{}
	for path, es := range edits {
		if changed[path], err = source.Apply(files[path].Text, es); err != nil {
			harmed[path] = true // a fix that cannot be applied is skipped
		}
	}
	if len(harmed) > 0 {
		return nil, harmed, nil
	}
	if next, err = m.run.again(ctx, changed); err != nil {
		return nil, nil, err
	}
	for f := range next.report().Active() {
		if left[f.essence()]--; left[f.essence()] < 0 {
			harmed[absolute(f.File)] = true
		}
	}
	if len(harmed) > 0 {
		return nil, harmed, nil
	}
	for path, file := range files {
		if m.before[path] == nil {
			m.before[path] = file
		}
	}
	return next, nil, nil
}

// again is a run with some texts changed; unrelated files are not linted again.
func (r *run) again(ctx context.Context, changed map[string][]byte) (*run, error) {
	next := &run{Options: r.Options, targets: slices.Clone(r.targets), looked: slices.Clone(r.looked), texts: maps.Clone(r.texts), watch: newWatch()}
	maps.Copy(next.texts, changed)
	for i, t := range next.targets {
		if text, is := changed[absolute(t.Path)]; is {
			next.targets[i].Text = text
		}
		if l := next.looked[i]; l != nil && slices.ContainsFunc(l.Files, func(f *source.File) bool { _, is := changed[absolute(f.Name)]; return is }) {
			next.looked[i] = nil
		}
	}
	return next, next.complete(ctx)
}

// mended reads the fixed texts, and otherwise the stored files.
type mended struct {
	emit.Access
	texts map[string][]byte
}

func (m mended) Read(path string) ([]byte, error) {
	if text, is := m.texts[absolute(path)]; is {
		return text, nil
	}
	return m.Access.Read(path)
}

// Write writes a fixed file atomically.
func (c Change) Write() error {
	info, err := os.Stat(c.Path)
	var now []byte
	if err == nil {
		now, err = emit.Machine{}.Read(c.Path)
	}
	switch {
	case err != nil:
		return emit.CannotRead(c.Path, err)
	case string(now) != string(c.Before):
		return source.Fail(source.OutputFolder, c.Path+" has changed meanwhile, and was not overwritten", "run the fix again")
	}
	return writeFile(c.Path, c.After, info.Mode()&fs.ModePerm)
}
