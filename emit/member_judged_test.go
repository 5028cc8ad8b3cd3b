package emit_test

import (
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/judge"
)

// A member of a group that an environment makes of another template, without roles, takes
// what the group hands to all of its members.
func TestMemberWithoutRoles(t *testing.T) {
	o := nestedOptions(t, "testdata/nested/empty-member")
	o.Signal = false
	r, found := compile(t, o)
	if r == nil {
		t.Fatal(found)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := r.Folder.Write(dir); err != nil {
		t.Fatal(err)
	}
	in := judge.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}}
	for _, name := range r.Environments {
		in.Environments = append(in.Environments, filepath.Join(dir, name))
	}
	st := stockHeat.Judge(t).Create(t, "site", in)
	st.Complete(t)
	if booted := st.Booted(t); len(booted) != 1 || booted[0].Path != "g/0/server" {
		t.Errorf("servers: %+v", booted)
	}
}
