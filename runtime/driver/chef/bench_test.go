package chef_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/runtime/socket"
)

// BenchmarkRead measures a read that need not wait, in Chef where it is on PATH, else
// in its stand-in: of a declared path whose value is there, of another path in the
// same run, and bare, in a run without the interceptor. Time is that of the processor,
// which other work on the machine does not change.
func BenchmarkRead(b *testing.B) {
	solo, err := exec.LookPath("chef-solo")
	if err != nil {
		solo = standIn(b)
	}
	const reads = 50_000
	recipe := fmt.Sprintf(`time = lambda do |key|
  node[key]['d']['y']
  began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  %d.times { node[key]['d']['y'] }
  (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began) * 1e6 / %d
end
time.call('declared')
File.write(::File.join(Chef::Config[:file_cache_path], 'times'), JSON.generate([time.call('declared'), time.call('other')]))
log 'x'
`, reads, reads)
	for b.Loop() {
		declared, other := measure(b, solo, recipe, true)
		bare, _ := measure(b, solo, recipe, false)
		b.ReportMetric(declared, "µs/declared")
		b.ReportMetric(other, "µs/other")
		b.ReportMetric(bare, "µs/bare")
		b.ReportMetric(0, "ns/op")
	}
}

func measure(b *testing.B, solo, recipe string, intercepted bool) (declared, other float64) {
	b.Helper()
	folder := b.TempDir()
	server, err := socket.Serve(b.Context(), folder, &agent{})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	put(b, folder, "cookbooks/web/metadata.rb", "name 'web'\nversion '1.0.0'\n")
	put(b, folder, "cookbooks/web/attributes/default.rb", "%w(declared other).each { |key| default[key]['d']['y'] = 1 }\n")
	put(b, folder, "cookbooks/web/recipes/default.rb", recipe)
	hook := writeHook(b, folder, map[string]any{"socket": server.Path(), "outputs": []any{},
		"inputs": []any{map[string]any{"name": "declared.d.y", "path": []string{"declared", "d", "y"}}}})
	config := fmt.Sprintf("cookbook_path [%q]\nfile_cache_path %q\nnode_path %q\nlog_level :error\n",
		filepath.Join(folder, "cookbooks"), folder, filepath.Join(folder, "nodes"))
	if intercepted {
		config += fmt.Sprintf("require %q\n", hook)
	}
	out, err := exec.CommandContext(b.Context(), solo, "-c", put(b, folder, "solo.rb", config), "-j", put(b, folder, "node.json", `{"run_list": ["web"]}`), "--no-color").CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(folder, "times"))
	if err != nil {
		b.Fatal(err)
	}
	var times [2]float64
	if err := json.Unmarshal(text, &times); err != nil {
		b.Fatal(err)
	}
	return times[0], times[1]
}
