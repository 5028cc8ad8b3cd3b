package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Two tools that hotc does not have, between stock Heat and ZooKeeper: their plug-ins
// travel with the plan.
func TestPluginSite(t *testing.T) {
	for _, program := range []string{"make", "python3"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED: no %s on PATH", program)
		}
	}
	plugins, err := filepath.Abs("../../testdata/plugins")
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	t.Setenv("PATH", plugins+string(os.PathListSeparator)+path)
	w := newWorld(t, "../../testdata/plugins/site.yaml")
	t.Setenv("PATH", path)
	w.hotc(w.on("tools", "apply", w.dir)...)
	st := w.create("tools")
	w.bootAll(st, 2)
	st.Complete(t)
	if got := outputsOf(t, st); got["sites"] != "1" || got["first_site"] != `"http://web/sqlite"` {
		t.Errorf("%v", got)
	}
}
