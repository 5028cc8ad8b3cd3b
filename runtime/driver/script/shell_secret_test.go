package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/script"
)

// A secret input is a variable of the shell, and in no program's environment.
func TestSecretIsNotExported(t *testing.T) {
	for _, shell := range []string{"dash", "bash", "mksh"} {
		for _, before := range []string{"", "set -a; "} {
			t.Run(shell+" "+before, func(t *testing.T) {
				if _, err := exec.LookPath(shell); err != nil {
					t.Skipf("SKIPPED: %s is not here: %v", shell, err)
				}
				s := script.Shell{Folder: t.TempDir(), Inputs: map[string]string{"open": "open", "password": "password"}, Secret: map[string]bool{"password": true}}
				if err := s.Write(); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"open", "password"} {
					if err := s.Arrive(name, []byte(`"of `+name+`"`)); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command(shell, "-c", before+`. "$hotc_shell"; hotc_await open password; echo "$password"; `+
					`sh -c 'echo "${open-not there} ${password-not there}"'; case $- in *a*) echo all;; esac`)
				cmd.Env = append(os.Environ(), "hotc_shell="+filepath.Join(s.Folder, "shell"))
				got, err := cmd.CombinedOutput()
				want := "of password\nof open not there\n"
				if before != "" {
					want += "all\n"
				}
				if err != nil || string(got) != want {
					t.Errorf("%v: %q, not %q", err, got, want)
				}
			})
		}
	}
}

// An output's value is not a program's argument, in shells either that have no printf
// of their own.
func TestOutputIsNoArgument(t *testing.T) {
	for _, shell := range []string{"dash", "bash", "mksh"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("SKIPPED: %s is not here: %v", shell, err)
			}
			programs := t.TempDir()
			for _, name := range []string{"printf", "print", "echo"} {
				if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\necho \"argument: $*\" >&2\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			s := script.Shell{Folder: t.TempDir(), Outputs: map[string]string{"password": "password"}}
			s.OutputsPrefix = filepath.Join(s.Folder, "output")
			if err := s.Write(); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(shell, "-c", `. "$hotc_shell"; password='-n \t%s'; hotc_publish password`)
			cmd.Env = append(os.Environ(), "hotc_shell="+filepath.Join(s.Folder, "shell"), "PATH="+programs+":"+os.Getenv("PATH"))
			if printed, err := cmd.CombinedOutput(); err != nil || len(printed) > 0 {
				t.Errorf("%v: %q", err, printed)
			}
			if got, err := os.ReadFile(filepath.Join(s.Folder, "output.password")); err != nil || string(got) != `-n \t%s` {
				t.Errorf("published %q, %v", got, err)
			}
		})
	}
}
