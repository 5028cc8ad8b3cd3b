package main

import (
	"os/exec"
	"testing"
)

// Unmodified manifests between stock Heat, ZooKeeper and the real Puppet.
func TestPuppetSite(t *testing.T) {
	if _, err := exec.LookPath("puppet"); err != nil {
		t.Skip("SKIPPED: no puppet on PATH (Debian: puppet-agent)")
	}
	w := newWorld(t, "../../testdata/puppet/site.yaml", "-P", "folder="+t.TempDir())
	w.hotc(w.on("blog", "apply", w.dir)...)
	st := w.create("blog")
	w.bootAll(st, 2)
	st.Complete(t)
	got := outputsOf(t, st)
	if got["site"] != `"http://web:8080/"` || got["ready"] != "true" || got["database"] != `"mysql://db:3306/blog"` {
		t.Errorf("%v", got)
	}
}
