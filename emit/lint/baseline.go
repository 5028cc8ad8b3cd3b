package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// Known is a baseline of earlier findings: a project that adopts the linter fails only on new
// ones. It has no line numbers, since edits above a finding move it.
type Known struct {
	path  string
	count map[known]int
}

type known struct {
	File    string `json:"file"` // relative to the baseline's folder, with slashes
	Code    string `json:"code"`
	Message string `json:"message"`
}

type baseline struct {
	Version  int             `json:"version"`
	Findings []baselineEntry `json:"findings"`
}

type baselineEntry struct {
	known
	// Count is how often it occurs.
	Count int `json:"count"`
}

const baselineVersion = 1

func ReadKnown(path string) (*Known, error) {
	text, err := emit.Machine{}.Read(path)
	if err != nil {
		d := emit.CannotRead(path, err)
		if errors.Is(err, fs.ErrNotExist) {
			d.Hint = "`hotc lint --write-baseline` writes it"
		}
		return nil, d
	}
	var b baseline
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	what := ""
	switch err := d.Decode(&b); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		what = "is not a baseline: its JSON ends before it is whole"
	case err != nil:
		what = fmt.Sprintf("is not a baseline: %v", err)
	case b.Version != baselineVersion:
		what = fmt.Sprintf("has format version %d; this hotc reads version %d", b.Version, baselineVersion)
	}
	if what != "" {
		return nil, source.Fail(source.BadConfig, path+" "+what, "`hotc lint --write-baseline` writes it again")
	}
	k := &Known{path: path, count: map[known]int{}}
	for _, e := range b.Findings {
		k.count[e.known] += e.Count
	}
	return k, nil
}

// suppress suppresses earlier findings, each as often as it occurred. It returns how many of
// them no longer occur.
func (k *Known) suppress(found []Finding) (gone int) {
	left := maps.Clone(k.count)
	for i := range found {
		f := &found[i]
		if key := knownOf(*f, k.path); f.Suppressed == nil && left[key] > 0 {
			left[key]--
			f.Suppressed = &Suppression{By: Baseline, Reason: "in the baseline " + k.path}
		}
	}
	for _, n := range left {
		gone += n
	}
	return gone
}

func knownOf(f Finding, baseline string) known {
	name := f.File
	if rel, err := filepath.Rel(filepath.Dir(absolute(baseline)), absolute(name)); err == nil {
		name = rel
	}
	return known{filepath.ToSlash(name), string(f.Code), f.Message}
}

// WriteKnown writes a baseline of all findings that only a baseline suppresses.
func (r *Report) WriteKnown(path string) error {
	b, index := baseline{baselineVersion, []baselineEntry{}}, map[known]int{}
	for _, f := range r.Findings {
		if f.Suppressed != nil && f.Suppressed.By != Baseline {
			continue
		}
		key := knownOf(f, path)
		i, is := index[key]
		if !is {
			i, index[key] = len(b.Findings), len(b.Findings)
			b.Findings = append(b.Findings, baselineEntry{known: key})
		}
		b.Findings[i].Count++
	}
	var text bytes.Buffer
	if err := WriteJSON(&text, b); err != nil {
		return err
	}
	return writeFile(path, text.Bytes(), 0o644)
}

// WriteJSON writes JSON for programs that people can read, too.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// writeFile replaces a file atomically. If the name is a link, its target is written.
func writeFile(path string, text []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	err := func() error {
		f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-")
		if err != nil {
			return err
		}
		defer os.Remove(f.Name()) // after the rename it no longer exists
		_, err = f.Write(text)
		if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
			return err
		}
		return os.Rename(f.Name(), path)
	}()
	if err != nil {
		return source.Fail(source.OutputFolder, fmt.Sprintf("cannot write %s: %v", path, source.Bare(err)), "")
	}
	return nil
}
