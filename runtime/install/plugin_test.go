package install_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/plugin"
)

// A plug-in that is nothing but its program comes from a URL. Its checksum says which
// one is meant, since it has no version: another of the same name is not run.
func TestAPlugInFromAURL(t *testing.T) {
	example := text(t, "../../testdata/plugins/hotc-driver-sqlite")
	if exec.Command("/usr/bin/python3", "-c", "import sqlite3").Run() != nil {
		t.Skip("SKIPPED: the example of a plug-in needs Python's sqlite3")
	}
	const other = "#!/bin/sh\nexit 3\n" // of the same name, and on PATH
	onItsOwnMachine(t, func(t *testing.T) {
		source := map[string]any{"name": "sqlite", "source": map[string]any{"database": ":memory:",
			"sql": "CREATE TABLE site (address TEXT);\nINSERT INTO site VALUES (:address);\nSELECT max(address) AS first_site FROM site;\n"}}
		raw, err := json.Marshal(source)
		if err != nil {
			t.Fatal(err)
		}
		tool, needed := driver.ToolFor(plugin.Driver{}, contract.Role{Name: "r", Source: raw})
		if !needed {
			t.Fatal("the plug-in came with the plan")
		}
		i, installed := installer(t)
		for path, program := range map[string]string{"/srv/example": example, "/srv/other": other, "/usr/local/bin/hotc-driver-sqlite": other} {
			if err := os.WriteFile(path, []byte(program), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		want := served(t, "/srv/example")
		program := ensureTwice(t, i, tool, want)
		if program != filepath.Join(i.Folder, "hotc-driver-sqlite/hotc-driver-sqlite") {
			t.Error(program)
		}
		got := play(t, plugin.Driver{}, program, source, "", map[string]string{"address": `"10.0.0.1"`}, "first_site")
		if got["first_site"] != `"10.0.0.1"` {
			t.Errorf("%v", got)
		}

		if program := ensureTwice(t, i, tool, served(t, "/srv/other")); text(t, program) != other {
			t.Error(program)
		}
		if program := ensureTwice(t, i, tool, want); text(t, program) != example {
			t.Error(program)
		}
		if got := strings.Join(*installed, " "); got != strings.Repeat("hotc-driver-sqlite end ", 2)+"hotc-driver-sqlite end" {
			t.Errorf("installed %s", got)
		}
		wrong := want
		wrong.SHA256 = sumOf(nil)
		if _, err := i.Ensure(t.Context(), tool, wrong); err == nil || !strings.Contains(err.Error(), "its sha256 is "+want.SHA256) {
			t.Error(err)
		}
		if program, err := i.Ensure(t.Context(), tool, contract.Install{From: "none"}); err != nil || program != "/usr/local/bin/hotc-driver-sqlite" {
			t.Errorf("%s, %v", program, err)
		}
	})
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
