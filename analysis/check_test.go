package analysis_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/analysis"
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/driver/puppet"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

// lower runs the stages before the analysis; nil if the template cannot be read.
func lower(name string, text []byte, diags *source.Diagnostics) *program.Program {
	t := hot.ParseTemplate(source.NewFile(name, text), diags)
	if t == nil {
		return nil
	}
	given := &program.Supplied{
		ReadFile:   func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(name), file)) },
		OpenFolder: func(folder string) (fs.FS, error) { return os.DirFS(filepath.Join(filepath.Dir(name), folder)), nil }}
	p := program.New(t, given, roles.FrontEnd([]driver.Driver{script.Driver, chef.Driver, puppet.Driver}))
	nesting.Load(p, nesting.Options{Environment: &environment.Environment{}, Read: os.ReadFile, MaxDepth: 5, MaxResources: 1000}, diags)
	p.Lower(diags)
	return p
}

// check runs the stages up to the analysis over a template's text.
func check(name string, text []byte) string {
	var diags source.Diagnostics
	if p := lower(name, text, &diags); p != nil {
		analysis.Check(p, binding.Analyse(p, binding.Options{}, &diags), rule.Options{}, &diags)
	}
	var out strings.Builder
	for _, d := range diags.All() {
		source.Print(&out, d, source.Style{})
	}
	return out.String()
}

// Each kind of deadlock, and of other findings, has its one right answer.
func TestDeadlocks(t *testing.T) {
	t.Chdir("../testdata/deadlock")
	cases, err := filepath.Glob("*.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, template := range cases {
		t.Run(template, func(t *testing.T) {
			text, err := os.ReadFile(template)
			if err != nil {
				t.Fatal(err)
			}
			got := check(template, text)
			golden := strings.TrimSuffix(template, ".yaml") + ".out"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", golden, diff)
			}
		})
	}
}
