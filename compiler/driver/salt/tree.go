package salt

import (
	"io/fs"
	"path"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// tree is a tree of states that the compiler can read: a folder beside the template, or
// an inline SLS file.
type tree struct {
	files fs.FS
	name  string // as the user wrote it
	// single is the inline file; nil for a folder.
	single *file
}

// file is a file of a tree.
type file struct {
	name  string // in its tree
	text  string
	place func(from, to int) source.Place
}

// maxFile is the largest file that is analysed, in bytes.
const maxFile = 1 << 20

func (t tree) open(name string) *file {
	if t.single != nil {
		if name != t.single.name {
			return nil
		}
		return t.single
	}
	if !fs.ValidPath(name) {
		return nil
	}
	info, err := fs.Stat(t.files, name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	text, err := fs.ReadFile(t.files, name)
	if err != nil {
		return nil
	}
	own := source.NewFile(path.Join(t.name, name), text)
	return &file{name: name, text: string(text), place: func(from, to int) source.Place {
		return source.Place{File: own, Span: source.Span{Start: uint32(from), End: uint32(to)}}
	}}
}

// open finds a file as Salt does: in the first tree that has it.
func (l *lowering) open(name string) *file {
	for _, t := range l.trees {
		if f := t.open(name); f != nil {
			return f
		}
	}
	return nil
}

// find returns the file of an SLS name.
func (l *lowering) find(name string) *file {
	folder := strings.ReplaceAll(name, ".", "/")
	if f := l.open(folder + ".sls"); f != nil {
		return f
	}
	return l.open(folder + "/init.sls")
}

func (l *lowering) treeNames() string {
	return strings.Join(lists.Map(l.trees, func(t tree) string { return t.name }), ", ")
}

// see adds a tree, if it is beside the template.
func (l *lowering) see(v value.Value) {
	files, name := l.Role.Beside(v)
	if files == nil {
		l.visible = false
		return
	}
	l.trees = append(l.trees, tree{files: files, name: l.Role.Shown(name)})
}
