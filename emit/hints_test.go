package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// What people write instead of what is right, and the whole of what they are told: each
// NAME.yaml of the archive has its NAME.out.
func TestHints(t *testing.T) {
	const path = "testdata/hints.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	want := map[string]string{}
	var kept []txtar.File
	for _, f := range archive.Files {
		if name, isWanted := strings.CutSuffix(f.Name, ".out"); isWanted {
			want[name] = string(f.Data)
			continue
		}
		kept = append(kept, f)
		if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var made []txtar.File
	for _, f := range kept {
		made = append(made, f)
		name, isCase := strings.CutSuffix(f.Name, ".yaml")
		if !isCase || strings.HasPrefix(name, "part-") {
			continue
		}
		_, found := compile(t, options(f.Name))
		made = append(made, txtar.File{Name: name + ".out", Data: []byte(found)})
		if diff := cmp.Diff(want[name], found); diff != "" && !*update {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(whole, txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: made}), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
