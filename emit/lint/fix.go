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

// Mending makes the fixes that findings carry, and believes none of them: what was mended
// is looked at again, and a fix after which its finding is still there, or another one is
// found, is not made. Fixes that touch each other are made one after the other.

// Change is a file that was mended.
type Change struct {
	Path          string
	Before, After []byte
}

// Fix looks at files as Run does and makes the fixes of what is found, also those that
// are guesses if unsafe. Nothing is written; the report is of the mended texts.
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

// mending is one call of Fix.
type mending struct {
	run     *run
	unsafe  bool
	before  map[string]*source.File // as it was read, by path
	refused map[string]bool         // fixes that are not made, by the finding
}

// round makes the fixes that do not touch each other; false if there is none.
func (m *mending) round(ctx context.Context) (bool, error) {
	found := m.run.report()
	fixes := m.choose(found)
	if len(fixes) == 0 {
		return false, nil
	}
	// all at once, where that goes well; else the half of them, so that one which does not
	// keeps few others back
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

// choose are the findings whose fixes can be made together, by file and place.
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

// extent is where the edits of a finding's fix are.
func (f Finding) extent() source.Span {
	out := f.Fix.Edits[0].Span
	for _, e := range f.Fix.Edits {
		out = source.Span{Start: min(out.Start, e.Span.Start), End: max(out.End, e.Span.End)}
	}
	return out
}

// number is what an edit elsewhere may change in a message.
var number = regexp.MustCompile(`[0-9]+`)

// essence is a finding wherever its file's lines are now.
func (f Finding) essence() string {
	return fmt.Sprintf("%s\x00%s\x00%d\x00%s", f.File, f.Code, f.Severity, number.ReplaceAllString(f.Message, "#"))
}

// try makes some fixes and looks again. It returns nil if what they mend is not gone, or if
// anything is found that was not.
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
			return nil, nil //nolint:nilerr // a fix that cannot be made is none
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

// again is a run in which some texts are others; what has nothing to do with them is not
// looked at again.
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

// mended gives the texts that are mended, and for the rest what is there.
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

// Write writes a mended file, whole or not at all.
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
