package mistake_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/mistake"
)

// A panic in a goroutine is a line that says where, and not a stack trace.
func TestEnds(t *testing.T) {
	if os.Getenv("HOTC_PANICS") == "1" {
		go func() {
			defer mistake.Ends()
			var missing *struct{ name string }
			t.Log(missing.name)
		}()
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestEnds$")
	cmd.Env = append(os.Environ(), "HOTC_PANICS=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	if ended, is := err.(*exec.ExitError); !is || ended.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	want := regexp.MustCompile(`^error\[H699\]: mistake\.test made a mistake: runtime error: invalid memory address or nil pointer dereference \(mistake/mistake_test\.go:2\d\)\n  hint: please report it\n$`)
	if !want.Match(errs.Bytes()) {
		t.Errorf("it says\n%s", errs.String())
	}
}

// What only tests use may end as it likes.
var testsOnly = regexp.MustCompile(`(^|/)(bed|testdata|[a-z]*test)/|_test\.go$|^cmd/hotc-bed/`)

// Every goroutine of the product's begins with what ends it so, or recovers itself.
func TestEveryGoroutineEndsSo(t *testing.T) {
	begun := 0
	files := token.NewFileSet()
	root := "../.."
	check := func(at token.Pos, body *ast.BlockStmt) {
		if !ends(body) {
			t.Errorf("%s: this goroutine does not begin with `defer mistake.Ends()`", files.Position(at))
		}
	}
	if err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || testsOnly.MatchString(name) {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var run ast.Expr
			switch n := n.(type) {
			case *ast.GoStmt:
				run = n.Call.Fun
			case *ast.CallExpr:
				if called, is := n.Fun.(*ast.SelectorExpr); is && !isMistake(called.X) && (called.Sel.Name == "Go" || called.Sel.Name == "AfterFunc") && len(n.Args) > 0 {
					run = n.Args[len(n.Args)-1]
				}
			}
			switch run := run.(type) {
			case *ast.FuncLit:
				begun++
				if !closes(run.Body) {
					check(run.Pos(), run.Body)
				}
			case *ast.SelectorExpr:
				if run.Sel.Name != "Close" {
					t.Errorf("%s: this goroutine is not begun by mistake.Go", files.Position(run.Pos()))
				}
			case *ast.Ident:
				t.Errorf("%s: this goroutine is not begun by mistake.Go", files.Position(run.Pos()))
			}
			return true
		})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if begun < 5 {
		t.Errorf("only %d goroutines were found", begun)
	}
}

// isMistake says that what is called is this package's: it recovers by itself.
func isMistake(of ast.Expr) bool {
	name, is := of.(*ast.Ident)
	return is && name.Name == "mistake"
}

// closes says whether all that a function does is one call of a library's, to end something.
func closes(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	only, _ := body.List[0].(*ast.ExprStmt)
	if only == nil {
		return false
	}
	called, _ := only.X.(*ast.CallExpr)
	if called == nil {
		return false
	}
	switch f := called.Fun.(type) {
	case *ast.Ident:
		return f.Name == "cancel"
	case *ast.SelectorExpr:
		return f.Sel.Name == "Close"
	}
	return false
}

// ends says whether a function's first statement recovers.
func ends(body *ast.BlockStmt) bool {
	if len(body.List) == 0 {
		return false
	}
	first, is := body.List[0].(*ast.DeferStmt)
	if !is {
		return false
	}
	switch called := first.Call.Fun.(type) {
	case *ast.SelectorExpr:
		return called.Sel.Name == "Ends"
	case *ast.Ident: // in its own package
		return called.Name == "Ends"
	}
	recovers := false
	ast.Inspect(first, func(n ast.Node) bool {
		name, is := n.(*ast.Ident)
		recovers = recovers || is && name.Name == "recover"
		return true
	})
	return recovers
}
