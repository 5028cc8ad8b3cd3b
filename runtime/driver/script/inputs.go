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

// largestVariable is how many bytes of one environment variable the kernel takes
// (MAX_ARG_STRLEN is 32 pages, its zero byte included).
const largestVariable = 128<<10 - 1

func inputsFolder(job *driver.Job) string { return filepath.Join(job.Folder, "inputs") }

// writeInputs waits for the inputs that must be there before the script starts,
// and gives them as files and as environment variables. A value that no variable
// can hold is in its file only.
func writeInputs(ctx context.Context, job *driver.Job) (environment []string, err error) {
	folder := inputsFolder(job)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the inputs' folder: %w", err)
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
			continue // every process of the same user can read an environment
		}
		entry := Variable(in.Name) + "=" + string(driver.Text(value))
		if isAgents(Variable(in.Name)) {
			continue
		}
		if len(entry) <= largestVariable && !strings.Contains(entry, "\x00") {
			environment = append(environment, entry)
			continue
		}
		fmt.Fprintf(job.Stderr, "hotc-agent: input %s does not fit into an environment variable; it is in $hotc_inputs/%s\n",
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

// isAgents says that the agent gives the script a variable of that name itself.
func isAgents(variable string) bool {
	return variable == "PATH" || variable == "HOME" || strings.HasPrefix(variable, "HOTC_")
}

// Variable is the environment variable of an input: its name with "_" for
// everything but letters, digits and "_".
func Variable(input string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_':
			return r
		}
		return '_'
	}, input)
}
