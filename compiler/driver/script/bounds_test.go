package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// What stands deep within something else would fill the parser's stack, and there is an
// end to what is looked into.
func TestBounds(t *testing.T) {
	const n = 300_000
	var calls strings.Builder
	for i := range 8 {
		fmt.Fprintf(&calls, "f%d() {\n%s}\n", i, strings.Repeat(fmt.Sprintf("f%d\n", i+1), 20))
	}
	calls.WriteString("f8() { echo $a; }\nf0\n")
	const deep, large = "nested too deeply", "larger than 1024 KiB"
	for name, c := range map[string]struct{ script, wants string }{
		"subshells":     {strings.Repeat("(", n), deep},
		"blocks":        {strings.Repeat("{ ", n), deep},
		"substitutions": {strings.Repeat("$(", n), deep},
		"expansions":    {strings.Repeat("${a:-", n/2), deep},
		"arithmetic":    {"echo $((" + strings.Repeat("(", n), deep},
		"signs":         {"echo $((" + strings.Repeat("- ", n), deep},
		"conditions":    {strings.Repeat("if ", n), deep},
		"closed":        {strings.Repeat("(", 2000) + ":" + strings.Repeat(")", 2000), deep},
		"a chain":       {"true" + strings.Repeat(" && o=$a", 2000), deep},
		"a handler":     {"trap '" + strings.Repeat("(", n) + "' EXIT\necho $a", ""},
		"large":         {strings.Repeat("echo $a\n", n), large},
		"in a row":      {strings.Repeat("if x; then hotc-agent get a; fi\n", 20_000), ""},
		"beside":        {strings.Repeat("hotc-agent get a&\n", 20_000), ""},
		"calls":         {calls.String(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var diags source.Diagnostics
			role := driver.Role{Name: "r", Source: c.script, Inputs: []*program.Input{{Name: "a"}}, Outputs: []*program.Output{{Name: "o"}}}
			m := script.Driver.Lower(role, &diags)
			switch {
			case c.wants == "" && (diags.Failed() || m.Sequence == nil):
				t.Error(diags.All())
			case c.wants != "" && (!diags.Failed() || !strings.Contains(diags.All()[0].Message, c.wants)):
				t.Error(diags.All())
			}
		})
	}
	// what nothing has to be found in travels as it is
	var diags source.Diagnostics
	if m := script.Driver.Lower(driver.Role{Name: "r", Source: strings.Repeat("echo a\n", n)}, &diags); m == nil || diags.Failed() {
		t.Error(diags.All())
	}
}

// Whatever a script is, it is looked at to an end, and what is made of it has as many
// lines.
func FuzzScript(f *testing.F) {
	f.Add("#!/bin/bash\nset -e\nf() { local x=$a; hotc-agent put o < y; }\ntrap 'echo $b' EXIT\nf && o=$(cat <<X | f\n$a\nX\n) || exit 1\n")
	f.Add("case $a in x) o=1;; *) (o=2) & wait;; esac; for i in 1 2; do : ${o:=$i}; done; time { let o+=a; }")
	f.Add("if ! [ -v a ]; then :; elif ((a > 1)); then o=(1); fi; [[ $a == x ]] && eval \"$b\"; export -p; exec env -i x=$a sh")
	f.Fuzz(func(t *testing.T, text string) {
		var diags source.Diagnostics
		role := driver.Role{Name: "r", Source: text, Inputs: []*program.Input{{Name: "a"}, {Name: "b"}}, Outputs: []*program.Output{{Name: "o"}}}
		m := script.Driver.Lower(role, &diags)
		if m == nil || m.Finish == nil {
			return
		}
		_, files := m.Finish([]string{"a", "b"})
		if rewritten := string(files[0].Data); strings.Count(rewritten, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q\nbecame\n%q", text, rewritten)
		}
	})
}

// The agent's commands take one name. What a computed word is, or whether it is anything, nobody
// knows beforehand.
func TestSurplusArguments(t *testing.T) {
	for text, refused := range map[string]bool{
		"hotc-agent put url http://x":           true,
		`f() { hotc-agent put url "$x"; }`:      true,
		"x=$(hotc-agent get --json a b)":        true,
		"hotc-agent put url $x":                 false,
		"hotc-agent put url --raw <file 2>/log": false,
		"hotc-agent put url <<E\nx\nE":          false,
		"hotc-agent await a":                    false,
	} {
		var diags source.Diagnostics
		script.Driver.Lower(driver.Role{Name: "r", Source: text}, &diags)
		if diags.Failed() != refused || refused && !strings.Contains(diags.All()[0].Message, "one argument too many") {
			t.Errorf("%s: %v", text, diags.All())
		}
	}
}
