package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// siteOf is what a member of the group app says: its stack's id twice, once by its other
// server.
var siteOf = regexp.MustCompile(`^([0-9a-f-]{36}) reads the cache of ([0-9a-f-]{36}) and mysql://db$`)

// sites checks a list of what members say, and returns the members.
func sites(t *testing.T, text string) (members []string) {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, site := range list {
		found := siteOf.FindStringSubmatch(site)
		if found == nil || found[1] != found[2] {
			t.Errorf("a member says %q", site)
			continue
		}
		members = append(members, found[1])
	}
	return members
}

// Members whose names Heat makes up take the plan's slots; one that a policy makes later
// takes the next, while the others stay what they are.
func TestScaledByPolicy(t *testing.T) {
	w := newWorld(t, "../../testdata/scaled/site.yaml")
	if out, err := w.try(w.on("site", "apply", w.dir, "--enrol=once")...); err == nil || !strings.Contains(out, "whose names Heat generates, share a token") {
		t.Errorf("tokens that are good for one enrolment: %v\n%s", err, out)
	}
	w.hotc(w.on("site", "apply", w.dir)...)
	st := stockHeat.Oracle(t).Create(t, "site", w.input(map[string]any{"capacity": 2}))
	w.bootAsMade(st, 7)
	st.Complete(t)
	got := outputsOf(t, st)
	first := sites(t, got["sites"])
	if len(first) != 2 || compact(t, got["backends"]) != compact(t, got["sites"]) || got["size"] != "2" {
		t.Errorf("outputs: %v", got)
	}
	var says []string
	if err := json.Unmarshal([]byte(got["worker"]), &says); err != nil || len(says) != 1 || strings.Count(says[0], "mysql://db") != 2 {
		t.Errorf("worker: %s", got["worker"])
	}
	before := map[string]bool{}
	for _, s := range st.Booted(t) {
		before[s.ID] = true
	}
	st.Signal(t, "more")
	for _, s := range st.Servers(t, 9) {
		if !before[s.ID] {
			w.boot(s)
		}
	}
	for !regexp.MustCompile(`(?m)^app/2/web +serve +done`).MatchString(w.hotc(w.on("site", "status")...)) {
		time.Sleep(100 * time.Millisecond)
	}
	if status := w.hotc(w.on("site", "status")...); !strings.Contains(status, "9 done, 3 servers not created") {
		t.Errorf("status:\n%s", status)
	}
	for _, s := range st.Booted(t) {
		delete(before, s.ID)
	}
	if len(before) > 0 {
		t.Errorf("these are gone: %v", before)
	}
	st.Update(t, w.input(map[string]any{"capacity": 3}))
	if s := st.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	all := sites(t, outputsOf(t, st)["sites"])
	if len(all) != 3 || !slices.Equal(all[:2], first) || slices.Contains(first, all[2]) {
		t.Errorf("after the update the members are %v, and were %v", all, first)
	}
	if booted := st.Booted(t); len(booted) != 9 {
		t.Errorf("after the update there are %d servers", len(booted))
	}
	if logged := st.Warnings(t); len(logged) > 0 {
		t.Errorf("Heat warned: %v", logged)
	}
}

// A member may have groups, conditions and nested stacks of older versions in it: all of its
// servers have its slot. A rolling update that keeps all members in service makes a new one
// first, for which there is a slot.
func TestScaledMembersOfManyStacks(t *testing.T) {
	w := newWorld(t, "../../emit/testdata/nested/scaled/main.yaml")
	w.hotc(w.on("site", "apply", w.dir)...)
	st := stockHeat.Oracle(t).Create(t, "site", w.input(map[string]any{"hosts": 2}))
	w.bootAsMade(st, 9)
	st.Complete(t)
	if got := outputsOf(t, st); unspaced(got["inner"]) != `["1","1"]` || unspaced(got["x"]) != "[]" {
		t.Errorf("outputs: %v", got)
	}
	status := w.hotc(w.on("site", "status")...)
	for _, server := range []string{"app/0/hosts/0", "app/0/hosts/1", "app/0/second", "app/0/inner/server", "app/1/hosts/0", "app/1/hosts/1", "app/1/second", "app/1/inner/server"} {
		if !regexp.MustCompile(`(?m)^` + server + ` +r +done`).MatchString(status) {
			t.Errorf("%s is not done:\n%s", server, status)
		}
	}
	before := map[string]bool{}
	for _, s := range st.Booted(t) {
		before[s.ID] = true
	}
	st.Update(t, w.input(map[string]any{"hosts": 1}))
	if s := st.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	fresh := 0
	for _, s := range st.Booted(t) {
		if !before[s.ID] {
			fresh++
			w.boot(s)
		}
	}
	if fresh != 2 { // of one member, without what two hosts had
		t.Errorf("the update made %d servers", fresh)
	}
	for !regexp.MustCompile(`(?m)^app/2/inner/server +r +done`).MatchString(w.hotc(w.on("site", "status")...)) {
		time.Sleep(100 * time.Millisecond)
	}
}
