package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// A role fails, and says why, before its script reads a value as empty that no variable, or no
// program's environment, can hold.
func TestAValueThatDoesNotFit(t *testing.T) {
	long, nul := `"`+strings.Repeat("x", 200_000)+`"`, `"a\u0000b"`
	const tooLong, hasNUL = "has 200000 bytes, and an environment variable holds 131071", "contains a NUL byte"
	const waits = `. "$hotc_shell"; { hotc_await v && :; } 2>/dev/null; `
	for name, c := range map[string]struct {
		time    contract.Time
		value   string
		script  string
		listed  bool // the compiler has found that it may read the variable
		want    string
		refusal string
	}{
		"python, late":            {contract.Run, long, "#!/usr/bin/python3\nimport os\nprint(len(os.environ['v']))", true, "", tooLong},
		"python, static":          {contract.Static, long, "#!/usr/bin/python3\nimport os\nprint(len(os.environ['v']))", true, "", tooLong},
		"python, NUL":             {contract.Static, nul, "#!/usr/bin/python3\nimport os\nprint(len(os.environ['v']))", true, "", hasNUL},
		"python, its file":        {contract.Static, long, "#!/usr/bin/python3\nimport os\nprint(len(open(os.environ['hotc_inputs'] + '/v').read()))", false, "200000\n", ""},
		"shell, static":           {contract.Static, long, "echo ${#v}", false, "", tooLong},
		"shell, NUL":              {contract.Deploy, nul, "echo ${#v}", false, "", hasNUL},
		"shell, its file":         {contract.Static, long, `wc -c <"$hotc_inputs/v"`, false, "200000\n", ""},
		"shell, late":             {contract.Run, long, waits + "echo ${#v}", false, "200000\n", ""},
		"shell, late, NUL":        {contract.Run, nul, waits + "echo ${#v}", false, "", hasNUL},
		"shell, late, in a child": {contract.Run, long, "hotc_passed=' v '; " + waits + "sh -c 'echo ${#v}'", false, "", tooLong},
		"shell, late, subshell":   {contract.Run, nul, "x=$(" + waits + "echo $v); echo went on", false, "", hasNUL},
	} {
		t.Run(name, func(t *testing.T) {
			values := &drivertest.Values{Arrived: map[string]string{"v": c.value}}
			source := map[string]any{"file": "script", "waits": strings.Contains(c.script, "hotc_await")}
			if c.listed {
				source["environment"] = []string{"v"}
			}
			r := drivertest.Role{Source: source, File: []byte(c.script + "\n"), Inputs: []string{"v"}, Values: values}
			agent := t.TempDir()
			answer := filepath.Join(agent, "answer")
			if err := os.WriteFile(answer, []byte(script.Assignment("v", "v", []byte(c.value))), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(agent, "hotc-agent"), fmt.Appendf(nil, "#!/bin/sh\ncase $1 in await) cat '%s' ;; guard) cat >/dev/null ;; esac\n", answer), 0o700); err != nil {
				t.Fatal(err)
			}
			r.Environment = []string{"PATH=" + agent + ":" + os.Getenv("PATH")}
			job, printed := r.Job(t, "")
			job.Role.Inputs[0].Time = c.time
			if err := (script.Driver{}).Prepare(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			exit, err := script.Driver{}.Run(t.Context(), job)
			end := printed()
			switch {
			case c.refusal == "" && (err != nil || !exit.OK() || end.Stdout != c.want):
				t.Errorf("%v, %v: %s%s", err, exit, end.Stdout, end.Stderr)
			case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal) || end.Stdout != ""):
				t.Errorf("%v: %s%s", err, end.Stdout, end.Stderr)
			}
		})
	}
}
