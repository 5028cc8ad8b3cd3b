package script_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// A shell takes a hostile text over as a variable, hands it to programs, and writes it to
// an output, as it is: however it comes, from a file or by asking the agent.
func TestHostileValues(t *testing.T) {
	for _, shell := range []string{"dash", "bash", "mksh", "ksh93", "busybox sh"} {
		t.Run(shell, func(t *testing.T) {
			command := strings.Fields(shell)
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("SKIPPED: %s is not here: %v", shell, err)
			}
			trap := drivertest.NewTrap(t)
			texts := trap.Texts()
			// what the agent answers to `await`, a file for each input
			answers := t.TempDir()
			s := script.Shell{Folder: t.TempDir(), Inputs: map[string]string{}, Outputs: map[string]string{}, Agent: []string{"sh", "-c", `cat "` + answers + `/$1"`, "await"}}
			s.OutputsPrefix = filepath.Join(s.Folder, "output")
			var lines strings.Builder
			for i, h := range texts {
				if h.Name == "nul" {
					continue // it ends the role: TestAValueThatDoesNotFit
				}
				for _, way := range []string{"file", "asked"} {
					name := fmt.Sprint(way, i)
					s.Inputs[name], s.Outputs["out"+name] = name, "out"+name
					if way == "asked" {
						if err := os.WriteFile(filepath.Join(answers, name), []byte(script.Assignment(name, name, []byte(h.JSON()))), 0o600); err != nil {
							t.Fatal(err)
						}
					}
					fmt.Fprintf(&lines, "hotc_await %s; out%s=${%s-}; hotc_publish out%s; %s\n", name, name, name, name, readsOf(h, name))
				}
			}
			if err := s.Write(); err != nil {
				t.Fatal(err)
			}
			for i, h := range texts {
				if err := s.Arrive(fmt.Sprint("file", i), []byte(h.JSON())); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(program, []byte(". \"$hotc_shell\"\n"+lines.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(command[0], append(command[1:], program)...)
			cmd.Env = append(os.Environ(), "hotc_shell="+filepath.Join(s.Folder, "shell"), "RESULTS="+t.TempDir())
			if printed, err := cmd.CombinedOutput(); err != nil || len(printed) > 0 {
				t.Errorf("%v: %.2000s", err, printed)
			}
			trap.MustBeEmpty(t)
			for i, h := range texts {
				for _, way := range []string{"file", "asked"} {
					if h.Name == "nul" {
						continue
					}
					if got, err := os.ReadFile(s.OutputsPrefix + ".out" + fmt.Sprint(way, i)); err != nil || string(got) != h.Text {
						t.Errorf("%s is published as %.200q, %v", h.Name, got, err)
					}
				}
			}
		})
	}
}

// readsOf is a program that finds the text in its environment, if that can hold it.
func readsOf(h drivertest.Hostile, name string) string {
	if h.Name == "long" {
		return ":"
	}
	return fmt.Sprintf(`sh -c '[ "$%s" = "$1" ]' sh "$%s" || echo "%s is not exported"`, name, name, h.Name)
}
