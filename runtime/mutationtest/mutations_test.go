// Package mutationtest breaks, one at a time, what the other tests should not let pass.
package mutationtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation is a fault that is put into a file, and the tests that have to notice.
type mutation struct {
	name     string
	file     string
	old, new string
	tests    string // the package, and which of its tests
}

const root = "../.."

// TestMutationsFail puts each fault into the program and expects the named tests to fail. `make
// mutations` runs it; other runs only check that the table still matches the code.
func TestMutationsFail(t *testing.T) {
	for _, m := range mutations {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.old); n != 1 {
				t.Fatalf("%s has the text %d times, not once: correct the table\n%s", m.file, n, m.old)
			}
			if os.Getenv("HOTC_MUTATIONS") == "" {
				return
			}
			dir := t.TempDir()
			mutated := filepath.Join(dir, filepath.Base(m.file))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{mutated: []byte(strings.Replace(string(text), m.old, m.new, 1)), filepath.Join(dir, "overlay.json"): overlay} {
				if err := os.WriteFile(name, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			folder, tests, _ := strings.Cut(m.tests, " ")
			run := exec.Command("go", "test", "-overlay", filepath.Join(dir, "overlay.json"), "-count=1", "-failfast", "-timeout=5m", "-run", "^("+tests+")$", "./"+folder)
			run.Dir = root
			out, err := run.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("it survives %s of ./%s", tests, folder)
			case strings.Contains(string(out), "[build failed]"), strings.Contains(string(out), "[no tests to run]"):
				t.Fatalf("%s", out)
			}
		})
	}
}
