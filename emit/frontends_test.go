package emit_test

import (
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// No package of analysis or emit but one file imports a front-end.
func TestNobodyKnowsAFrontEnd(t *testing.T) {
	for _, root := range []string{"../analysis", "."} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || path == "frontends.go" {
				return err
			}
			file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, x := range file.Imports {
				if strings.Contains(x.Path.Value, "/compiler/frontend/") {
					t.Errorf("%s imports %s: what it asks has to be a value of the program (compiler/program/frontend.go)", path, x.Path.Value)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
