package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// createWith is create with the environments of the folder, as a user gives them.
func (w *world) createWith(stack string, environments ...string) *heattest.Stack {
	in := w.input(nil)
	for _, name := range environments {
		in.Environments = append(in.Environments, filepath.Join(w.dir, name))
	}
	return stockHeat.Oracle(w.t).Create(w.t, stack, in)
}

// Values cross into nested stacks and out of them, through groups, and in parts that
// only Heat knows; the environment that maps the types travels with the folder.
func TestNestedTiers(t *testing.T) {
	w := newWorld(t, "../../testdata/tiers/site.yaml", "-e", "../../testdata/tiers/environments/services.yaml",
		"-e", "../../testdata/tiers/environments/size.yaml", "-P", "workers=2")
	w.hotc(w.on("tiers", "apply", w.dir)...)
	st := w.createWith("tiers", "environments/services.yaml", "environments/size.yaml")
	w.bootAll(st, 9)
	st.Complete(t)
	if all := st.Resources(t); len(all) != 26 { // what emit.TestLimitsOfTrees counts
		t.Errorf("%d resources: %v", len(all), all)
	}
	got := outputsOf(t, st)
	var seen struct {
		Backends []string
		First    string
		Workers  map[string]string
		Database string
	}
	if err := json.Unmarshal([]byte(got["seen"]), &seen); err != nil {
		t.Fatal(err, got["seen"])
	}
	database := regexp.MustCompile(`^sql://10\.4\.0\.\d+/eu-west-main\?volume=[0-9a-f-]{36}$`)
	if !database.MatchString(seen.Database) || got["database"] != string(quoted(seen.Database)) {
		t.Errorf("database: %s in a role, %s in an output", seen.Database, got["database"])
	}
	if want := regexp.MustCompile(`^"sql://10\.4\.0\.\d+/spare of sql://.*/eu-west-main\?volume=[0-9a-f-]+\?volume=[0-9a-f-]+"$`); !want.MatchString(got["spare"]) {
		t.Errorf("spare: %s", got["spare"])
	}
	for i, url := range seen.Backends {
		want := fmt.Sprintf("http://app/?db=%s;cache=cache-of-%d;says=hello from eu-west, member %d, of eu-west-main", seen.Database, i, i)
		if url != want {
			t.Errorf("backend %d: %s, want %s", i, url, want)
		}
	}
	backends, _ := json.Marshal(seen.Backends)
	if len(seen.Backends) != 2 || compact(t, got["backends"]) != compact(t, string(backends)) || seen.First != seen.Backends[0] || got["second"] != string(quoted(seen.Backends[1])) {
		t.Errorf("backends %s in an output, first %s, second %s; in a role %s", got["backends"], seen.First, got["second"], backends)
	}
	if want := `[[0,"amqp://front/","eu-west"],[1,"amqp://front/","eu-west"]]`; compact(t, got["done"]) != want {
		t.Errorf("done: %s, want %s", got["done"], want)
	}
	var addresses, references []string
	if json.Unmarshal([]byte(got["addresses"]), &addresses) != nil || len(addresses) != 2 || addresses[0] != seen.Workers["0"] || addresses[1] != seen.Workers["1"] {
		t.Errorf("addresses: %s, in a role %v", got["addresses"], seen.Workers)
	}
	ids := map[string]string{}
	for _, s := range st.Booted(t) {
		ids[s.ID] = s.Path
	}
	if json.Unmarshal([]byte(got["references"]), &references) != nil || len(references) != 2 || ids[references[0]] != "worker/0/server" {
		t.Errorf("references: %s of %v", got["references"], ids)
	}
	if logged := st.Warnings(t); len(logged) > 0 {
		t.Errorf("Heat warned: %v", logged)
	}
}

// bootAsMade boots each server as soon as Heat has made it: some are made only when
// others' roles are done.
func (w *world) bootAsMade(st *heattest.Stack, n int) {
	w.t.Helper()
	booted := map[string]bool{}
	for len(booted) < n {
		for _, s := range st.Servers(w.t, len(booted)+1) {
			if !booted[s.ID] {
				booted[s.ID] = true
				w.boot(s)
			}
		}
	}
}

// Values that roles write reach resources' properties, exactly, through nested
// stacks and groups too; a role's completion is something to depend on.
func TestRolesValuesInProperties(t *testing.T) {
	w := newWorld(t, "../../testdata/crossing/site.yaml")
	w.hotc(w.on("crossing", "apply", w.dir)...)
	st := w.create("crossing")
	w.bootAsMade(st, 5)
	st.Complete(t)
	got := outputsOf(t, st)
	text := "it's \"quoted\" \\ Zürich\nand more"
	want, _ := json.Marshal(map[string]any{"text": text, "list": []any{"a", false, nil, map[string]any{"k": 1.5}}, "second": 1.5,
		"all": []string{"m", "m"}, "first": "m", "inner": "ten"})
	if compact(t, got["values"]) != compact(t, string(want)) {
		t.Errorf("values: %s, want %s", got["values"], want)
	}
	if compact(t, got["tier"]) != compact(t, string(quoted("ten of "+text))) || got["last"] != `"the end"` {
		t.Errorf("tier %s, last %s", got["tier"], got["last"])
	}
	for _, s := range st.Booted(t) {
		if s.Path == "web" && !strings.Contains(s.UserData, "# text of the database: it's \"quoted\"") {
			t.Errorf("user-data of web:\n%s", s.UserData)
		}
	}
	if logged := st.Warnings(t); len(logged) > 0 {
		t.Errorf("Heat warned: %v", logged)
	}
}

// A failed role ends the resources that wait for it or for a role after it, also
// where the deployment's own condition waits for them and so has not begun.
func TestFailureEndsWhoWaitsForTheRole(t *testing.T) {
	w := newWorld(t, "testdata/crossing-fails.yaml")
	w.hotc(w.on("burning", "apply", w.dir)...)
	st := w.create("burning")
	w.bootAsMade(st, 2) // b is made with a's value
	s := st.Wait(t)
	if s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "hotc_done_b.later") || !strings.Contains(s.Reason, "the disk is on fire") {
		t.Errorf("%s: %s", s, s.Reason)
	}
}
