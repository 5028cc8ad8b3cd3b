package hot

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/hot/heatjudge"
	"github.com/hotc-dev/hotc/compiler/source"
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
		for _, e := range []*Entry{r.Properties, r.Metadata} {
			if e == nil {
				continue
			}
			if _, err := Fold(template.Expr(e.Value), resolve); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// Reading and folding a template, against PyYAML's C loader and stock Heat's own
// resolve on the same text in the same run.
func BenchmarkReadAndFold(b *testing.B) {
	for _, servers := range []int{100, 1000} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			text := benchTemplate(servers)
			judge := heatjudge.Start(b)
			yaml := judge.Seconds(b, "timing", map[string]any{"text": text, "times": 3})
			stack := heatjudge.Stack{Template: text, Values: json.RawMessage(`{"image": "image"}`), Resources: map[string]heatjudge.Resource{}}
			for i := range servers {
				stack.Resources[fmt.Sprint("server", i)] = heatjudge.Resource{Ref: "id", Attributes: json.RawMessage(`{"first_address": "10.0.0.1", "url": "u"}`)}
			}
			heat := judge.Resolving(b, stack, 3)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			start, rounds := time.Now(), 0
			for b.Loop() {
				readAndFold(b, []byte(text))
				rounds++
			}
			own := time.Since(start).Seconds() / float64(rounds)
			b.ReportMetric(yaml/own, "times-PyYAML")
			b.ReportMetric(heat/own, "times-Heat")
		})
	}
}

func BenchmarkRepeat(b *testing.B) {
	items := ""
	for i := range 10_000 {
		items += fmt.Sprintf("member-%d, ", i)
	}
	text := []byte("heat_template_version: 2018-08-31\nresources:\n  r:\n    type: OS::Heat::Value\n    properties:\n      value:\n        repeat:\n" +
		"          for_each: {$i: [" + items + "last]}\n          template: {name: $i, url: http://$i/, port: 80, tags: [a, $i]}\n")
	judge := heatjudge.Start(b)
	heat := judge.Resolving(b, heatjudge.Stack{Template: string(text)}, 3)
	b.ReportAllocs()
	start, rounds := time.Now(), 0
	for b.Loop() {
		readAndFold(b, text)
		rounds++
	}
	b.ReportMetric(heat/(time.Since(start).Seconds()/float64(rounds)), "times-Heat")
}
