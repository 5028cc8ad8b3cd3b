package emit

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit/edit"
	"github.com/hotc-dev/hotc/emit/heat"
)

// files reads what templates and environments name, as the real client does
// (heatclient/common/template_utils.py): relative to the file that names it.
type files struct {
	root   string
	access Access
	diags  *source.Diagnostics

	templates map[string]*hot.Template // used for stacks, by path
	folder    Folder
	taken     map[string]bool // already in the folder, by path
}

// files returns the reader for these options.
func (o Options) files(diags *source.Diagnostics) *files {
	f := &files{root: filepath.Dir(o.Template), access: o.Access, diags: diags}
	if f.access == nil {
		f.access = Machine{}
	}
	return f
}

// read reads a file for get_file when the compiler evaluates it.
func (f *files) read(name string) ([]byte, error) {
	p, err := source.Locate(name, f.root)
	if err != nil {
		return nil, err
	}
	text, err := f.access.Read(p)
	if err != nil {
		return nil, CannotRead(name, err)
	}
	return text, nil
}

// open opens a folder that a role's source names, for a driver.
func (f *files) open(name string) (fs.FS, error) {
	p, err := source.Locate(name, f.root)
	if err != nil {
		return nil, err
	}
	return f.openFolder(p)
}

// openFolder opens a folder that no link leads out of.
func (f *files) openFolder(path string) (fs.FS, error) {
	folder, err := f.access.Open(path)
	if err != nil {
		return nil, CannotRead(path, err)
	}
	return folder, nil
}

func (f *files) readTemplate(path string) ([]byte, error) {
	text, err := f.access.Read(path)
	if err != nil {
		return nil, CannotRead(path, err)
	}
	return text, nil
}

// portable returns a file's path relative to the root template's folder.
func (f *files) portable(path string) string {
	if rel, err := filepath.Rel(f.root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// target returns where a file goes in the output folder: the same place as beside the root
// template, or a name of hotc's if it is outside that folder.
func (f *files) target(where string) string {
	name := f.portable(where)
	if name == ".." || strings.HasPrefix(name, "../") || path.IsAbs(name) || reserved(name) {
		return "hotc/named/" + contract.Digest(name)[:8] + "-" + path.Base(filepath.ToSlash(where))
	}
	return name
}

// reserved reports whether hotc uses a name in the folder itself.
func reserved(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return first == "hotc" || first == "files" || target == "plan.json" || target == heat.RootFile
}

// collect copies the files that are still named to the folder. It returns the templates to emit,
// the root first.
func (f *files) collect(p *program.Program, folder Folder) []heat.Template {
	f.folder, f.taken = folder, map[string]bool{}
	used := map[*hot.Template]bool{}
	bare, blocks := map[*yaml.Node]bool{}, map[*yaml.Node]bool{} // without a stack; of roles
	own := func(all []*yaml.Entry) {
		for _, b := range all {
			blocks[b.Value] = true
		}
	}
	p.Root.Walk(func(s *program.Stack) {
		used[s.Template] = true
		for _, r := range s.Template.Resources {
			n := s.StackResourceOf(r.Name)
			if s.Absent(r.Name) || n != nil && n.Size == 0 {
				bare[r.Entry.Value] = true
			} else if n != nil {
				own(n.Blocks())
			}
			own(s.Blocks(r))
			blocks[r.Entry.Value] = blocks[r.Entry.Value] || s.Owned(r.Name) != nil
		}
	})
	var out []heat.Template
	paths := slices.Sorted(maps.Keys(f.templates))
	for _, where := range paths {
		f.taken[where] = used[f.templates[where]] // emitted separately
	}
	for _, where := range paths {
		t := f.templates[where]
		if !used[t] {
			continue
		}
		x := heat.Template{Template: t, Target: f.target(where), Moved: map[*yaml.Node]string{}}
		if t == p.Template {
			x.Target = heat.RootFile
		}
		n := &naming{files: f, file: t.File, dir: filepath.Dir(where), target: x.Target, moved: x.Moved, bare: bare, blocks: blocks, in: p.Root}
		n.named(t.Root)
		if t == p.Template {
			out = append([]heat.Template{x}, out...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// naming processes one text that names files.
type naming struct {
	*files
	file   *source.File
	dir    string // where the text is
	target string // where it goes
	moved  map[*yaml.Node]string
	in     *program.Stack // one of the program's, which know the front-ends
	// bare are resources without a stack, blocks the blocks of roles.
	bare, blocks map[*yaml.Node]bool
	// roles means that a template without a stack may have roles: it is not used.
	roles bool
}

// named finds get_file and types that are files, anywhere below a node.
func (n *naming) named(x *yaml.Node) {
	switch {
	case n.blocks[x]: // files named by roles travel in the plan
		return
	case n.bare[x]:
		defer func(before bool) { n.roles = before }(n.roles)
		n.roles = true
	}
	for _, e := range x.Entries {
		switch e.Name {
		case "get_file":
			if name, ok := e.Value.Text(); ok {
				n.take(e.Value, name)
				continue
			}
		case "type":
			n.typeName(e.Value)
		}
		n.named(e.Value)
	}
	for _, y := range x.Items {
		n.named(y)
	}
}

func (n *naming) typeName(x *yaml.Node) {
	if name, ok := x.Text(); ok && environment.IsTemplate(name) {
		n.take(x, name)
	}
}

// take copies one file to the folder.
func (n *naming) take(x *yaml.Node, name string) {
	if source.IsRemote(name) {
		return // the client fetches it, wherever the folder is
	}
	at := source.Place{File: n.file, Span: x.Span}
	where, err := source.Locate(name, n.dir)
	if err != nil {
		n.diags.AddAt(at, err, true)
		return
	}
	n.takeAs(x, name, filepath.Clean(where))
}

// takeAs is take for a file with a known place.
func (n *naming) takeAs(x *yaml.Node, name, where string) {
	target := n.files.target(where)
	if path.Join(path.Dir(n.target), filepath.ToSlash(name)) != target || strings.Contains(name, "://") {
		n.moved[x] = heat.Beside(n.target, target)
	}
	if n.taken[where] {
		return
	}
	n.taken[where] = true
	text, err := n.access.Read(where)
	at := source.Place{File: n.file, Span: x.Span}
	if err != nil {
		n.diags.AddAt(at, CannotRead(name, err), true)
		return
	}
	n.folder[target] = n.within(at, where, target, text)
}

// within also takes the files named by a file that is itself a template: the client reads into
// those.
func (n *naming) within(at source.Place, where, target string, text []byte) []byte {
	if !bytes.Contains(text, []byte("emplate_version")) && !bytes.Contains(text, []byte("TemplateFormatVersion")) {
		return text // not a template
	}
	var quiet source.Diagnostics
	file := source.NewFile(where, text)
	root := yaml.Parse(file, &quiet)
	if key, meant := hot.VersionKey(root); key == nil || meant != "" {
		return text
	}
	if !n.roles {
		w := hot.V20151015.Keywords()
		if root.Get("heat_template_version") == nil {
			w = hot.CFN20100909.Keywords()
		}
		for _, r := range root.Get(w.Resources).All() {
			for _, m := range lists.Only(r.Value.Get(w.Metadata).All(), func(e yaml.Entry) bool { return n.in.IsEntry(e.Name) }) {
				d := n.diags.Error(source.NotYet, source.Place{File: file, Span: m.Key.Span}, "hotc does not compile the roles of a template that is used in this way yet", "nest the template as the type of a resource, or of a ResourceGroup's members")
				d.Notes = append(d.Notes, source.Note{At: at, Message: "it is used here"})
			}
		}
	}
	inner := &naming{files: n.files, file: file, dir: filepath.Dir(where), target: target, moved: map[*yaml.Node]string{}, roles: n.roles, in: n.in}
	inner.named(root)
	return inner.renamed(root, text, nil)
}

// renamed returns the text with names that fit the output folder, without some entries.
func (n *naming) renamed(root *yaml.Node, text []byte, without map[*yaml.Node][]string) []byte {
	if len(n.moved) == 0 && len(without) == 0 {
		return text
	}
	edited, err := edit.Rename(n.file, root, n.moved, without)
	if err != nil {
		n.diags.Add(edit.Diagnosed(err))
	}
	return edited
}

// environments copies the environment files to the folder; the registry names the templates
// there. Values of hidden parameters are left out. It returns their names there. Secret
// parameters are reported elsewhere.
func (f *files) environments(e *environment.Environment, secrets []string) []string {
	var names []string
	for _, x := range e.Files {
		n := &naming{files: f, file: x.Text, dir: x.Dir, target: f.target(x.Path), moved: map[*yaml.Node]string{}}
		for _, named := range x.Named {
			name, _ := named.Node.Text()
			n.roles = true // a mapping that no resource uses
			n.takeAs(named.Node, name, filepath.Clean(named.Path))
		}
		f.folder[n.target] = n.renamed(x.Root, x.Text.Text, f.hidden(x, secrets))
		names = append(names, n.target)
	}
	return names
}

// hidden returns the entries with values of hidden parameters, by section. It reports them
// without showing the line, which contains the value.
func (f *files) hidden(e *environment.File, secrets []string) map[*yaml.Node][]string {
	out := map[*yaml.Node][]string{}
	for _, section := range []string{"parameters", "parameter_defaults"} {
		n := e.Root.Get(section)
		for _, p := range n.All() {
			if !f.isHidden(p.Name) {
				continue
			}
			out[n] = append(out[n], p.Name)
			if slices.Contains(secrets, p.Name) {
				continue
			}
			f.diags.Add(&source.Diagnostic{Code: source.HiddenLeftOut, Severity: source.Info,
				Message: fmt.Sprintf("the value of the hidden parameter %q is not written to the output folder (%s)", p.Name, e.Place(p.Key)),
				Hint:    "pass it when you create the stack, with --parameter or another -e"})
		}
	}
	return out
}

func (f *files) isHidden(name string) bool {
	for _, t := range f.templates {
		if t == nil {
			continue
		}
		if p := t.Parameter(name); p != nil && p.Hidden {
			return true
		}
	}
	return false
}
