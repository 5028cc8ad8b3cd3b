package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// stockHeat is one Heat for all tests of the package.
var stockHeat heattest.Shared

// secret is a value for hotc_secret; nothing is deployed with it.
const secret = "5a1e0c77b2f94d6f8a3c9b0e17d24f6658c1e3a9d07b4f21c6e8905d3a7b1f42"

// written compiles a template and writes its folder somewhere else, as a user
// would move it.
func written(t *testing.T, template string) string {
	t.Helper()
	r, found := compile(t, options(template))
	if r == nil {
		t.Fatal(found)
	}
	return folderOf(t, r)
}

// folderOf writes what was compiled to a folder of its own.
func folderOf(t *testing.T, r *emit.Result) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if err := r.Folder.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inputOf is what stock Heat gets of what was compiled.
func inputOf(t *testing.T, r *emit.Result) heattest.Input {
	t.Helper()
	dir := folderOf(t, r)
	in := heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}}
	for _, name := range r.Environments {
		in.Environments = append(in.Environments, filepath.Join(dir, name))
	}
	return in
}

// Stock Heat accepts every emitted example without a warning.
func TestHeatAccepts(t *testing.T) {
	for _, template := range []string{"three-tier/site.yaml", "slurm/cluster.yaml", "prototype/site.yaml", "puppet/site.yaml", "ansible/site.yaml", "salt/site.yaml"} {
		t.Run(template, func(t *testing.T) {
			dir := written(t, "../testdata/"+template)
			stockHeat.Oracle(t).Accepts(t, heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}})
		})
	}
}

// However the user wrote the template, the edits fit in: what hotc emits says
// what was meant (the compiler checks that itself), Heat accepts it, and the rest
// of the text is untouched. Each case is a template; what came of it stands
// beside it.
func TestEdits(t *testing.T) {
	cases, err := filepath.Glob("testdata/edits/*.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, template := range cases {
		name := strings.TrimSuffix(filepath.Base(template), ".yaml")
		t.Run(name, func(t *testing.T) {
			dir := written(t, template)
			text, err := os.ReadFile(filepath.Join(dir, "stack.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(template, ".yaml")+".stack", text)
			stockHeat.Oracle(t).Accepts(t, heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}})
		})
	}
}
