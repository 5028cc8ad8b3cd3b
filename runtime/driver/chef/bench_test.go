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
	const reads = 50_000
	recipe := fmt.Sprintf(`time = lambda do |key|
  node[key]['d']['y']
  began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  %d.times { node[key]['d']['y'] }
  (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began) * 1e6 / %d
end
time.call('declared')
times = [time.call('declared'), time.call('other')]
`, reads, reads)
	for b.Loop() {
		with, bare := measure(b, recipe, true), measure(b, recipe, false)
		b.ReportMetric(with[0], "µs/declared")
		b.ReportMetric(with[1], "µs/other")
		b.ReportMetric(bare[0], "µs/bare")
		b.ReportMetric(0, "ns/op")
	}
}

// BenchmarkWrite measures 1,000 writes below a key that has 5,000 leaves: beside a
// declared output, and of the output itself, which is a list that grows. The third is a
// copy of a plain map. Each is a ratio to the same in a run without the interceptor.
func BenchmarkWrite(b *testing.B) {
	const recipe = `5_000.times { |i| node.default['declared']['many'][(i / 100).to_s][i.to_s] = i }
time = lambda do |count, &work|
  began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
  count.times(&work)
  (Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began) * 1e6 / count
end
plain = { 'a' => 1 }
times = [time.call(1_000) { |i| node.default['declared']['beside'] = i }, time.call(1_000) { |i| node.default['declared']['out'][i] = i },
  time.call(200_000) { plain.merge(plain) }]
`
	for b.Loop() {
		with, bare := measure(b, recipe, true), measure(b, recipe, false)
		b.ReportMetric(with[0]/bare[0], "beside/bare")
		b.ReportMetric(with[1]/bare[1], "output/bare")
		b.ReportMetric(with[2]/bare[2], "merge/bare")
		b.ReportMetric(0, "ns/op")
	}
}

// measure runs a recipe and returns what it has put into the list times.
func measure(b *testing.B, recipe string, intercepted bool) (times []float64) {
	b.Helper()
	solo, err := exec.LookPath("chef-solo")
	if err != nil {
		solo = standIn(b)
	}
	folder := b.TempDir()
	server, err := socket.Serve(b.Context(), folder, &agent{})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	put(b, folder, "cookbooks/web/metadata.rb", "name 'web'\nversion '1.0.0'\n")
	put(b, folder, "cookbooks/web/attributes/default.rb", "%w(declared other).each { |key| default[key]['d']['y'] = 1 }\n")
	put(b, folder, "cookbooks/web/recipes/default.rb", recipe+"File.write(::File.join(Chef::Config[:file_cache_path], 'times'), JSON.generate(times))\nlog 'x'\n")
	hook := writeHook(b, folder, map[string]any{"socket": server.Path(),
		"inputs":  []any{map[string]any{"name": "declared.d.y", "path": []string{"declared", "d", "y"}}},
		"outputs": []any{map[string]any{"name": "declared.out", "path": []string{"declared", "out"}}}})
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
	if err == nil {
		err = json.Unmarshal(text, &times)
	}
	if err != nil {
		b.Fatal(err)
	}
	return times
}
