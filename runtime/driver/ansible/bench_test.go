package ansible_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/ansible"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// BenchmarkRead measures what a read costs that does not wait: a template with one
// input in it beside the same with an ordinary variable, and the question to the agent,
// which a process asks once for each input.
func BenchmarkRead(b *testing.B) {
	r := role{agent: &drivertest.Values{Arrived: map[string]string{"address": `"10.0.0.1"`}}, inputs: []string{"address"}, files: map[string]string{"site.yml": "- hosts: all\n"}}
	job, _ := r.job(b)
	if err := (ansible.Driver{}).Prepare(b.Context(), job); err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(drivertest.Text(job.Program), "\n")
	interpreter := strings.Fields(strings.TrimPrefix(line, "#!"))
	var sum struct{ Bare, Others, Intercepted, Asked float64 }
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), interpreter[0], append(interpreter[1:], filepath.Join("testdata", "bench.py"), filepath.Join(job.Folder, "interceptor"), "2000")...)
		cmd.Env = job.Environment
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		var one struct{ Bare, Others, Intercepted, Asked float64 }
		if err := json.Unmarshal(out, &one); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		sum.Bare, sum.Others, sum.Intercepted, sum.Asked = sum.Bare+one.Bare, sum.Others+one.Others, sum.Intercepted+one.Intercepted, sum.Asked+one.Asked
	}
	n := float64(b.N)
	b.ReportMetric(1e6*sum.Bare/n, "µs-bare")
	b.ReportMetric(1e6*(sum.Intercepted-sum.Bare)/n, "µs-more-for-an-input")
	b.ReportMetric(1e6*sum.Asked/n, "µs-to-ask-the-agent")
	b.ReportMetric(sum.Intercepted/sum.Bare, "ratio")
	b.ReportMetric(sum.Others/sum.Bare, "ratio-without-an-input")
	b.ReportMetric(0, "ns/op")
}
