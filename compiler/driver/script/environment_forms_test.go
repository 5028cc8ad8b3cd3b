package script_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Every script of testdata/environment prints the value of its input, however it reads it. It
// runs under its real interpreter, with the inputs in its environment that the compiler puts
// there, and with all of them as files and from the agent. One whose name begins with "late" is
// to read the input itself.
func TestNoFormReadsNothing(t *testing.T) {
	values := map[string]string{"db": "db.example", "port": "3306"}
	home := t.TempDir()
	inputs, bin := filepath.Join(home, "inputs"), filepath.Join(home, "bin")
	for _, folder := range []string{inputs, bin} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range values {
		if err := os.WriteFile(filepath.Join(inputs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "hotc-agent"), []byte("#!/bin/sh\nexec cat '"+inputs+"'/\"$2\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/environment/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		interpreter := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(interpreter, func(t *testing.T) {
			path := "/usr/bin/" + interpreter
			_, err := os.Stat(path)
			if err != nil {
				path, err = exec.LookPath(interpreter)
			}
			archive, broken := txtar.ParseFile(file)
			if broken != nil {
				t.Fatal(broken)
			}
			for _, form := range archive.Files {
				line := "#!/usr/bin/" + interpreter + "\n"
				if strings.HasSuffix(interpreter, "awk") {
					line = "#!/usr/bin/" + interpreter + " -f\n"
				}
				text := line + string(form.Data)
				there := fromTheStart(t, text, slices.Sorted(maps.Keys(values)))
				if late := strings.HasPrefix(form.Name, "late"); late == slices.Contains(there, "db") {
					t.Errorf("%s: %q are in the environment of\n%s", form.Name, there, text)
				}
				if err != nil || testing.Short() {
					continue
				}
				name := filepath.Join(t.TempDir(), "script")
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				arguments := []string{name}
				if strings.HasSuffix(interpreter, "awk") {
					arguments = []string{"-f", name}
				}
				cmd := exec.Command(path, arguments...)
				cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "hotc_inputs=" + inputs}
				for _, name := range there {
					cmd.Env = append(cmd.Env, name+"="+values[name])
				}
				if printed, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(printed, []byte(values["db"])) {
					t.Errorf("%s: %v\n%s\nprints\n%.500s", form.Name, err, text, printed)
				}
			}
			if err != nil {
				t.Skipf("SKIPPED: no %s on PATH: its forms were analysed, but not run", interpreter)
			}
		})
	}
}

// fromTheStart are the inputs that the compiler puts into a script's environment.
func fromTheStart(t *testing.T, text string, inputs []string) (names []string) {
	t.Helper()
	var diags source.Diagnostics
	role := driver.Role{Name: "r", Source: text}
	for _, name := range inputs {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	m := script.Driver.Lower(role, &diags)
	if m == nil {
		t.Fatalf("%v\n%s", diags.All(), text)
	}
	there, _ := m.Source.(*value.Dict).Get("environment")
	list, _ := there.([]value.Value)
	for _, name := range list {
		names = append(names, name.(string))
	}
	return names
}
