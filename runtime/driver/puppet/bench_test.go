package puppet_test

import (
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkRead measures what a read costs that does not wait: a variable that is an
// input beside one of the manifest's own, and the question to the agent, which is asked
// once for each input.
func BenchmarkRead(b *testing.B) {
	const times, inputs = 20_000, 500
	sum := map[string]float64{}
	for b.Loop() {
		r := newTrial(b)
		names := ""
		for i := range inputs {
			r.input(fmt.Sprintf("x%d", i), `"V"`)
			names += fmt.Sprintf(" x%d", i)
		}
		clock := "Process.clock_gettime(Process::CLOCK_MONOTONIC)"
		manifest := "$own = 'V'\n"
		for _, m := range [][2]string{
			{"asked", fmt.Sprintf("%%w{%s}.each { |name| scope[name] }", names)},
			{"bare", fmt.Sprintf("%d.times { scope['own'] }", times)},
			{"input", fmt.Sprintf("%d.times { scope['x0'] }", times)},
		} {
			r.output("variable", m[0], m[0])
			manifest += fmt.Sprintf("$%s = inline_template(\"<%% t = %s; %s %%><%%= %s - t %%>\")\n", m[0], clock, m[1], clock)
		}
		r.manifest(manifest)
		r.succeed()
		for name, n := range map[string]float64{"asked": inputs, "bare": times, "input": times} {
			text, _ := strconv.Unquote(r.published(name))
			seconds, err := strconv.ParseFloat(text, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum[name] += seconds / n
		}
	}
	n := float64(b.N)
	b.ReportMetric(1e6*sum["bare"]/n, "µs-bare")
	b.ReportMetric(1e6*(sum["input"]-sum["bare"])/n, "µs-more-for-an-input")
	b.ReportMetric(1e6*sum["asked"]/n, "µs-to-ask-the-agent")
	b.ReportMetric(sum["input"]/sum["bare"], "ratio")
	b.ReportMetric(0, "ns/op")
}
