package roles

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// source returns the meaning of the role's own source.
func (l *lowering) source(role *program.Role, tool *driver.Driver, src *yaml.Node) *program.Meaning {
	meaning := l.meaning(driver.Role{Name: role.Name, At: role.At, Inputs: role.Inputs, Outputs: written(role)}, tool, src)
	if meaning != nil {
		for _, in := range role.Inputs {
			if read, is := meaning.Environment[in.Name]; is && !in.EagerSaid {
				in.Eager, in.EagerAt = true, read.At
			}
		}
	}
	return meaning
}

// written returns the outputs that a role's source has to write.
func written(role *program.Role) []*program.Output {
	return lists.Only(role.Outputs, func(o *program.Output) bool { return o.Value == nil })
}

// meaning returns the meaning of a source to its driver; nil, with a diagnostic, if it is
// invalid.
func (l *lowering) meaning(seen driver.Role, tool *driver.Driver, src *yaml.Node) *program.Meaning {
	seen.Reader, seen.Locate, seen.FileOf, seen.Memory = reader{l.given}, l.locator(seen.At, src), l.fileOf(src), &l.memory
	seen.Folder = filepath.Dir(l.template.File.Name)
	if src != nil {
		seen.SourceAt = l.template.Place(src)
		e, err := hot.Fold(l.template.Expr(src), l.given.Resolve)
		if err != nil {
			hot.Report(l.diags, source.BadSource, seen.SourceAt, err)
			return nil
		}
		if !e.IsValue() {
			l.diags.Error(source.BadSource, seen.SourceAt, fmt.Sprintf("the source of role %q must be known when compiling", seen.Name),
				"set the parameters that it uses with -P or -e")
			return nil
		}
		seen.Source = e.Value
		seen.SourceFile = seen.FileOf()
	}
	return tool.Lower(seen, l.diags)
}

// locator finds the places of a source's parts; a part without one has that of its
// enclosing part.
func (l *lowering) locator(role source.Place, src *yaml.Node) func(keys ...string) source.Place {
	template := l.template
	return func(keys ...string) source.Place {
		if src == nil {
			return role
		}
		n := src
		for _, key := range keys {
			inner := n.Get(key)
			if inner == nil {
				break
			}
			n = inner
		}
		return template.Place(n)
	}
}

// fileOf finds the names of the files that parts of a source were read from.
func (l *lowering) fileOf(src *yaml.Node) func(keys ...string) string {
	template := l.template
	return func(keys ...string) string {
		n := src
		for _, key := range keys {
			n = n.Get(key)
		}
		return fileIn(template, n)
	}
}

// fileIn returns the name of the file that a node reads with get_file; "" if none.
func fileIn(t *hot.Template, n *yaml.Node) string {
	if r, is := t.NamedAt(n); is && r.Kind == hot.ToFile {
		return r.Name
	}
	return ""
}

// reader reads the files that a template's roles name.
type reader struct{ given *program.Supplied }

func (r reader) File(name string) ([]byte, error)  { return r.given.ReadFile(name) }
func (r reader) Folder(name string) (fs.FS, error) { return r.given.OpenFolder(name) }
