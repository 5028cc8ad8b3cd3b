package main

import (
	"os/exec"
	"testing"
)

// Unmodified states between stock Heat, ZooKeeper and the real Salt.
func TestSaltSite(t *testing.T) {
	if _, err := exec.LookPath("salt-call"); err != nil {
		t.Skip("SKIPPED: no salt-call on PATH (Debian 12 has no Salt)")
	}
	w := newWorld(t, "../../testdata/salt/site.yaml", "-P", "folder="+t.TempDir())
	w.hotc(w.on("blog", "apply", w.dir)...)
	st := w.create("blog")
	w.bootAll(st, 2)
	st.Complete(t)
	got := outputsOf(t, st)
	if got["site"] != `"http://web:8080/"` || got["configured"] != "true" {
		t.Errorf("%v", got)
	}
}
