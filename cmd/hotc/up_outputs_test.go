package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// hotc up says of an output that has no value, or an old one, why, and what to do. A null that is the
// value is shown without a word.
func TestUpSaysWhyAnOutputIsNullOrOld(t *testing.T) {
	template := filepath.Join(t.TempDir(), "site.yaml")
	text := "heat_template_version: 2018-08-31\nparameters: {cached: {type: boolean}}\nconditions: {is_on: {get_param: cached}}\nresources:\n" +
		"  cache:\n    type: OS::Heat::Value\n    condition: is_on\n    properties: {value: 1}\n  web:\n    type: OS::Heat::Value\n    properties: {value: 1}\n" +
		"outputs:\n  url: {value: {get_attr: [cache, value]}}\n  site: {value: {get_attr: [web, value]}}\n"
	if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var diags source.Diagnostics
	compiled := emit.Compile(emit.Options{Template: template, Limits: emit.DefaultLimits, Version: version}, &diags)
	if compiled == nil {
		t.Fatal(diags.All())
	}
	web, all := []heat.Resource{{Name: "web"}}, []heat.Resource{{Name: "web"}, {Name: "cache"}}
	value := func(text string) operate.Output {
		return operate.Output{State: operate.OutputValue, Value: json.RawMessage(text)}
	}
	for name, c := range map[string]struct {
		output    heat.Output
		there     []heat.Resource
		published operate.Output
		relays    int
		want      string // "": nothing
	}{
		"its producer is off":          {heat.Output{Name: "url"}, web, value(`"old"`), 0, "the output url is null: the stack has no cache now"},
		"another's resource is off":    {heat.Output{Name: "site"}, web, operate.Output{}, 0, ""},
		"a resource's own null":        {heat.Output{Name: "url"}, all, operate.Output{}, 0, ""},
		"a published null":             {heat.Output{Name: "site", Value: json.RawMessage("null")}, all, value("null"), 0, ""},
		"the value":                    {heat.Output{Name: "site", Value: json.RawMessage(`{"a": 1}`)}, nil, value(`{"a":1}`), 0, ""},
		"an older one":                 {heat.Output{Name: "site", Value: json.RawMessage(`"a"`)}, nil, value(`"b"`), 0, "the output site may be out of date: roles have published another value since Heat has read them\n  hint: \"hotc outputs blog site"},
		"older, and no relay":          {heat.Output{Name: "site", Value: json.RawMessage(`"a"`)}, nil, value(`"b"`), 0, "a relay gives it to Heat: hotc relay"},
		"null, which is older":         {heat.Output{Name: "site"}, all, value(`"b"`), 1, "the output site is null: roles have published another value"},
		"a secret":                     {heat.Output{Name: "site", Value: json.RawMessage(`"a"`)}, nil, operate.Output{State: operate.OutputValue, Secret: true}, 0, ""},
		"a value that Heat alone has":  {heat.Output{Name: "site", Value: json.RawMessage(`"a"`)}, nil, operate.Output{State: operate.OutputHeat}, 0, ""},
		"its producer has failed":      {heat.Output{Name: "site"}, all, operate.Output{State: operate.OutputFailed, Message: "web.app has failed"}, 0, "the output site is null: web.app has failed"},
		"it has not run again":         {heat.Output{Name: "site", Value: json.RawMessage(`"a"`)}, nil, operate.Output{State: operate.OutputWaiting, Message: "waits for web.app:x"}, 0, "the output site may be out of date: waits for web.app:x"},
		"Heat says what is the matter": {heat.Output{Name: "site", Error: "The Referenced Attribute (web x) is incorrect."}, all, operate.Output{}, 0, "is null: Heat cannot compute it: The Referenced Attribute (web x) is incorrect."},
	} {
		var out, errs strings.Builder
		a := &ascent{conduct: conduct{io: streams{out: &out, err: &errs}}, target: target{stack: "blog"}, compiled: compiled, published: map[string]operate.Output{}}
		if c.published.State != "" {
			a.published[c.output.Name] = c.published
		}
		x := &upReport{Outputs: map[string]json.RawMessage{}}
		if d := a.doubt(c.output, c.there, c.relays); d != nil {
			x.doubts = append(x.doubts, d)
		}
		a.printWell(x, time.Second)
		if got := errs.String(); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: it says %q, want %q", name, got, c.want)
		}
		if strings.Count(errs.String(), "a relay gives") > 1-c.relays {
			t.Errorf("%s: %s", name, errs.String())
		}
	}
}
