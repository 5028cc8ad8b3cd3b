package hot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// asked are the places outside of this package that check for a function by its name, and why
// they are not second decoders of its calls.
var asked = map[string]string{
	"analysis/references/withoutelse.go if": "passes over all other maps; MayBeOmitted reads the call",
	"emit/files.go get_file":                "the client looks for the key in any text, be it a call or not",
	"runtime/heat/template.go get_file":     "the same, of a template that Heat has",
	"runtime/up/changes.go get_param":       "looks through the texts that Heat has for the names of parameters, and takes nothing apart",
	"runtime/up/layers.go get_attr":         "the same, for the names of resources",
	"runtime/up/layers.go get_resource":     "the same",
}

// Only this package decodes calls: a package that looks for a function's name among the keys of
// a node is about to decode the argument itself.
func TestNoSecondDecoder(t *testing.T) {
	named := map[string]bool{}
	for _, f := range functions {
		named[f.function.Name] = true
	}
	found := map[string]bool{}
	eachFileOutside(t, func(name string, file *ast.File) {
		for _, function := range namesAskedFor(file) {
			if named[function] {
				found[name+" "+function] = true
			}
		}
	})
	for at := range found {
		if asked[at] == "" {
			t.Errorf("%s: calls are decoded in compiler/hot (ref.go, view.go, Template.RefAt and TextAt)", at)
		}
	}
	for at := range asked {
		if !found[at] {
			t.Errorf("%s is no longer needed", at)
		}
	}
}

// Only this package reads and writes residual expressions: no other names what only plans have, or
// looks for what begins like it.
func TestNoSecondReaderOfResiduals(t *testing.T) {
	named := []string{`"$literal"`, `"$map"`}
	for name := range planTable() {
		if strings.HasPrefix(name, "$") {
			named = append(named, strconv.Quote(name))
		}
	}
	begins := []string{"HasPrefix", "CutPrefix", "TrimPrefix"}
	eachFileOutside(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, _ := strconv.Unquote(n.Value)
				if slices.ContainsFunc(named, func(name string) bool { return n.Value == name || strings.Contains(text, name) }) {
					t.Errorf("%s: %s: residual expressions are read and written in compiler/hot (residual.go, moves.go)", path, n.Value)
				}
			case *ast.CallExpr:
				s, is := n.Fun.(*ast.SelectorExpr)
				if !is || len(n.Args) != 2 || !slices.Contains(begins, s.Sel.Name) {
					break
				}
				if lit, is := n.Args[1].(*ast.BasicLit); is && lit.Value == `"$"` {
					t.Errorf("%s: %s of \"$\": residual expressions are read in compiler/hot", path, s.Sel.Name)
				}
			}
			return true
		})
	})
}

// eachFileOutside visits the product's files outside of this package, except for the drivers, which
// read other languages.
func eachFileOutside(t *testing.T, visit func(path string, file *ast.File)) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch name = filepath.ToSlash(name); {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(name, ".g") || strings.HasSuffix(name, "test") || entry.Name() == "testdata" || name == "compiler/hot" || name == "compiler/driver"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			visit(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// namesAskedFor are the strings that a file compares with names of entries, or looks entries up by.
func namesAskedFor(file *ast.File) (names []string) {
	text := func(x ast.Expr) {
		if lit, is := x.(*ast.BasicLit); is && lit.Kind == token.STRING {
			name, _ := strconv.Unquote(lit.Value)
			names = append(names, name)
		}
	}
	isName := func(x ast.Expr) bool {
		s, is := x.(*ast.SelectorExpr)
		ident, isIdent := x.(*ast.Ident)
		return is && s.Sel.Name == "Name" || isIdent && ident.Name == "name"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains([]string{"Get", "Entry", "At", "Has"}, s.Sel.Name) && len(n.Args) == 1 {
				text(n.Args[0])
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL && isName(n.X) {
				text(n.Y)
			}
		case *ast.SwitchStmt:
			if n.Tag != nil && isName(n.Tag) {
				for _, c := range n.Body.List {
					for _, x := range c.(*ast.CaseClause).List {
						text(x)
					}
				}
			}
		}
		return true
	})
	return names
}
