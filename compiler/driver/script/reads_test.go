package script_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// text writes a sequence in one line: r and w are reads and writes, a fork is
// {way|way}, what happens in any order stands in brackets.
func text(steps []program.Step) string {
	var parts []string
	for _, s := range steps {
		var ways []string
		for _, way := range s.Ways {
			ways = append(ways, text(way))
		}
		switch s.Op {
		case program.ReadInput:
			parts = append(parts, "r:"+s.Name)
		case program.WriteOutput:
			parts = append(parts, "w:"+s.Name)
		case program.ReadAny:
			parts = append(parts, "r:?")
		case program.Fork:
			parts = append(parts, "{"+strings.Join(ways, "|")+"}")
		case program.AnyOrder:
			parts = append(parts, "["+strings.Join(ways, "|")+"]")
		}
	}
	return strings.Join(parts, " ")
}

// The order of reads and writes of shell scripts, as the shell would go.
func TestSequence(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"hotc-agent get a; echo x | hotc-agent put b", "r:a w:b"},
		{`echo "$(hotc-agent get a) $(hotc-agent get b)" > "$heat_outputs_path.c"`, "r:a r:b w:c"},
		{"#!/bin/bash\nx=(1 2)\nv=$(hotc-agent get a) && hotc-agent put b <<< \"$v\"", "r:a w:b"},
		{"grep x y && hotc-agent get a", "{|r:a}"},
		{"hotc-agent get a || exit 1\nhotc-agent put b < f", "r:a w:b"},
		{"if test -e x; then hotc-agent get a; else hotc-agent get b; fi", "{r:a|r:b}"},
		{"if test -e x; then hotc-agent put b < f; exit 0; fi\nhotc-agent get a; hotc-agent put b < f", "{w:b|r:a w:b}"},
		{"if ! test -e x; then exit 1; fi; hotc-agent get a", "r:a"},
		{"for x in 1 2; do hotc-agent get a; done", "r:a"},
		{"for x in $all; do hotc-agent get a; done", "{|r:a}"},
		{"while hotc-agent get a; do hotc-agent get b; done", "r:a {|r:b}"},
		{"case $x in a) hotc-agent get a;; *) hotc-agent get b;; esac", "{r:a|r:b}"},
		{"case $x in a) hotc-agent get a;; esac", "{r:a|}"},
		{"f() { hotc-agent get a; return; hotc-agent get z; }\nhotc-agent get b; f; f", "r:b r:a r:a"},
		{"f() { hotc-agent get a; }", ""},
		{"f() { f; hotc-agent get a; }; f", "r:a …"},
		{"(hotc-agent get a; exit 0); hotc-agent get b", "r:a r:b"},
		{"hotc-agent get a & hotc-agent put b < f; wait", "[r:a w:b]"},
		{"hotc-agent get a | tee x | hotc-agent put b", "r:a w:b"},
		{"cp x ${heat_outputs_path}.a; mv y \"$heat_outputs_path\".b", "w:a w:b"},
		{"generate --out \"$heat_outputs_path.a\"", "{|w:a}"},
		{"cat <<EOF > f\n$(hotc-agent get a)\nEOF\n", "r:a"},
		{"sudo -E timeout 5 /usr/bin/hotc-agent get a", "r:a"},
		{"exec hotc-agent get a", "r:a"},
		{"exec /bin/true; hotc-agent get a", ""},
		{"for n in a b; do hotc-agent get $n; done", "r:?"},
		{"eval \"$x\"; hotc-agent get a", "r:a …"},
		{". ./more.sh", " …"},
		{"# hotc-agent get a\necho 'hotc-agent get b'", ""},
		{"#!/usr/bin/env python3\nimport os", "unknown"},
		{"#!/usr/bin/env -S bash -eu\nhotc-agent get a", "r:a"},
		{`cat "$hotc_inputs/a" | sed s/x/y/; read -r x <$hotc_inputs/b%2Fc`, "{|r:a} r:b/c"},
		{`f=$hotc_inputs/a; ls "${hotc_inputs}"`, " …"},
		{"echo $in; out=1; echo x", "r:in w:out w:out"},
		{"a | b; out=$PIPESTATUS; echo $in", "r:in w:out"},
		{"echo $_ $in; trap - INT; out=1", "r:in w:out …"},
		{"echo $_ $in; trap 'rm x' EXIT; out=1", "r:in … lost out"},
		{"echo $_; out=1; unset out", " lost out"},
		{"exec >log 2>&1; echo $in; out=1", "r:in w:out w:out"},
		{"exec 3>&1; echo $in; out=1; exec true; hotc-agent get z", "r:in w:out w:out"},
		{"trap 'out=2' EXIT; out=$in", "r:in w:out …"},
		{"trap 'out=2; exit 1' INT; out=$in", "r:in w:out …"},
		{"trap \"out=2\" EXIT; out=$in", "r:in w:out …"},
		{"trap \"out=$in\" EXIT; out=1", "r:in … lost out"},
		{"trap out=2 EXIT; out=1", " … lost out"},
		{"trap \"rm -f $in\" EXIT; out=1", "r:in w:out …"},
		{"set -v; out=$in", "r:in lost out"},
		{"#!/bin/bash\ntrap 'echo' DEBUG; out=$in; hotc-agent put b < f", "r:in w:b … lost out"},
		{"set -v; out=$in; hotc-agent put out < f", "r:in w:out"},
		{"#!/bin/bash -i\nout=$in", " lost in lost out"},
	} {
		var diags source.Diagnostics
		role := driver.Role{Name: "r", Source: c.script}
		if strings.Contains(c.script, "out=") {
			role.Inputs, role.Outputs = []*program.Input{{Name: "in"}}, []*program.Output{{Name: "out"}}
		}
		m := script.Driver.Lower(role, &diags)
		got := "unknown"
		if m != nil && m.Sequence != nil {
			got = text(m.Sequence.Steps)
			if !m.Sequence.Complete {
				got += " …"
			}
		}
		if m != nil && m.Sequence != nil {
			for _, name := range slices.Sorted(maps.Keys(m.Sequence.Lost)) {
				got += " lost " + name
			}
		}
		if got != c.want || diags.Failed() {
			t.Errorf("%q\n got  %s\n want %s", c.script, got, c.want)
		}
	}
}
