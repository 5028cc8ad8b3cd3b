// Package hottest compares hotc with stock Heat in tests: it asks Heat's own code for the
// value of an expression, a template or a parameter.
//
// One Python process with Debian's python3-heat answers all questions; its imports take
// more than a second. go test -short takes the answers that testdata/heat has of it, and
// go test -short -update asks and records them.
package hottest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

//go:embed oracle.py
var script string

// SkipVariable is the environment variable that skips tests that need Heat.
const SkipVariable = "HOTC_SKIP_HEAT"

// Skip skips a test that asks Heat in a way of its own, if the environment says so, and with -short.
func Skip(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT compared with stock Heat: -short")
	}
	skipBySetting(t)
}

func skipBySetting(t testing.TB) {
	t.Helper()
	if os.Getenv(SkipVariable) == "1" {
		t.Skip("NOT compared with stock Heat: " + SkipVariable + "=1")
	}
}

// Oracle is a process that runs stock Heat's code, or what it has said before.
type Oracle struct {
	mu       sync.Mutex
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	recorded *recording // nil if nothing is
}

// Start starts an oracle for a test, or skips the test if the environment says so. Without
// python3-heat the test fails: the most important tests must not be skipped silently.
func Start(t testing.TB) *Oracle {
	t.Helper()
	skipBySetting(t)
	o := &Oracle{}
	if testing.Short() {
		if o.recorded = openRecording(t); !updating() {
			return o
		}
	}
	cmd := exec.Command("/usr/bin/python3", "-c", script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v", SkipVariable, err)
	}
	o.cmd, o.in, o.out = cmd, in, bufio.NewReaderSize(out, 1<<20)
	t.Cleanup(o.stop)
	return o
}

func (o *Oracle) stop() {
	_ = o.in.Close()
	_ = o.cmd.Wait()
}

// Ask sends a question and reads the answer into a value.
func (o *Oracle) Ask(t testing.TB, what string, question map[string]any, answer any) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	question["ask"] = what
	line, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	reply, known := o.recorded.answer(line)
	if !known {
		reply = o.ask(t, line)
		o.recorded.note(line, reply)
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", reply, err))
	}
}

func (o *Oracle) ask(t testing.TB, line []byte) json.RawMessage {
	t.Helper()
	if o.cmd == nil {
		t.Fatalf("stock Heat's answer to this is not recorded: record it with go test -short -update (without -short it is asked)\n%.300s", line)
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v", SkipVariable, err)
	}
	reply, err := o.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v", SkipVariable, err)
	}
	var got struct {
		Answer  json.RawMessage `json:"answer"`
		Failure string          `json:"failure"`
	}
	if err := json.Unmarshal(reply, &got); err != nil {
		t.Fatal(err)
	}
	if got.Failure != "" {
		t.Fatalf("the oracle failed: %s", got.Failure)
	}
	return got.Answer
}

// Verdict is Heat's result: a value as JSON, or an error.
type Verdict struct {
	Value string `json:"value"`
	Error string `json:"error"`
	// SecondTry says that only PyYAML's slow loader, Heat's fallback, read the text.
	SecondTry bool `json:"second_try"`
}

// Stack is the context in which expressions are evaluated.
type Stack struct {
	Template  string
	Values    json.RawMessage
	Resources map[string]Resource
	Files     map[string]string
}

// Resource is what Heat knows of a resource once it exists.
type Resource struct {
	Ref        string          `json:"ref"`
	Attributes json.RawMessage `json:"attributes"`
}

func (s Stack) question() map[string]any {
	q := map[string]any{"template": s.Template, "resources": s.Resources, "files": s.Files}
	if s.Values != nil {
		q["values"] = s.Values
	}
	return q
}

// Evaluate returns Heat's values of expressions.
func (o *Oracle) Evaluate(t testing.TB, s Stack, expressions []json.RawMessage) []Verdict {
	t.Helper()
	q := s.question()
	q["expressions"] = expressions
	var out []Verdict
	o.Ask(t, "evaluate", q, &out)
	return out
}

// Read returns Heat's parsed form of a template.
func (o *Oracle) Read(t testing.TB, text string) Verdict {
	t.Helper()
	var out Verdict
	o.Ask(t, "read", map[string]any{"text": text}, &out)
	return out
}

// Parameter returns Heat's value of a parameter; head is the key and value that declare
// the template's version.
func (o *Oracle) Parameter(t testing.TB, head [2]string, schema, value json.RawMessage) Verdict {
	t.Helper()
	var out Verdict
	o.Ask(t, "parameter", map[string]any{"head": head, "schema": schema, "value": value}, &out)
	return out
}

// Seconds is the CPU time that Heat takes, the best of several runs: "timing" is its YAML
// loader alone.
func (o *Oracle) Seconds(t testing.TB, what string, q map[string]any) float64 {
	t.Helper()
	var out struct {
		Seconds float64 `json:"seconds"`
	}
	o.Ask(t, what, q, &out)
	return out.Seconds
}

// Resolving is the CPU time that Heat takes to read a template and resolve its resources'
// properties and metadata, the best of several runs.
func (o *Oracle) Resolving(t testing.TB, s Stack, times int) float64 {
	t.Helper()
	q := s.question()
	q["times"] = times
	return o.Seconds(t, "resolving", q)
}
