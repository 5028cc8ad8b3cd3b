// Package hottest asks stock Heat what it makes of an expression, a text or a
// parameter: hotc's reading of HOT must be Heat's reading. It is for tests only.
//
// One Python process answers all questions, with the code of Debian's python3-heat
// itself; importing that takes more than a second.
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

//go:embed judge.py
var script string

// SkipVariable is the environment variable that lets tests do without Heat.
const SkipVariable = "HOTC_SKIP_HEAT"

// Oracle is a process with stock Heat's code in it.
type Oracle struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts a judge for a test, or skips the test if the environment says so.
// A machine without python3-heat is a failure: the tests that matter most must not
// vanish in silence.
func Start(t testing.TB) *Oracle {
	t.Helper()
	if os.Getenv(SkipVariable) == "1" {
		t.Skip("NOT compared with stock Heat: " + SkipVariable + "=1")
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
	j := &Oracle{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(j.stop)
	return j
}

func (j *Oracle) stop() {
	_ = j.in.Close()
	_ = j.cmd.Wait()
}

// Ask sends a question and reads the answer into a value.
func (j *Oracle) Ask(t testing.TB, what string, question map[string]any, answer any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	question["ask"] = what
	line, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v", SkipVariable, err)
	}
	reply, err := j.out.ReadBytes('\n')
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
		t.Fatalf("the judge failed: %s", got.Failure)
	}
	if err := json.Unmarshal(got.Answer, answer); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", got.Answer, err))
	}
}

// Verdict is what Heat makes of something: a value as JSON, or an error.
type Verdict struct {
	Value string `json:"value"`
	Error string `json:"error"`
	// SecondTry says that a text was only read by PyYAML's slow loader, which Heat
	// falls back to.
	SecondTry bool `json:"second_try"`
}

// Stack is what expressions are evaluated in.
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

// Evaluate gives Heat's values of expressions.
func (j *Oracle) Evaluate(t testing.TB, s Stack, expressions []json.RawMessage) []Verdict {
	t.Helper()
	q := s.question()
	q["expressions"] = expressions
	var out []Verdict
	j.Ask(t, "evaluate", q, &out)
	return out
}

// Read gives Heat's reading of a template's text.
func (j *Oracle) Read(t testing.TB, text string) Verdict {
	t.Helper()
	var out Verdict
	j.Ask(t, "read", map[string]any{"text": text}, &out)
	return out
}

// Parameter gives Heat's value of a parameter; head is the key and the value that
// say a template's version.
func (j *Oracle) Parameter(t testing.TB, head [2]string, schema, value json.RawMessage) Verdict {
	t.Helper()
	var out Verdict
	j.Ask(t, "parameter", map[string]any{"head": head, "schema": schema, "value": value}, &out)
	return out
}

// Seconds is the processor's time that Heat takes, the best of some times: "timing"
// is its YAML loader alone.
func (j *Oracle) Seconds(t testing.TB, what string, q map[string]any) float64 {
	t.Helper()
	var out struct {
		Seconds float64 `json:"seconds"`
	}
	j.Ask(t, what, q, &out)
	return out.Seconds
}

// Resolving is the processor's time that Heat takes to read a template and resolve its
// resources' properties and metadata, the best of some times.
func (j *Oracle) Resolving(t testing.TB, s Stack, times int) float64 {
	t.Helper()
	q := s.question()
	q["times"] = times
	return j.Seconds(t, "resolving", q)
}
