package ansible_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	half "github.com/hotc-dev/hotc/compiler/driver/ansible"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// beside are the files of a role's folder as the compiler sees them.
type beside map[string]string

func (b beside) Folder(string) (fs.FS, error) {
	files := fstest.MapFS{}
	for name, text := range b {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files, nil
}

func (beside) File(string) ([]byte, error) { return nil, fs.ErrNotExist }

// foreseen is what the compiler says of a role's order.
func (r role) foreseen(t *testing.T) *program.Sequence {
	t.Helper()
	src := value.NewDict()
	src.Set("playbooks", "./ansible")
	seen := driver.Role{Name: "r", Source: src, Reader: beside(r.files), Locate: func(...string) source.Place { return source.Place{} }}
	for _, name := range r.inputs {
		seen.Inputs = append(seen.Inputs, &program.Input{Name: strings.TrimLeft(name, "!?")})
	}
	for _, name := range r.outputs {
		out := &program.Output{Name: strings.TrimLeft(name, "!")}
		out.Name, out.Resource, _ = strings.Cut(out.Name, ": ")
		seen.Outputs = append(seen.Outputs, out)
	}
	var diags source.Diagnostics
	m := half.Driver.Lower(seen, &diags)
	if m == nil || m.Sequence == nil {
		t.Fatalf("the compiler does not understand it: %v", diags.All())
	}
	return m.Sequence
}

// mustHaveForeseen compares what happened with what the compiler said: all that
// happened was possible, all that is certain did happen, in that order.
func (r role) mustHaveForeseen(t *testing.T) {
	t.Helper()
	sequence := r.foreseen(t)
	possible, any := map[string]bool{}, false
	name := func(s *program.Step) string {
		return map[program.StepOp]string{program.ReadInput: "get ", program.WriteOutput: "put "}[s.Op] + s.Name
	}
	sequence.Walk(func(s *program.Step) {
		possible[name(s)] = true
		any = any || s.Op == program.ReadAny
	})
	var first []string // of each line, when it happened first
	for _, line := range r.agent.Lines() {
		words := strings.SplitN(line, " ", 3)
		if line = words[0] + " " + words[1]; !slices.Contains(first, line) {
			first = append(first, line)
		}
		if !possible[line] && !(any && words[0] == "get") {
			t.Errorf("%s was not foreseen", line)
		}
	}
	at := -1
	passed := map[string]bool{}
	for i := range sequence.Steps {
		s := &sequence.Steps[i]
		if s.Op != program.ReadInput && s.Op != program.WriteOutput || passed[name(s)] {
			continue
		}
		passed[name(s)] = true
		n := slices.Index(first, name(s))
		switch {
		case n < 0:
			t.Errorf("%s is said to be certain, and did not happen (%s)", name(s), s.At)
		case n < at && s.Op == program.WriteOutput:
			t.Errorf("%s happened before %s, and is said to come after it (%s)", name(s), first[at], s.At)
		}
		at = max(at, n)
	}
}
