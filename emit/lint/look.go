package lint

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// looked is the result of linting one file.
type looked struct {
	emit.Linted
	found source.Diagnostics
}

func (r *run) lookAtAll(ctx context.Context, which []int) error {
	b := bounds{}
	if r.Untrusted {
		b = untrusted
	}
	return r.within(ctx, b, func(ctx context.Context) error {
		return each(ctx, len(which), func(i int) error { return r.lookAt(which[i]) })
	})
}

func (r *run) lookAt(i int) error {
	t := r.targets[i]
	l, o := &looked{}, r.Config.compile(t.Path, r.Compile)
	o.Template, o.Text = t.Path, t.Text
	var err error
	if o.Access, err = r.access(t); err != nil {
		if d, cannot := source.AsDiagnostic(err); cannot {
			l.found.Add(d)
			r.looked[i] = l
			return nil
		}
		return err
	}
	o.Access = mended{o.Access, r.texts}
	if err := r.on(t.Path, func() { l.Linted = emit.Lint(o, &l.found) }); err != nil {
		return err
	}
	if t.Folder != "" && l.found.Failed() { // a folder may have what others are made of
		for _, d := range l.found.All() {
			if d.Code == source.Unrendered {
				d.Severity = source.Info
			}
		}
	}
	r.looked[i] = l
	return nil
}

// access returns the access to the files that a target may read.
func (r *run) access(t Target) (emit.Access, error) {
	environments := r.Config.compile(t.Path, r.Compile).Environments
	switch {
	case !r.Untrusted:
		return emit.Machine{}, nil
	case t.Folder == "":
		return emit.Confine(t.Path, environments)
	}
	return emit.ConfineTo(t.Folder, environments)
}

// read reads a file to lint. An unreadable one stays without text; linting it reports that.
func (r *run) read(i int) {
	if t := &r.targets[i]; t.Text == nil {
		if access, err := r.access(*t); err == nil {
			t.Text, _ = access.Read(t.Path) // reported when it is linted
		}
	}
}

// roots returns the likely roots. This only saves work: a root mistaken for a nested template is
// linted later, a nested template mistaken for a root is linted once too often.
func (r *run) roots() (roots []int) {
	named := map[string]bool{}
	for _, t := range r.targets {
		for _, path := range t.names() {
			named[path] = true
		}
	}
	for i, t := range r.targets {
		if !named[absolute(t.Path)] {
			roots = append(roots, i)
		}
	}
	return roots
}

// typeName finds resource types that may be templates.
var typeName = regexp.MustCompile(`\btype["']?:[ \t]*["']?([^\s"',{}]+)`)

// names returns the templates that a text appears to nest.
func (t Target) names() (paths []string) {
	if !bytes.Contains(t.Text, []byte(".yaml")) && !bytes.Contains(t.Text, []byte(".template")) {
		return nil // the usual case
	}
	for _, m := range typeName.FindAllSubmatch(t.Text, -1) {
		if name := string(m[1]); environment.IsTemplate(name) {
			if path, err := source.Locate(name, filepath.Dir(t.Path)); err == nil {
				paths = append(paths, absolute(path))
			}
		}
	}
	return paths
}

// absolute returns the path by which files are compared.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return filepath.Clean(path)
}
