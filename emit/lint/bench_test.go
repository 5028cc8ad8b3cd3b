package lint_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint"
)

// BenchmarkYamllint lints a thousand files of 200 lines beside yamllint, as processes: the
// ratio of the processor's times.
func BenchmarkYamllint(b *testing.B) {
	yamllint, err := exec.LookPath("yamllint")
	if err != nil {
		b.Skip("NOT COMPARED WITH YAMLLINT, which is not installed: apt-get install yamllint")
	}
	dir := b.TempDir()
	hotc := filepath.Join(dir, "hotc")
	build := exec.Command("go", "build", "-trimpath", "-o", hotc, "github.com/hotc-dev/hotc/cmd/hotc")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(files, fmt.Sprintf("t%d.yaml", i)), []byte(usual(i)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	processor := func(name string, args ...string) time.Duration {
		cmd := exec.Command(name, args...)
		_ = cmd.Run() // which says, too, whether something was found
		if cmd.ProcessState == nil {
			b.Fatal(name, " did not run")
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var ours, theirs time.Duration
	for b.Loop() {
		ours += processor(hotc, "lint", "--format", "line", files)
		theirs += processor(yamllint, "-f", "parsable", files)
	}
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "x-yamllint")
	b.ReportMetric(ours.Seconds()*1000/float64(b.N), "cpu-ms")
}

// usual is a template of about 200 lines.
func usual(number int) string {
	var t strings.Builder
	fmt.Fprintf(&t, "heat_template_version: 2018-08-31\nparameters:\n  image: {type: string, default: debian-%d}\nresources:\n  net:\n    type: OS::Neutron::Net\n", number)
	for i := range 12 {
		fmt.Fprintf(&t, `  port%[1]d:
    type: OS::Neutron::Port
    properties:
      network: {get_resource: net}
      fixed_ips:
        - ip_address: 10.0.0.%[1]d
  server%[1]d:
    type: OS::Nova::Server
    properties:
      name: web-%[1]d
      image: {get_param: image}
      flavor: m1.small
      networks:
        - port: {get_resource: port%[1]d}
      user_data:
        str_replace: {template: hello $name, params: {$name: web-%[1]d}}
`, i+1)
	}
	return t.String()
}

// BenchmarkBudget says which share of the time the slowest rule takes; each has its budget.
func BenchmarkBudget(b *testing.B) {
	dir := b.TempDir()
	var targets []lint.Target
	for i := range 100 {
		path := filepath.Join(dir, fmt.Sprintf("t%d.yaml", i))
		if err := os.WriteFile(path, []byte(usual(i)), 0o644); err != nil {
			b.Fatal(err)
		}
		targets = append(targets, lint.Target{Path: path})
	}
	profile := &rule.Profile{}
	for b.Loop() {
		if _, err := lint.Run(b.Context(), targets, lint.Options{Compile: emit.Options{Profile: profile}}); err != nil {
			b.Fatal(err)
		}
	}
	whole, rules := profile.Sum()
	for _, r := range rules {
		if r.Over(whole) {
			b.Errorf("%s takes %v of %v", r.Code, r.Time, whole)
		}
	}
	b.ReportMetric(100*rules[0].Time.Seconds()/whole.Seconds(), "%slowest")
}
