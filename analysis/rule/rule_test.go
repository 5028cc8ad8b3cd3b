package rule_test

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// stockHeat is one oracle for all tests of this package, with Heat's own resource types.
var stockHeat = heattest.Shared{Site: heattest.Site{Stock: true}}

// chunk is one template of a rule's file, with the files that it names.
type chunk struct {
	title string
	files map[string]string // the template is main.yaml; those called env.yaml are environments, heat names a release
}

// Read implements emit.Access.
func (c chunk) Read(name string) ([]byte, error) {
	if text, is := c.files[path.Clean(name)]; is {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Open implements emit.Access.
func (c chunk) Open(name string) (fs.FS, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (c chunk) environments() []string {
	if c.files["env.yaml"] == "" {
		return nil
	}
	return []string{"env.yaml"}
}

// lint is what hotc lint finds.
func (c chunk) lint() []*source.Diagnostic { return c.lintWith(map[string]string{}) }

func (c chunk) lintWith(parameters map[string]string) []*source.Diagnostic {
	var diags source.Diagnostics
	var types *resourcetype.Catalogue
	if release := c.files["heat"]; release != "" {
		types, _ = resourcetype.Of(strings.TrimSpace(release))
	}
	emit.Lint(emit.Options{Shell: c.shell(), Types: types, Template: "main.yaml", Access: c, Environments: c.environments(), Parameters: parameters, Signal: "heat",
		Limits: emit.DefaultLimits, Now: time.Now(), Drivers: []driver.Driver{script.Driver}, Version: "test"}, &diags)
	return diags.All()
}

// shell replaces shellcheck in chunks that mention it: it objects to every `rm -r`.
func (c chunk) shell() func(string) []rule.Advice {
	if !strings.Contains(c.title, "shellcheck") {
		return nil
	}
	return func(script string) (out []rule.Advice) {
		for _, at := range regexp.MustCompile(`rm -r`).FindAllStringIndex(script, -1) {
			out = append(out, rule.Advice{From: at[0], To: at[1], Message: "dangerous", Hint: "do not", Mild: at[0]%2 == 0})
		}
		return append(out, rule.Advice{From: 5, To: len(script) + 7})
	}
}

// write puts the files into a folder, for Heat.
func (c chunk) write(t *testing.T) input {
	t.Helper()
	dir := t.TempDir()
	for name, text := range c.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := input{heattest.Input{Template: filepath.Join(dir, "main.yaml")}}
	for _, e := range c.environments() {
		in.Environments = append(in.Environments, filepath.Join(dir, e))
	}
	return in
}

// input is one for Heat.
type input struct{ heattest.Input }

func (in input) with(parameters map[string]any) heattest.Input {
	in.Parameters = parameters
	return in.Input
}

// A file has chunks, each begun by `### TITLE`, and further files in them by `## NAME`. A
// chunk without a version and resources is wrapped in both.
func readChunks(t *testing.T, name string) []chunk {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []chunk
	for _, part := range regexp.MustCompile(`(?m)^### `).Split(string(text), -1)[1:] {
		title, body, _ := strings.Cut(part, "\n")
		c := chunk{title, map[string]string{}}
		for i, file := range regexp.MustCompile(`(?m)^## `).Split(body, -1) {
			name := "main.yaml"
			if i > 0 {
				name, file, _ = strings.Cut(file, "\n")
			}
			if i == 0 && !strings.Contains(file, "emplate_version") && !strings.Contains(file, "FormatVersion") {
				file = "heat_template_version: 2018-08-31\n" + file
			}
			c.files[name] = file
		}
		out = append(out, c)
	}
	return out
}

func chunkFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	return files
}

// Each rule's templates have the findings in the file beside them.
func TestRules(t *testing.T) {
	for _, file := range chunkFiles(t) {
		t.Run(strings.TrimSuffix(file, ".yaml"), func(t *testing.T) {
			var got strings.Builder
			for _, c := range readChunks(t, file) {
				fmt.Fprintf(&got, "### %s\n", c.title)
				for _, d := range c.lint() {
					fmt.Fprintln(&got, d.Error())
					for _, n := range d.Notes {
						fmt.Fprintf(&got, "  %s: %s\n", n.At, n.Message)
					}
					if d.Hint != "" {
						fmt.Fprintf(&got, "  hint: %s\n", d.Hint)
					}
					if d.Fix != nil {
						fmt.Fprintf(&got, "  fix: %s\n", d.Fix.Does)
					}
				}
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".out"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got; go test -update rewrites it):\n%s", golden, diff)
			}
		})
	}
}

// Where a rule says that Heat refuses something, Heat refuses the chunks with findings, and
// accepts the others. A chunk whose title ends in "(not judged)" is skipped, with the reason
// in a comment, and so is one for another release of Heat.
func TestHeatAgreesWithRules(t *testing.T) {
	for _, file := range chunkFiles(t) {
		for _, c := range readChunks(t, file) {
			if strings.HasSuffix(c.title, "(not judged)") || c.files["heat"] != "" {
				continue
			}
			t.Run(file+"/"+c.title, func(t *testing.T) {
				refusable, errors := false, false
				found := c.lint()
				for _, d := range found {
					errors = errors || d.Severity == source.Error
					r := rule.Of(d.Code)
					refusable = refusable || d.Severity == source.Error || r != nil && r.Evidence == rule.HeatRefuses && r.Severity == d.Severity
				}
				verdict := stockHeat.Oracle(t).Validate(t, c.write(t).Input)
				if verdict.Accepted && refusable || !verdict.Accepted && !refusable {
					t.Errorf("hotc: %v\nHeat: accepted %v: %s", found, verdict.Accepted, verdict.Error)
				}
			})
		}
	}
}

// A fix removes its finding and adds no other, and Heat still accepts what it accepted.
func TestFixesMend(t *testing.T) {
	fixes := 0
	for _, file := range chunkFiles(t) {
		for _, c := range readChunks(t, file) {
			before := c.lint()
			for _, d := range before {
				if d.Fix == nil || d.At.File.Name != "main.yaml" {
					continue
				}
				fixes++
				text, err := source.Apply([]byte(c.files["main.yaml"]), d.Fix.Edits)
				if err != nil {
					t.Fatal(err)
				}
				mended := chunk{c.title, maps.Clone(c.files)}
				mended.files["main.yaml"] = string(text)
				if after := mended.lint(); len(after) >= len(before) {
					t.Errorf("%s: %s: %s: found before %v, after it %v", file, c.title, d.Fix.Does, before, after)
				}
				if took := stockHeat.Oracle(t).Validate(t, c.write(t).Input); took.Accepted {
					if now := stockHeat.Oracle(t).Validate(t, mended.write(t).Input); !now.Accepted {
						t.Errorf("%s: %s: %s: Heat refuses what it took: %s", file, c.title, d.Fix.Does, now.Error)
					}
				}
			}
		}
	}
	if fixes == 0 {
		t.Error("no template has a fix")
	}
}

// Codes are unique, and each is one of hotc's.
func TestRulesAreRegisteredOnce(t *testing.T) {
	seen := map[source.Code]bool{}
	for _, r := range rule.All() {
		if seen[r.Code] {
			t.Errorf("%s stands twice", r.Code)
		}
		seen[r.Code] = true
		if r.Category == "" {
			t.Errorf("%s has no category", r.Code)
		}
	}
	files := chunkFiles(t)
	for _, r := range rule.All() {
		if r.Template == nil {
			continue
		}
		if !slices.ContainsFunc(files, func(f string) bool {
			text, err := os.ReadFile(strings.TrimSuffix(f, ".yaml") + ".out")
			return err == nil && strings.Contains(string(text), "["+string(r.Code)+"]")
		}) {
			t.Errorf("%s: no template beside the rules gives it", r.Code)
		}
	}
}
