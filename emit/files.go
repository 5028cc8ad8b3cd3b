package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// files reads what a template names, as the real client finds it
// (heatclient/common/template_utils.py): relative to the template that names it.
type files struct {
	root  string
	diags *source.Diagnostics
	seen  map[string]bool // nested templates that were read
}

// read gives get_file its content when it is evaluated by the compiler.
func (f *files) read(name string) ([]byte, error) {
	p, err := f.path(name, f.root)
	if err != nil {
		return nil, err
	}
	text, err := readFile(p)
	if err != nil {
		return nil, cannotRead(source.Place{}, name, err)
	}
	return text, nil
}

// path is where a named file lies.
func (f *files) path(name, base string) (string, error) {
	if strings.Contains(name, "://") {
		u, err := url.Parse(name)
		if err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
			return u.Path, nil
		}
		return "", &source.Diagnostic{Code: source.NotYet, Message: fmt.Sprintf("hotc does not fetch %s", name), Hint: "put the file beside the template"}
	}
	if filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Join(base, filepath.FromSlash(name)), nil
}

// collect puts the files that stay named in the template into the folder, at the
// same relative path. A file from elsewhere gets a name in the folder; those of
// the root template are returned by the node that names them.
func (f *files) collect(t *hot.Template, folder Folder) map[*hot.Node]string {
	f.seen = map[string]bool{}
	moved := map[*hot.Node]string{}
	for _, e := range t.Root.Entries {
		if e.Name == "resources" && e.Value.Kind == hot.Map {
			f.resources(t, e.Value, folder, moved)
			continue
		}
		f.named(t.File, e.Value, "", folder, moved)
	}
	return moved
}

// resources leaves the hotc blocks out: what they name travels in the plan.
func (f *files) resources(t *hot.Template, n *hot.Node, folder Folder, moved map[*hot.Node]string) {
	for _, r := range n.Entries {
		for _, e := range r.Value.Entries {
			switch {
			case e.Name == "type":
				f.typeName(t.File, e.Value, "", folder, moved)
			case e.Name != "metadata":
				f.named(t.File, e.Value, "", folder, moved)
			default:
				for _, m := range e.Value.Entries {
					if m.Name != "hotc" {
						f.named(t.File, m.Value, "", folder, moved)
					}
				}
			}
		}
	}
}

// named looks for get_file and for types that are files, anywhere below a node.
// dir is the folder of the template, relative to the root template's.
func (f *files) named(file *source.File, n *hot.Node, dir string, folder Folder, moved map[*hot.Node]string) {
	for _, e := range n.Entries {
		switch e.Name {
		case "get_file":
			if name, ok := e.Value.Text(); ok {
				f.take(file, e.Value, name, dir, folder, moved)
				continue
			}
		case "type":
			f.typeName(file, e.Value, dir, folder, moved)
		}
		f.named(file, e.Value, dir, folder, moved)
	}
	for _, x := range n.Items {
		f.named(file, x, dir, folder, moved)
	}
}

func (f *files) typeName(file *source.File, n *hot.Node, dir string, folder Folder, moved map[*hot.Node]string) {
	name, ok := n.Text()
	if !ok || !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".template") {
		return
	}
	if text := f.take(file, n, name, dir, folder, moved); text != nil {
		f.nested(name, path.Join(dir, name), text, folder)
	}
}

// nested takes along what a nested template names.
func (f *files) nested(name, at string, text []byte, folder Folder) {
	if f.seen[at] {
		return
	}
	f.seen[at] = true
	file := source.NewFile(path.Join(f.root, at), text)
	root := hot.Parse(file, f.diags)
	if root.IsNull() {
		return
	}
	for _, r := range root.Get("resources").All() {
		if m := r.Value.Get("metadata"); m != nil && m.Entry("hotc") != nil {
			f.diags.Error(source.NotYet, source.Place{File: file, Span: m.Entry("hotc").Key.Span}, "hotc does not compile roles in nested templates yet", "move the server into the root template")
		}
	}
	f.named(file, root, path.Dir(at), folder, nil)
}

// take puts one file into the folder and returns its text.
func (f *files) take(file *source.File, n *hot.Node, name, dir string, folder Folder, moved map[*hot.Node]string) []byte {
	at := source.Place{File: file, Span: n.Span}
	where, err := f.path(name, filepath.Join(f.root, filepath.FromSlash(dir)))
	if err != nil {
		d, _ := source.AsDiagnostic(err)
		d.At = at
		f.diags.Add(d)
		return nil
	}
	text, err := readFile(where)
	if err != nil {
		f.diags.Add(cannotRead(at, name, err))
		return nil
	}
	target := path.Join(dir, filepath.ToSlash(name))
	if strings.Contains(name, "://") || filepath.IsAbs(name) || target == ".." || strings.HasPrefix(target, "../") || reserved(target) {
		if moved == nil {
			f.diags.Error(source.NotYet, at, fmt.Sprintf("the nested template names %s, which is outside of the root template's folder", name), "put the file beside the templates")
			return nil
		}
		sum := sha256.Sum256([]byte(where))
		target = "hotc/named/" + hex.EncodeToString(sum[:4]) + "-" + path.Base(filepath.ToSlash(where))
		moved[n] = target
	}
	folder[target] = text
	return text
}

// reserved are the names in the folder that are hotc's own.
func reserved(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return first == "hotc" || first == "files" || target == "plan.json" || target == "stack.yaml"
}
