package lint_test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint"
)

// wishes are those of a user who says nothing.
func wishes() lint.Options {
	return lint.Options{Compile: emit.Options{Parameters: map[string]string{}, Signal: "heat", Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}, Version: "test"}}
}

// files writes files and goes to their folder.
func files(t *testing.T, texts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// found is what a run finds, a line each.
func found(t *testing.T, o lint.Options, names ...string) []string {
	t.Helper()
	r, err := lint.Run(t.Context(), targets(t, names...), o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Error())
	}
	return out
}

func targets(t *testing.T, names ...string) (out []lint.Target) {
	t.Helper()
	for _, name := range names {
		found, err := lint.Find(t.Context(), name, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// Random trees of templates, each with one mistake: whatever is looked at beside what, each
// mistake is found once, and always in the same order. Whether a child's
// root is found by the glance (a type with the child's name) or only by the analysis (an alias
// of that name) makes no difference.
func TestRunIsDeterministic(t *testing.T) {
	r := rand.New(rand.NewSource(int64(seedtest.One(t))))
	for range 20 {
		texts, n := map[string]string{}, 2+r.Intn(20)
		for i := range n {
			var b strings.Builder
			fmt.Fprintf(&b, "heat_template_version: 2018-08-31\ndescription: &name t%02d.yaml\nresources:\n  a: {type: OS::Heat::Value, properties: {value: {get_param: missing}}}\n", r.Intn(i+1))
			if i > 0 && r.Intn(2) == 0 {
				fmt.Fprintf(&b, "  b: {type: t%02d.yaml}\n", r.Intn(i))
			}
			if i > 0 && r.Intn(3) == 0 && !strings.Contains(b.String(), fmt.Sprintf("&name t%02d.yaml", i)) {
				b.WriteString("  c: {type: *name}\n")
			}
			texts[fmt.Sprintf("t%02d.yaml", i)] = b.String()
		}
		files(t, texts)
		want := found(t, wishes(), ".")
		if mistakes := strings.Count(strings.Join(want, "\n"), "[H205]"); mistakes != n { // some trees are too deep, too
			t.Fatalf("%d mistakes found in %d files:\n%s", mistakes, n, strings.Join(want, "\n"))
		}
		for range 5 {
			if diff := cmp.Diff(want, found(t, wishes(), ".")); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

// An output that one of two roots reads is not unused, whichever is looked at first, and
// neither is an environment's entry; what neither asks for is found once.
func TestUnusedEverywhere(t *testing.T) {
	head := "heat_template_version: 2018-08-31\n"
	files(t, map[string]string{
		"a.yaml":     head + "parameters: {p: {type: string}}\nresources: {c: {type: child.yaml}}\noutputs: {o: {value: {get_attr: [c, one]}}, q: {value: {get_param: p}}}\n",
		"b.yaml":     head + "parameters: {q: {type: string}}\nresources: {c: {type: child.yaml}}\noutputs: {o: {value: {get_attr: [c, two]}}, q: {value: {get_param: q}}}\n",
		"child.yaml": head + "resources: {v: {type: OS::Heat::Value, properties: {value: 1}}}\noutputs: {one: {value: 1}, two: {value: 1}, three: {value: 1}}\n",
		"env.yaml":   "parameter_defaults: {p: x, q: x, r: x}\n",
	})
	o := wishes()
	o.Compile.Environments = []string{"env.yaml"}
	want := []string{
		`child.yaml:3:45: info[H249]: no template that nests this one reads the output "three"`,
		`env.yaml:1:34: info[H253]: no template declares the parameter "r": its default is unused`,
	}
	for _, names := range [][]string{{"."}, {"b.yaml", "a.yaml"}, {"env.yaml", "child.yaml", "a.yaml", "b.yaml"}} {
		if diff := cmp.Diff(want, found(t, o, names...)); diff != "" {
			t.Errorf("%v: %s", names, diff)
		}
	}
}
