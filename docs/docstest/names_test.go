package docstest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared are the names that the project's Go code declares: `package.Name`,
// `package.Type.Member`, and `Name` and `Type.Member` alone; files are its Go files.
func declared(t *testing.T) (names, packages map[string]bool, files []string) {
	t.Helper()
	names, packages = map[string]bool{}, map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		files = append(files, "/"+filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))))
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		packages[file.Name.Name] = true
		for _, d := range file.Decls {
			for _, name := range namesOf(d) {
				names[name], names[file.Name.Name+"."+name] = true, true
			}
		}
		return nil
	})
	if err != nil || len(files) < 500 {
		t.Fatal(len(files), err)
	}
	return names, packages, files
}

// namesOf are what a declaration declares: a member with the name of its type.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		of := ""
		if d.Recv != nil {
			x := d.Recv.List[0].Type
			if star, is := x.(*ast.StarExpr); is {
				x = star.X
			}
			if generic, is := x.(*ast.IndexExpr); is {
				x = generic.X
			}
			of = x.(*ast.Ident).Name + "."
		}
		return []string{of + d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				var members *ast.FieldList
				switch x := s.Type.(type) {
				case *ast.StructType:
					members = x.Fields
				case *ast.InterfaceType:
					members = x.Methods
				default:
					continue
				}
				for _, m := range members.List {
					for _, name := range m.Names {
						names = append(names, s.Name.Name+"."+name.Name)
					}
				}
			}
		}
	}
	return names
}

var (
	goFile  = regexp.MustCompile(`^[a-z0-9_/]+\.go$`)
	goName  = regexp.MustCompile(`^(?:([a-z]+)\.)?[A-Z][A-Za-z0-9]*(?:\.[A-Z][A-Za-z0-9]*)?$`)
	aTest   = regexp.MustCompile(`^(?:Test|Benchmark|Fuzz)[A-Z]\w+$`)
	aRecord = regexp.MustCompile(`\b[A-Z][A-Za-z]+Record\b`)
)

// What the pages call by a name of Go's is declared under that name.
func TestNamesOfGo(t *testing.T) {
	names, packages, files := declared(t)
	found := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/rules/") { // of Heat's resources
			continue
		}
		for i, line := range strings.Split(text(t, page), "\n") {
			said := aRecord.FindAllString(line, -1)
			for _, span := range code.FindAllString(line, -1) {
				span = strings.TrimSuffix(strings.Trim(span, "`"), "()")
				switch is := goName.FindStringSubmatch(span); {
				case goFile.MatchString(span):
					if found++; !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+span) }) {
						t.Errorf("%s:%d: there is no file %s", page, i+1, span)
					}
				case is != nil && packages[is[1]], aTest.MatchString(span):
					said = append(said, span)
				}
			}
			for _, name := range said {
				if found++; !names[name] {
					t.Errorf("%s:%d: nothing is called %s", page, i+1, name)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d names were found", found)
	}
}
