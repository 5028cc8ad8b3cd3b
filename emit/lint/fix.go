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
	m := &mending{run: r, unsafe: unsafe, before: map[string]*source.File{}, refused: map[string]bool{}}
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
	return out, m.run.report(), nil
}

// mending is the state of one call of Fix.
type mending struct {
	run     *run
	unsafe  bool
	before  map[string]*source.File // as it was read, by path
	refused map[string]bool         // fixes not to apply, by finding
}

// round applies fixes that do not overlap; false if there are none.
func (m *mending) round(ctx context.Context) (bool, error) {
	found := m.run.report()
	fixes := m.choose(found)
	if len(fixes) == 0 {
		return false, nil
	}
	// all at once if that works; otherwise half of them, so that a bad one blocks few others
	for n := len(fixes); ; n /= 2 {
		next, err := m.try(ctx, found, fixes[:n])
		if err != nil {
			return false, err
		}
		if next != nil {
			m.run = next
			return true, nil
		}
		if n == 1 {
			m.refused[fixes[0].essence()] = true
			return true, nil
		}
	}
}

// choose returns the findings whose fixes can be applied together, by file and place.
func (m *mending) choose(r *Report) (out []Finding) {
	for f := range r.Active() {
		if f.Fix != nil && (m.unsafe || !f.Fix.Unsafe) && !f.At.File.Within.Known() && !m.refused[f.essence()] {
			out = append(out, f)
		}
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
	})
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

// try applies some fixes and lints again. It returns nil if a fixed finding remains, or a new
// one appears.
func (m *mending) try(ctx context.Context, found *Report, fixes []Finding) (*run, error) {
	edits := map[string][]source.Edit{}
	files := map[string]*source.File{}
	left := map[string]int{}
	for f := range found.Active() {
		left[f.essence()]++
	}
	for _, f := range fixes {
		path := absolute(f.File)
		files[path] = f.At.File
		edits[path] = append(edits[path], f.Fix.Edits...)
		left[f.essence()]--
	}
	changed := map[string][]byte{}
	for path, es := range edits {
		text, err := source.Apply(files[path].Text, es)
		if err != nil {
			return nil, nil //nolint:nilerr // a fix that cannot be applied is skipped
		}
		changed[path] = text
	}
	next, err := m.run.again(ctx, changed)
	if err != nil {
		return nil, err
	}
	for f := range next.report().Active() {
		if left[f.essence()]--; left[f.essence()] < 0 {
			return nil, nil
		}
	}
	for path, file := range files {
		if m.before[path] == nil {
			m.before[path] = file
		}
	}
	return next, nil
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
