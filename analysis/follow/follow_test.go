package follow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// found compiles servers, a line each (`d: o1 o2 <- b.x! c.y`: outputs, and what its role
// reads; with `!` it follows it), and says what their roles follow and carry.
func found(t *testing.T, servers string) (string, string) {
	t.Helper()
	text := "heat_template_version: 2018-08-31\nresources:\n"
	for line := range strings.Lines(servers) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		outputs, reads, _ := strings.Cut(rest, "<-")
		text += fmt.Sprintf("  %s:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata: {hotc: {roles: [{name: r, driver: script, idempotent: true, source: x, outputs: {", name)
		for o := range strings.FieldsSeq(outputs) {
			text += o + ": {}, "
		}
		text += "}, inputs: {"
		for i, in := range strings.Fields(reads) {
			cell, watch := strings.CutSuffix(in, "!")
			server, attribute, _ := strings.Cut(cell, ".")
			text += fmt.Sprintf("i%d: {value: {get_attr: [%s, %s]}, watch: %v}, ", i, server, attribute, watch)
		}
		text += "}}]}}\n"
	}
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags)
	p := program.New(template, &program.Given{})
	roles.Lower(p, []driver.Driver{script.Driver{}}, &diags)
	a := binding.Analyse(p, binding.Options{}, &diags)
	if diags.Failed() {
		t.Fatalf("%v\n%s", diags.All()[0].Message, text)
	}
	all, _ := follow.Find(p, a, &diags)
	var out, messages []string
	for _, s := range p.Servers {
		if r := all[s.Roles[0]]; r != nil {
			line := s.Path + ":"
			for _, c := range r.Follows {
				mark := ""
				if c.Watch {
					mark = "!"
				}
				line += fmt.Sprintf(" %s%s%v", c.Cell, mark, c.Sources)
			}
			out = append(out, line+fmt.Sprintf(" carries %v", r.Carries))
		}
	}
	for _, d := range diags.All() {
		messages = append(messages, string(d.Code)+" "+d.Message)
	}
	return strings.Join(out, "\n"), strings.Join(messages, "\n")
}

func TestFollows(t *testing.T) {
	for _, c := range []struct{ name, servers, want, diags string }{
		{"nothing is followed", "a: x\nb: <- a.x", "", ""},
		{"a chain needs no stamps", "a: x\nb: y <- a.x!\nc: <- b.y!", "b: a.r:x![] carries []\nc: b.r:y![] carries []", ""},
		{"a diamond", "a: x\nb: y <- a.x!\nc: z <- a.x!\nd: <- b.y! c.z!",
			"a: carries [a.r]\nb: a.r:x![] carries [a.r]\nc: a.r:x![] carries [a.r]\nd: b.r:y![a.r] c.r:z![a.r] carries []", ""},
		{"a way that nobody follows is none", "a: x\nb: y <- a.x!\nc: z <- a.x\nd: <- b.y! c.z!",
			"b: a.r:x![] carries []\nd: b.r:y![] c.r:z![] carries []", ""},
		{"two outputs of one role, of which one is followed", "a: x y z\nb: <- a.x! a.y",
			"a: carries [a.r]\nb: a.r:x![a.r] a.r:y[a.r] carries []", ""},
		{"what comes after the ways have met carries nothing", "a: x y\nb: z <- a.x! a.y!\nc: <- b.z!",
			"a: carries [a.r]\nb: a.r:x![a.r] a.r:y![a.r] carries []\nc: b.r:z![] carries []", ""},
		{"a short way and a long one", "a: x\nb: y <- a.x!\nc: z <- b.y!\nd: <- a.x! c.z!",
			"a: carries [a.r]\nb: a.r:x![] carries [a.r]\nc: b.r:y![] carries [a.r]\nd: a.r:x![a.r] c.r:z![a.r] carries []", ""},
		{"a cycle", "a: x <- c.z!\nb: y <- a.x!\nc: z <- b.y!", "", "H510 roles follow each other, and would run for ever: a.r → c.r → b.r → a.r"},
		{"a cycle of reads that nobody follows all around is none", "a: x <- b.y\nb: y <- a.x!", "b: a.r:x![] carries []", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, diags := found(t, c.servers)
			if got != c.want || diags != c.diags {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", got, diags, c.want, c.diags)
			}
		})
	}
}
