package emit_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/contract/check"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/ansible"
	"github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/driver/puppet"
	"github.com/hotc-dev/hotc/compiler/driver/salt"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

var update = flag.Bool("update", false, "write the golden files anew")

func options(template string) emit.Options {
	return emit.Options{Template: template, Coordinator: "zk://zk1:2181/hotc", Signal: contract.AgentsSignal, Limits: emit.DefaultLimits,
		Drivers: []driver.Driver{script.Driver, chef.Driver, puppet.Driver, ansible.Driver, salt.Driver}, Version: "test"}
}

func compile(t *testing.T, o emit.Options) (*emit.Result, string) {
	t.Helper()
	var diags source.Diagnostics
	r := emit.Compile(o, &diags)
	var text strings.Builder
	for _, d := range diags.All() {
		source.Print(&text, d, source.Style{})
	}
	if r != nil { // what is compiled can be applied
		if _, err := check.Plan(r.PlanJSON); err != nil {
			t.Errorf("plan.json: %v", err)
		}
	}
	return r, text.String()
}

// What is emitted for each example stands beside it, to be read in review.
func TestExamples(t *testing.T) {
	for _, template := range []string{"three-tier/site.yaml", "slurm/cluster.yaml", "prototype/site.yaml", "puppet/site.yaml", "ansible/site.yaml", "salt/site.yaml"} {
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

// What is wrong in each template, as the user sees it.
func TestBadInput(t *testing.T) {
	cases, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, template := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(template), ".yaml"), func(t *testing.T) {
			r, found := compile(t, options(template))
			if r != nil {
				t.Error("was compiled")
			}
			golden(t, strings.TrimSuffix(template, ".yaml")+".out", []byte(found))
		})
	}
}

// Over a limit nothing is emitted; a cloud's own limit can be given.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ limit, want string }{
		{"template", "max_template_size"}, {"resources", "max_resources_per_stack"}, {"user_data", "Nova takes 100"},
	} {
		o := options("../testdata/three-tier/site.yaml")
		if err := o.Limits.Set(c.limit, map[string]int{"template": 1000, "resources": 5, "user_data": 100}[c.limit]); err != nil {
			t.Fatal(err)
		}
		if r, found := compile(t, o); r != nil || !strings.Contains(found, "error[H601]") || !strings.Contains(found, c.want) {
			t.Errorf("limit %s: %v %s", c.limit, r != nil, found)
		}
	}
	var l emit.Limits
	if err := l.Set("servers", 1); err == nil {
		t.Error("an unknown limit was taken")
	}
}

// The same input gives the same bytes.
func TestDeterministic(t *testing.T) {
	first, _ := compile(t, options("../testdata/three-tier/site.yaml"))
	for range 5 {
		again, _ := compile(t, options("../testdata/three-tier/site.yaml"))
		if diff := cmp.Diff(first.Folder, again.Folder); diff != "" {
			t.Fatal(diff)
		}
	}
}
