package roles_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// violations are what the last of some servers' blocks is told by the schema.
func violations(t *testing.T, blocks ...string) []string {
	t.Helper()
	text := "heat_template_version: 2018-08-31\nresources:\n"
	start := 0
	for i, block := range blocks {
		start = len(text)
		text += fmt.Sprintf("  s%d:\n    type: OS::Nova::Server\n    metadata:\n      hotc: %s\n", i, block)
	}
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("x.yaml", []byte(text)), &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	p := program.New(template, given(), roles.FrontEnd([]driver.Driver{tool}))
	p.Lower(&diags)
	var found []string
	for _, d := range diags.All() {
		if d.Code == source.BadMetadata && int(d.At.Span.Start) >= start {
			found = append(found, fmt.Sprint(int(d.At.Span.Start)-start, d.Message))
		}
	}
	return found
}

// A block is told the same whatever blocks came before it: for every key of the schema,
// and all kinds of values.
func TestBlocksOfOneShapeFitTogether(t *testing.T) {
	var schema struct {
		Properties struct {
			Defaults struct{ Properties map[string]any }
		}
		Definitions struct {
			Role struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(roles.FrontEnd(nil).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var forms []string
	for key := range schema.Definitions.Role.Properties {
		forms = append(forms, "{roles: [{name: a, driver: tool, "+key+": %s}]}")
	}
	for key := range schema.Properties.Defaults.Properties {
		forms = append(forms, "{defaults: {"+key+": %s}, roles: [a]}")
	}
	values := []string{"x", "1", "-1", "true", "null", "[]", "[abc]", "[1]", "{}", "{a: 1}", "{a: {}}", `{"": 1}`, "{a: {type: bad}}",
		"{a: {value: {inputs: 1}}}", "{source: 1}", "{create: x}", "{create: {a: 1}}", "{from: gem}", "{from: 1}"}
	told := 0
	for _, form := range forms {
		for _, first := range values {
			for _, second := range values {
				alone := violations(t, fmt.Sprintf(form, second))
				after := violations(t, fmt.Sprintf(form, first), fmt.Sprintf(form, second))
				if !slices.Equal(alone, after) {
					t.Errorf("%s with %s is told %q, and behind one with %s %q", form, second, alone, first, after)
				}
				told += len(alone)
			}
		}
	}
	if told == 0 {
		t.Error("nothing was ever wrong")
	}
}
