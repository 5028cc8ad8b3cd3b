package script_test

import (
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Roles that share what is known of their script differ in nothing from roles that
// do not: each has its own places, names and diagnostics.
func TestWhatIsRememberedOfAScriptChangesNothing(t *testing.T) {
	text := "a: 'echo $x; y=1'\nb: 'echo $x; y=1'\n"
	file := source.NewFile("t.yaml", []byte(text))
	lower := func(m *driver.Memory) (lines []string) {
		var diags source.Diagnostics
		for i, c := range []struct {
			script, file, in, out string
			late                  []string
		}{
			{"echo $x; y=1", "", "x", "y", []string{"x"}},
			{"echo $x; y=1", "", "x", "y", nil},
			{"echo $x; y=1", "", "y", "x", []string{"y"}},
			{"echo $x; y=1", "s.sh", "x", "y", []string{"x"}},
			{"echo $x; y=1", "s.sh", "x", "y", []string{"x"}},
			{"if", "", "x", "y", nil},
			{"if", "", "x", "y", nil},
			{"#!/usr/bin/python3\n", "", "x", "y", nil},
		} {
			start := uint32(3 + i%2*18)
			role := driver.Role{Name: fmt.Sprint("r", i), Source: c.script, SourceFile: c.file, Memory: m,
				SourceAt: source.Place{File: file, Span: source.Span{Start: start, End: start + 14}},
				Inputs:   []*program.Input{{Name: c.in}}, Outputs: []*program.Output{{Name: c.out}}}
			meaning := script.Driver.Lower(role, &diags)
			line := fmt.Sprint(i, " ", meaning.Files[0].Name, " ", meaning.Files[0].Digest)
			meaning.Sequence.Walk(func(s *program.Step) { line += fmt.Sprint(" ", s.Op, s.Name, " ", s.At) })
			if meaning.Finish != nil {
				_, files := meaning.Finish(c.late)
				line += fmt.Sprintf(" %s %q", files[0].Name, files[0].Data)
			}
			lines = append(lines, line)
		}
		for _, d := range diags.All() {
			lines = append(lines, d.Error()+" "+d.Notes[0].At.String())
		}
		return lines
	}
	alone, together := lower(nil), lower(&driver.Memory{})
	if len(alone) != 10 {
		t.Fatalf("%q", alone)
	}
	for i := range alone {
		if alone[i] != together[i] {
			t.Errorf("together\n%s\nalone\n%s", together[i], alone[i])
		}
	}
}
