package edit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// edited is a large text of which some things are changed, as emission changes them.
func edited(t *testing.T) (e *Editor, text string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nresources:\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "  r%d:\n    type: OS::Nova::Server\n    properties: {flavor: m1.small, image: %d}\n    metadata:\n      hotc: {roles: []}\n      other: kept\n", i, i)
	}
	b.WriteString("outputs:\n  o: {value: 1}\n")
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("t.yaml", []byte(b.String())), &diags)
	if template == nil {
		t.Fatal(diags.All())
	}
	e = New(template)
	for _, r := range template.Resources {
		if r.Name == "r7" {
			continue // it is removed as a whole
		}
		e.Remove(r.Metadata.Value, "hotc")
		e.Add(r.Properties.Value, Dict("user_data", "#!/bin/sh"))
	}
	e.Remove(template.Root.Get("resources"), "r7")
	e.Replace(template.Resource("r8").Property("flavor"), "m1.large")
	e.Add(template.Root.Get("resources"), Dict("added", Dict("type", "OS::Heat::Value")))
	e.Add(template.Root, Dict("description", "also added"))
	out, err := e.Apply()
	if err != nil {
		t.Fatal(err)
	}
	return e, string(out)
}

func TestEmittedTextIsVerified(t *testing.T) {
	e, text := edited(t)
	if !e.passes(source.NewFile("t.yaml", []byte(text))) {
		t.Error("a text that says what was meant did not pass in pieces")
	}
	for name, c := range map[string]struct {
		from, to string
		fine     bool
	}{
		"as it was meant":          {},
		"in another order":         {from: "{flavor: m1.small, image: 70,", to: "{image: 70, flavor: m1.small,", fine: true},
		"another scalar":           {from: "image: 1500,", to: "image: '1500',"},
		"what was not replaced":    {from: "m1.large", to: "m1.small"},
		"a removed entry is there": {from: "  r9:\n", to: "  r7: {type: T}\n  r9:\n"},
		"a resource is missing":    {from: "  r9:\n", to: "  x9:\n"},
		"a resource twice":         {from: "  r1000:\n", to: "  r999: {type: T}\n  r1000:\n"},
		"what was added is not":    {from: "OS::Heat::Value", to: "OS::Heat::None"},
		"a section is another":     {from: "o: {value: 1}", to: "o: {value: 2}"},
		"a section more":           {from: "outputs:\n", to: "parameters: {}\noutputs:\n"},
		"no section of its own":    {from: "outputs:\n", to: "  outputs:\n  "},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(text, c.from, c.to, 1)
			if c.from != "" && changed == text {
				t.Fatalf("%q is not in the text", c.from)
			}
			err := e.verify([]byte(changed))
			if fine := c.fine || c.from == ""; (err == nil) != fine {
				t.Errorf("verify says %v", err)
			}
		})
	}
}
