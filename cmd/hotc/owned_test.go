package main

import (
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
)

// A stranger's nodes are refused by name, with or without --dry-run, and destroy takes them
// away as far as everybody may.
func TestApplyRefusesAStrangersNodes(t *testing.T) {
	d := newDesk(t)
	stranger := d.tree.Open()
	defer stranger.Close()
	site := coordinator.Deployment("site")
	if err := stranger.Create(t.Context(), []coordinator.NewNode{{Path: site.Root(), Data: []byte("{{{")}, {Path: site.Ready()}}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--dry-run"}, {}} {
		_, err := d.on(t, newApplyCommand, append(args, "testdata/site")...)
		expectCode(t, err, source.NotOurs, "the node site of the deployment site", "everybody may everything", "hotc destroy --stack site")
	}
	if _, err := d.on(t, newDestroyCommand, "--yes"); err != nil {
		t.Fatal(err)
	}
	d.apply(t)
	secret, err := coordinator.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	operator := d.tree.Open(secret.Operator(site))
	defer operator.Close()
	if err := operator.Allow(t.Context(), site.ServerPlan("db"), coordinator.Grant{May: coordinator.MayWrite}); err != nil {
		t.Fatal(err)
	}
	_, err = d.on(t, newApplyCommand, "testdata/site")
	expectCode(t, err, source.NotOurs, "the node site/servers/db/plan of the deployment site", "everybody may write")
}
