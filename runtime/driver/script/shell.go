package script

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// Functions are called by a rewritten shell script (docs/scripts.md). They are written to
// a file in the role's private folder, after the settings of that role.
//
//go:embed functions.sh
var Functions string

// Shell are the files that a shell script and the agent share:
//
//	shell             the functions; $hotc_shell names it
//	arrived/VARIABLE  an assignment of a run-time input's value, once it has arrived;
//	                  never a secret, which the script requests from the agent
//	kept/NAME         the last value of an output that is a variable of the script
type Shell struct {
	Folder string
	// Agent is the command line of `hotc-agent await`, without the input's name.
	Agent []string
	// Inputs are the names, by variable, of the awaited inputs: run-time and secret ones.
	// Outputs are those of outputs.
	Inputs, Outputs map[string]string
	// Secret are the variables that must not be exported to the script's child processes.
	Secret map[string]bool
	// OutputsPrefix is the value of $heat_outputs_path.
	OutputsPrefix string
}

func (s Shell) file() string                   { return filepath.Join(s.Folder, "shell") }
func (s Shell) arrived(variable string) string { return filepath.Join(s.Folder, "arrived", variable) }
func (s Shell) kept() string                   { return filepath.Join(s.Folder, "kept") }

// Write creates the files.
func (s Shell) Write() error {
	for _, folder := range []string{"arrived", "kept"} {
		if err := os.MkdirAll(filepath.Join(s.Folder, folder), 0o700); err != nil {
			return fmt.Errorf("create the script's folder: %w", err)
		}
	}
	var b strings.Builder
	var agent []string
	for _, word := range s.Agent {
		agent = append(agent, quote(word))
	}
	fmt.Fprintf(&b, "hotc_arrived=%s hotc_kept=%s hotc_settled=' '\n", quote(filepath.Join(s.Folder, "arrived")), quote(s.kept()))
	fmt.Fprintf(&b, "hotc_ask() { %s \"$@\"; }\n", strings.Join(agent, " "))
	names(&b, "hotc_input", s.Inputs, func(name string) string { return name })
	names(&b, "hotc_output", s.Outputs, driver.FileName)
	fmt.Fprintf(&b, "hotc_outputs=%s hotc_refused=%s\n", quote(s.OutputsPrefix), quote(filepath.Join(filepath.Dir(s.OutputsPrefix), refusalFile)))
	exported := slices.DeleteFunc(sorted(s.Inputs), func(v string) bool { return s.Secret[v] })
	if len(exported) > 0 {
		fmt.Fprintf(&b, "export %s\n", strings.Join(exported, " "))
	}
	fmt.Fprintf(&b, "hotc_secret=' %s '\n", strings.Join(sorted(s.Secret), " "))
	b.WriteString(Functions)
	if err := os.WriteFile(s.file(), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write the script's functions: %w", err)
	}
	return nil
}

// names writes a function that maps a variable to a name.
func names(b *strings.Builder, function string, of map[string]string, text func(string) string) {
	fmt.Fprintf(b, "%s() { case $1 in ", function)
	for _, v := range sorted(of) {
		fmt.Fprintf(b, "%s) hotc_name=%s;; ", v, quote(text(of[v])))
	}
	b.WriteString("esac; }\n")
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Arrive writes a value to a file, so that the script need not start a process.
func (s Shell) Arrive(variable string, value json.RawMessage) error {
	path := s.arrived(variable)
	if err := os.WriteFile(path+".new", []byte(Assignment(variable, s.Inputs[variable], value)), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Assignment returns the shell code that assigns an input's value. One that does not fit into a
// variable ends the role, and so does one that is too large for the environment of the programs
// that may read it there; for the shell alone it is a variable that is not exported.
func Assignment(variable, input string, value json.RawMessage) string {
	text := string(driver.Text(value))
	why := unfit(input, value)
	switch {
	case why == "":
		return variable + "=" + quote(text) + "\n"
	case strings.Contains(text, "\x00"):
		return "hotc_refuse " + quote(why) + "\n"
	}
	return "hotc_large " + variable + " " + quote(why) + "\nunset " + variable + "\n" + variable + "=" + quote(text) + "\n"
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// shellOf is the shell's side of a job.
func shellOf(job *driver.Job) Shell {
	s := Shell{Folder: filepath.Join(job.Folder, "script.d"), Inputs: map[string]string{}, Outputs: map[string]string{},
		Secret: map[string]bool{}, OutputsPrefix: outputsPrefix(job)}
	for _, in := range job.Role.Inputs {
		if (isRunTime(in) || in.Secret && !in.Eager) && isVariable(Variable(in.Name)) {
			s.Inputs[Variable(in.Name)] = in.Name
			if in.Secret {
				s.Secret[Variable(in.Name)] = true
			}
		}
	}
	for _, o := range job.Role.Outputs {
		if isVariable(Variable(o.Name)) {
			s.Outputs[Variable(o.Name)] = o.Name
		}
	}
	s.Agent = []string{"env"} // independent of the script's changes of its environment
	for _, name := range []string{process.MarkVariable, socket.Variable} {
		if value := job.Variable(name); value != "" {
			s.Agent = append(s.Agent, name+"="+value)
		}
	}
	s.Agent = append(s.Agent, job.Agent(), "await")
	return s
}

// isVariable reports whether a name is valid for a shell variable.
func isVariable(name string) bool { return name != "" && (name[0] < '0' || name[0] > '9') }

// foresee writes values to files as they arrive, until the returned function is called.
// It does not count as a read: a failed value fails the role only when it is read.
func foresee(ctx context.Context, job *driver.Job, s Shell) (stop func()) {
	ahead, is := job.Values.(driver.Foresight)
	if !is {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for variable, name := range s.Inputs {
		if s.Secret[variable] {
			continue // it would be on a disk
		}
		mistake.GoIn(&running, func() {
			if value, err := ahead.Foresee(ctx, name); err == nil {
				_ = s.Arrive(variable, value) // without the file the script asks the agent
			}
		})
	}
	return func() { cancel(); running.Wait() }
}

// publishKept publishes the outputs' last values after the script has succeeded.
func publishKept(ctx context.Context, job *driver.Job, s Shell) {
	for _, variable := range sorted(s.Outputs) {
		text, err := os.ReadFile(filepath.Join(s.kept(), driver.FileName(s.Outputs[variable])))
		if err == nil {
			err = job.Values.WriteText(ctx, s.Outputs[variable], text)
		}
		if err != nil && !os.IsNotExist(err) && ctx.Err() == nil {
			fmt.Fprintf(job.Stderr, "hotc-agent: $%s: %v\n", variable, err)
		}
	}
}

// withoutInputs removes the agent's own variables with the names of run-time inputs from
// an environment.
func (s Shell) withoutInputs(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return s.Inputs[name] != "" && name != "PATH" && name != "HOME"
	})
}
