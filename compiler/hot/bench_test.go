package hot

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// readAndFold reads a template and folds every property and metadata in it.
func readAndFold(b testing.TB, text []byte) {
	var diags source.Diagnostics
	template := ParseTemplate(source.NewFile("b.yaml", text), &diags)
	if template == nil || diags.Failed() {
		b.Fatal(diags.All())
	}
	resolve := func(call *Expr) (*Expr, error) {
		switch call.Func.Name {
		case "get_param":
			return Constant("image", call.At), nil
		case "get_attr":
			return Constant("10.0.0.1", call.At), nil
		}
		return call, nil
	}
	for _, r := range template.Resources {
		for _, e := range []*yaml.Entry{r.Properties, r.Metadata} {
			if e == nil {
				continue
			}
			if _, err := template.Fold(e.Value, resolve); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Reading and folding a template, against PyYAML's C loader and stock Heat's own
// resolve on the same text in the same run.
func BenchmarkReadAndFold(b *testing.B) {
	asTheCommand(b)
	for _, servers := range []int{100, 1000} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			text := benchTemplate(servers)
			oracle := hottest.Start(b)
			yaml := oracle.Seconds(b, "timing", map[string]any{"text": text, "times": 3})
			stack := hottest.Stack{Template: text, Values: json.RawMessage(`{"image": "image"}`), Resources: map[string]hottest.Resource{}}
			for i := range servers {
				stack.Resources[fmt.Sprint("server", i)] = hottest.Resource{Ref: "id", Attributes: json.RawMessage(`{"first_address": "10.0.0.1", "url": "u"}`)}
			}
			heat := oracle.Resolving(b, stack, 3)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			own := measured(b, []byte(text))
			b.ReportMetric(yaml/own, "times-PyYAML")
			b.ReportMetric(heat/own, "times-Heat")
			b.ReportMetric(allocated(b, []byte(text))/float64(servers), "B/resource")
		})
	}
}

func BenchmarkRepeat(b *testing.B) {
	asTheCommand(b)
	items := ""
	for i := range 10_000 {
		items += fmt.Sprintf("member-%d, ", i)
	}
	text := []byte("heat_template_version: 2018-08-31\nresources:\n  r:\n    type: OS::Heat::Value\n    properties:\n      value:\n        repeat:\n" +
		"          for_each: {$i: [" + items + "last]}\n          template: {name: $i, url: http://$i/, port: 80, tags: [a, $i]}\n")
	oracle := hottest.Start(b)
	heat := oracle.Resolving(b, hottest.Stack{Template: string(text)}, 3)
	b.ReportAllocs()
	b.ReportMetric(heat/measured(b, text), "times-Heat")
}

// BenchmarkGrowth prints how many times longer 5,000 resources take than 1,000.
func BenchmarkGrowth(b *testing.B) {
	asTheCommand(b)
	small, large := []byte(benchTemplate(1000)), []byte(benchTemplate(5000))
	own := 0.0
	for b.Loop() {
		own += processorSeconds(func() { readAndFold(b, large) }) / processorSeconds(func() { readAndFold(b, small) })
	}
	b.ReportMetric(own/float64(b.N), "t(5000)/t(1000)")
}

// asTheCommand tunes the garbage collector as cmd/hotc does: the first collection is at
// 32 MB, 800 percent of Go's minimum heap.
func asTheCommand(b *testing.B) {
	before := debug.SetGCPercent(800)
	b.Cleanup(func() { debug.SetGCPercent(before) })
}

// measured is the CPU time for a template in seconds, over all threads: other load on
// the machine hardly affects it.
func measured(b *testing.B, text []byte) float64 {
	var own float64
	rounds := 0
	for b.Loop() {
		own += processorSeconds(func() { readAndFold(b, text) })
		rounds++
	}
	return own / float64(rounds)
}

func processorSeconds(f func()) float64 {
	before := usage()
	f()
	return usage() - before
}

func usage() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// allocated is the number of bytes that reading and folding allocates.
func allocated(b *testing.B, text []byte) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readAndFold(b, text)
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

func benchTemplate(servers int) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nparameters:\n  image: {type: string}\nresources:\n")
	for i := range servers {
		name, _ := json.Marshal(i)
		b.WriteString("  server" + string(name) + ":\n    type: OS::Nova::Server\n    properties:\n      image: {get_param: image}\n      flavor: m1.small\n    metadata:\n      hotc:\n        roles:\n          - name: app\n            driver: script\n            inputs:\n              a: {get_attr: [server1, first_address]}\n              b:\n                str_replace:\n                  template: http://$x/$y\n                  params: {$x: {get_attr: [server2, url]}, $y: {get_param: image}}\n")
	}
	return b.String()
}
