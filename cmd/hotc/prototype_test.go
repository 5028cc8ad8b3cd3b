package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The prototype, literally: three roles of Chef's in the metadata of two servers,
// whose recipes' node attributes are inputs, and attributes of the servers. It is
// compiled, stock Heat makes the stack, and real agents run the recipes: always by
// the stand-in of Chef under plain Ruby, and by Chef itself where it is on PATH.
func TestPrototype(t *testing.T) {
	t.Run("stand-in", func(t *testing.T) {
		if _, err := exec.LookPath("ruby"); err != nil {
			t.Skip("SKIPPED: no ruby on PATH")
		}
		t.Setenv("PATH", chefStandIn(t)+":"+os.Getenv("PATH"))
		runPrototype(t)
	})
	t.Run("Chef", func(t *testing.T) {
		if _, err := exec.LookPath("chef-solo"); err != nil {
			t.Skip("SKIPPED: no chef-solo on PATH: Debian 12 has no Chef, so that only the stand-in was tried")
		}
		runPrototype(t)
	})
}

// chefStandIn is a folder in which chef-solo is the stand-in of Chef that its driver
// is tested with.
func chefStandIn(t *testing.T) string {
	t.Helper()
	script, err := filepath.Abs("../../runtime/driver/chef/testdata/standin/chef-solo.rb")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "chef-solo"), fmt.Appendf(nil, "#!/bin/sh\nexec ruby '%s' \"$@\"\n", script), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

func runPrototype(t *testing.T) {
	t.Helper()
	w := newWorld(t, "../../testdata/prototype/site.yaml")
	w.hotc(w.on("blog", "apply", w.dir)...)
	st := w.create("blog")
	w.bootAll(st, 2)
	st.Complete(t)
	got := outputsOf(t, st)
	if !regexp.MustCompile(`^"http://[0-9.]+:80/"$`).MatchString(got["site"]) || compact(t, got["plugins"]) != `["akismet"]` || got["database_runs"] != "true" {
		t.Errorf("outputs: %v", got)
	}
	if w := st.Warnings(t); len(w) > 0 {
		t.Errorf("Heat warned: %v", w)
	}
}
