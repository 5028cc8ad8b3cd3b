package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hotc-dev/hotc/runtime/driver"
)

// largestVariable is the kernel's limit for one environment variable, in bytes
// (MAX_ARG_STRLEN is 32 pages, including the final NUL).
const largestVariable = 128<<10 - 1

func inputsFolder(job *driver.Job) string { return filepath.Join(job.Folder, "inputs") }

// writeInputs waits for the inputs that the script needs before it starts, and passes
// them as files and environment variables. A value that does not fit into a variable is
// only in its file.
func writeInputs(ctx context.Context, job *driver.Job) (environment []string, err error) {
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
		if len(entry) <= largestVariable && !strings.Contains(entry, "\x00") {
			environment = append(environment, entry)
			continue
		}
		fmt.Fprintf(job.Stderr, "hotc-agent: input %s does not fit into an environment variable; read $hotc_inputs/%s\n",
			in.Name, driver.FileName(in.Name))
	}
	return environment, nil
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
