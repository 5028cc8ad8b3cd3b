package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A command that cannot have the deployment's lock changes nothing, for whatever reason.
func TestApplyWithoutTheLock(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	d.apply(t) // the lock exists
	site, operator := protocol.Deployment("site"), d.operator(t)
	if err := operator.SetLimit(t.Context(), site.Root(), store.Limit{Nodes: 1}, store.Everyone); err != nil {
		t.Fatal(err)
	}
	before, err := operator.Read(t.Context(), site.Plan())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "made")
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "plan.json")
	plan, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(plan), `"text": "true"`, `"text": "false"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = d.on(t, newApplyCommand, dir)
	expectCode(t, err, source.OperationFailed, "lock site", "quota is used up")
	if after, err := operator.Read(t.Context(), site.Plan()); err != nil || after.Version != before.Version {
		t.Errorf("the plan was changed: %v", err)
	}
}
