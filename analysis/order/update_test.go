package order_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis"
	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// hooks compiles roles, one per line: `a.r x <- b.y: put x; get b.y` is the role r of the server
// a, which writes x, reads y of b, and whose update hook does what follows the colon. The roles
// themselves write before they read.
func hooks(t *testing.T, lines string) []string {
	t.Helper()
	text, server := "heat_template_version: 2018-08-31\nresources:\n", ""
	for line := range strings.Lines(lines) {
		head, hook, _ := strings.Cut(strings.TrimSpace(line), ":")
		names, reads, _ := strings.Cut(head, "<-")
		key, outputs, _ := strings.Cut(names, " ")
		if name, _, _ := strings.Cut(key, "."); name != server {
			server = name
			text += fmt.Sprintf("  %s:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata:\n      hotc:\n        roles:\n", name)
		}
		own, in, out, run := strings.TrimPrefix(key, server+"."), "", "", "true"
		for _, o := range strings.Fields(outputs) {
			out += o + ": {}, "
			run += "; echo 1 | hotc-agent put " + o
		}
		for _, read := range strings.Fields(reads) {
			from, extra, _ := strings.Cut(read, "?")
			s, attribute, _ := strings.Cut(from, ".")
			in += fmt.Sprintf("%s_%s: {value: {get_attr: [%s, %s]}%s}, ", s, attribute, s, attribute, extra)
			run += fmt.Sprintf("; hotc-agent get %s_%s", s, attribute)
		}
		hook = strings.NewReplacer("get ", "hotc-agent get ", "put ", "echo 2 | hotc-agent put ", ".", "_").Replace(strings.TrimSpace(hook))
		text += fmt.Sprintf("          - {name: %s, driver: script, source: %q, hooks: {update: %q}, inputs: {%s}, outputs: {%s}}\n", own, run, hook, in, out)
	}
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags)
	p := program.New(template, &program.Supplied{}, roles.FrontEnd([]driver.Driver{script.Driver}))
	p.Lower(&diags)
	a := binding.Analyse(p, binding.Options{}, &diags)
	analysis.Check(p, a, rule.Options{}, &diags)
	var found []string
	for _, d := range diags.All() {
		if strings.HasPrefix(string(d.Code), "H5") {
			found = append(found, string(d.Code)+" "+d.Message)
		}
	}
	return found
}

func TestHooksThatWaitForEachOther(t *testing.T) {
	const spelledOut = "H511 if these outputs are added to a live deployment, update hooks wait for each other: a.r → b.r → a.r"
	for name, c := range map[string]struct{ lines, want string }{
		"each reads first":           {"a.r x <- b.y: get b.y; put x\nb.r y <- a.x: get a.x; put y", spelledOut},
		"one writes first":           {"a.r x <- b.y: put x; get b.y\nb.r y <- a.x: get a.x; put y", ""},
		"one has a default":          {"a.r x <- b.y?,default: none: get b.y; put x\nb.r y <- a.x: get a.x; put y", spelledOut},
		"one does not write it":      {"a.r x <- b.y: get b.y\nb.r y <- a.x: get a.x; put y", ""},
		"one does not read it":       {"a.r x <- b.y: put x\nb.r y <- a.x: get a.x; put y", ""},
		"perhaps it does not":        {"a.r x <- b.y: if test -e f; then get b.y; fi; put x\nb.r y <- a.x: get a.x; put y", ""},
		"by the order on one server": {"a.q <- b.y: get b.y\na.r x: put x\nb.r y <- a.x: get a.x; put y", "H511 if these outputs are added to a live deployment, update hooks wait for each other: a.q → b.r → a.q"},
		"by the order on both":       {"a.q <- b.y: get b.y\na.r x: put x\nb.s <- a.x: get a.x\nb.t y: put y", "H501 deadlock in every order of events: a.q → b.s → a.q"},
	} {
		if got := strings.Join(hooks(t, c.lines), "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}
