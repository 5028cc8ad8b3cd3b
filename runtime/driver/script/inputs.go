package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/runtime/driver"
)

// largestVariable is the kernel's limit for one environment variable, in bytes
// (MAX_ARG_STRLEN is 32 pages, including the final NUL).
const largestVariable = 128<<10 - 1

func inputsFolder(job *driver.Job) string { return filepath.Join(job.Folder, "inputs") }

// writeInputs waits for the inputs that the script needs before it starts, and passes
// them as files and environment variables. A value that does not fit into a variable is
// only in its file; if the script may read it as a variable, the role fails.
func writeInputs(ctx context.Context, job *driver.Job, s source) (environment []string, err error) {
	folder := inputsFolder(job)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the inputs' folder: %w", err)
	}
	for _, in := range job.Role.Inputs {
		if isRunTime(in) {
			continue
		}
		value, err := job.Values.Read(ctx, in.Name)
		if err != nil {
			return nil, err
		}
		if err := writeInput(folder, in.Name, value); err != nil {
			return nil, err
		}
		if in.Secret && !in.Eager {
			continue // processes of the same user can read an environment
		}
		entry := Variable(in.Name) + "=" + string(driver.Text(value))
		if isAgents(Variable(in.Name)) {
			continue
		}
		switch why := unfit(in.Name, value); {
		case why == "":
			environment = append(environment, entry)
		case s.mayRead(job, in.Name):
			return nil, errors.New(why)
		default:
			fmt.Fprintf(job.Stderr, "hotc-agent: %s\n", why)
		}
	}
	return environment, nil
}

// unfit says why a value cannot be in an environment variable; "" if it can.
func unfit(input string, value json.RawMessage) string {
	text, why := driver.Text(value), ""
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		why = "contains a NUL byte, which no variable can hold"
	case len(Variable(input))+1+len(text) > largestVariable:
		why = fmt.Sprintf("has %d bytes, and an environment variable holds %d with its name", len(text), largestVariable)
	default:
		return ""
	}
	return fmt.Sprintf("the value of input %s %s: read it with `hotc-agent get %s`, or from the file $hotc_inputs/%s", input, why, input, driver.FileName(input))
}

// mayRead reports whether the script may read an input as a variable: one that is not a shell's by
// what the compiler has found, a shell's unless its text reads it otherwise.
func (s source) mayRead(job *driver.Job, input string) bool {
	if slices.Contains(s.Environment, input) {
		return true
	}
	text, err := os.ReadFile(scriptPath(job))
	if err != nil || !isShell(s, scriptPath(job)) {
		return false
	}
	return !regexp.MustCompile(`(?:\bhotc-agent["']?\s+get\s.*|\bhotc_inputs["}]*/)` + `(?:` + regexp.QuoteMeta(input) + `|` + regexp.QuoteMeta(driver.FileName(input)) + `)(?:[^\w.]|$)`).Match(text)
}

// isShell reports whether a shell runs a script.
func isShell(s source, path string) bool {
	command, err := commandLine(s, path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Fields(strings.Join(command[:len(command)-1], " ")), func(word string) bool {
		return slices.Contains([]string{"sh", "dash", "ash", "bash", "ksh", "ksh93", "mksh"}, filepath.Base(word))
	})
}

func writeInput(folder, name string, value json.RawMessage) error {
	path := filepath.Join(folder, driver.FileName(name))
	if err := os.WriteFile(path, driver.Text(value), 0o600); err != nil {
		return fmt.Errorf("write input %s: %w", name, err)
	}
	return nil
}

// isAgents reports whether the agent itself sets a variable of that name.
func isAgents(variable string) bool {
	return variable == "PATH" || variable == "HOME" || strings.HasPrefix(variable, "HOTC_")
}

// Variable is the environment variable of an input: its name with everything but letters
// and digits replaced by "_".
func Variable(input string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '_'
	}, input)
}
