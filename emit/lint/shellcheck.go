package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/analysis/rule"
)

// unchecked is what shellcheck cannot know about a server's script: files on the server, and
// variables set by Heat's agent.
const unchecked = "SC1090,SC1091,SC2154"

// mostShell is the maximum size of a script for shellcheck, in bytes.
const mostShell = 256 << 10

// Shellcheck returns a function that runs shellcheck on scripts, until the context ends; nil if
// it is not installed.
func Shellcheck(ctx context.Context) func(script string) []rule.Advice {
	program, err := exec.LookPath("shellcheck")
	if err != nil {
		return nil
	}
	var mu sync.Mutex
	known := map[string][]rule.Advice{}
	return func(script string) []rule.Advice {
		mu.Lock()
		advice, is := known[script]
		mu.Unlock()
		if is || len(script) > mostShell {
			return advice
		}
		advice, err := shellcheck(ctx, program, script)
		if err != nil {
			advice = []rule.Advice{{Message: fmt.Sprintf("shellcheck cannot check this script: %v", err), Mild: true}}
		}
		mu.Lock()
		known[script] = advice
		mu.Unlock()
		return advice
	}
}

func shellcheck(ctx context.Context, program, script string) ([]rule.Advice, error) {
	cmd := exec.CommandContext(ctx, program, "--norc", "--format=json1", "--exclude="+unchecked, "-")
	cmd.Stdin = strings.NewReader(script)
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // it has findings
		err = nil
	}
	if err != nil {
		return nil, err
	}
	var said struct {
		Comments []struct {
			Line, EndLine, Column, EndColumn, Code int
			Level, Message                         string
		}
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&said); err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(script, "\n")
	var out []rule.Advice
	for _, c := range said.Comments {
		out = append(out, rule.Advice{From: offset(lines, c.Line, c.Column), To: offset(lines, c.EndLine, c.EndColumn),
			Message: fmt.Sprintf("shellcheck: %s (SC%d)", strings.TrimSuffix(c.Message, "."), c.Code),
			Hint:    fmt.Sprintf("to suppress it, add a line `# shellcheck disable=SC%d` before it", c.Code),
			Mild:    c.Level != "error" && c.Level != "warning"})
	}
	return out, nil
}

// offset returns the byte offset of a line and column, which count characters from 1.
func offset(lines []string, line, column int) int {
	at := 0
	for i, text := range lines {
		if i == line-1 {
			for j := range text {
				if column--; column == 0 {
					return at + j
				}
			}
			return at + len(strings.TrimSuffix(text, "\n"))
		}
		at += len(text)
	}
	return at
}
