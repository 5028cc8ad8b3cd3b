package emit_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

var update = flag.Bool("update", false, "write the golden files anew")

func options(template string) emit.Options {
	return emit.Options{Template: template, Coordinator: "zk://zk1:2181/hotc", Signal: true, Limits: emit.DefaultLimits,
		Drivers: []driver.Driver{script.Driver{}}, Version: "test"}
}

func compile(t *testing.T, o emit.Options) (*emit.Result, string) {
	t.Helper()
	var diags source.Diagnostics
	r := emit.Compile(o, &diags)
	var text strings.Builder
	for _, d := range diags.All() {
		source.Print(&text, d, source.Style{})
	}
	return r, text.String()
}

// What is emitted for each example stands beside it, to be read in review.
func TestExamples(t *testing.T) {
	for _, template := range []string{"three-tier/site.yaml", "slurm/cluster.yaml"} {
		t.Run(template, func(t *testing.T) {
			t.Chdir("../testdata/" + filepath.Dir(template))
			r, found := compile(t, options(filepath.Base(template)))
			if r == nil || found != "" {
				t.Fatal(found)
			}
			for _, name := range []string{"stack.yaml", "plan.json"} {
				golden(t, filepath.Join("expected", name), r.Folder[name])
			}
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", path, diff)
	}
}

