package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// sized is a deployment of testdata/elastic.
type sized struct {
	cache           bool
	workers, shards int
}

func (s sized) input(w *world) heattest.Input {
	return w.input(map[string]any{"with_cache": s.cache, "workers": s.workers, "shards": s.shards})
}

// servers is how many there are.
func (s sized) servers() int {
	n := 1 + s.workers + s.shards*s.workers
	if s.cache {
		n++
	}
	if s.shards > 0 {
		n++ // the backup of the first
	}
	return n
}

// seen is what the server web saw, and what the stack's outputs say.
func (s sized) seen() (web, outputs map[string]any) {
	cache, byWorkers, byShards := any("nothing"), "nothing", "without"
	if s.cache {
		cache, byWorkers, byShards = "redis://cache", "redis://cache", "redis://cache"
	}
	workers, named, shards, backups := []any{}, map[string]any{}, []any{}, []any{}
	for i := range s.workers {
		says := fmt.Sprintf("%d of %s", i, byWorkers)
		workers, named[fmt.Sprint(i)] = append(workers, says), says
	}
	first := any("null")
	for i := range s.shards {
		replicas, texts := []any{}, []string{}
		for k := range s.workers {
			url := fmt.Sprintf("shard %d, replica %d, %s", i, k, byShards)
			replicas, texts = append(replicas, url), append(texts, url)
		}
		shards = append(shards, replicas)
		if i == 0 {
			first = "backup of " + strings.Join(texts, " + ")
			backups = append(backups, first)
		} else {
			backups = append(backups, "none")
		}
	}
	third := any("missing")
	if s.workers > 2 {
		third = workers[2]
	}
	web = map[string]any{"cache": cache, "workers": workers, "third": third, "shards": shards, "backups": backups, "first": first}
	outputs = map[string]any{"seen": web, "workers": workers, "named": named, "shards": shards, "cache": cache}
	if !s.cache {
		outputs["cache"] = "none"
	}
	return web, outputs
}

// One folder, compiled once, is deployed in several sizes, of which only Heat is told;
// everybody sees who is there, and the stack completes when all who are there are done.
func TestSizesThatOnlyHeatKnows(t *testing.T) {
	w := newWorld(t, "../../testdata/elastic/site.yaml")
	for i, size := range []sized{{true, 2, 1}, {false, 0, 0}, {false, 3, 2}} {
		name := fmt.Sprintf("site%d", i)
		w.hotc(w.on(name, "apply", w.dir)...)
		st := stockHeat.Oracle(t).Create(t, name, size.input(w))
		w.bootAll(st, size.servers())
		st.Complete(t)
		if booted := st.Booted(t); len(booted) != size.servers() {
			t.Errorf("%+v: %d servers, not %d", size, len(booted), size.servers())
		}
		_, want := size.seen()
		for name, value := range outputsOf(t, st) {
			text, _ := json.Marshal(want[name])
			if compact(t, value) != compact(t, string(text)) {
				t.Errorf("%+v: output %s is %s, want %s", size, name, value, text)
			}
		}
		if logged := st.Warnings(t); len(logged) > 0 {
			t.Errorf("%+v: Heat warned: %v", size, logged)
		}
	}
}

// An update makes the group larger, with the same folder and plan: the servers that are
// there stay, the new ones run their roles, and the stack waits for them.
func TestScaledByUpdate(t *testing.T) {
	w := newWorld(t, "../../testdata/elastic/site.yaml")
	w.hotc(w.on("site", "apply", w.dir)...)
	small, large := sized{true, 1, 0}, sized{true, 3, 0}
	st := stockHeat.Oracle(t).Create(t, "site", small.input(w))
	w.bootAll(st, small.servers())
	st.Complete(t)
	before := map[string]string{}
	for _, s := range st.Booted(t) {
		before[s.Path] = s.ID
	}
	changes := st.Preview(t, large.input(w))
	if replaced := slices.DeleteFunc(changes.Replaced, func(name string) bool { return strings.HasPrefix(name, "hotc_done") }); len(replaced)+len(changes.Deleted) > 0 {
		t.Errorf("the update would replace %v and delete %v", replaced, changes.Deleted)
	}
	st.Update(t, large.input(w))
	for _, s := range st.Servers(t, large.servers()) {
		if before[s.Path] == "" {
			w.boot(s)
		}
	}
	if s := st.Wait(t); s.String() != "UPDATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	for _, s := range st.Booted(t) {
		if was := before[s.Path]; was != "" && was != s.ID {
			t.Errorf("%s was replaced", s.Path)
		}
	}
	_, want := large.seen()
	text, _ := json.Marshal(want["workers"])
	if got := outputsOf(t, st)["workers"]; compact(t, got) != compact(t, string(text)) {
		t.Errorf("workers: %s, want %s", got, text)
	}
}

// Whichever servers Heat makes, and be it none, the stack completes when they are done;
// who reads of one that is not there does without, and nobody waits for it.
func TestConditionsThatOnlyHeatKnows(t *testing.T) {
	w := newWorld(t, "../../emit/testdata/nested/undecided/main.yaml")
	for i, c := range []struct {
		db, web    bool
		tiers      int
		servers    []string
		seen, deep string
		status     string
	}{
		{servers: nil, seen: "null", deep: `"none"`, status: `db +- +never came +Heat has not created it if the condition "db" of "db" is false`},
		{db: true, servers: []string{"db", "inner/deep"}, seen: "null", deep: `"ten"`, status: `web +- +not created +the condition "web" of "web" is false`},
		{web: true, tiers: 1, servers: []string{"tier/0/server", "web"}, seen: `"none 0  {\"0\": \"0 of nothing\"}  0 of nothing"`, deep: `"none"`,
			status: `tier/1 +- +not created +the group "tier" has fewer than 2 members`},
		{db: true, web: true, tiers: 2, servers: []string{"db", "inner/deep", "tier/0/server", "tier/1/server", "web"}, deep: `"ten"`,
			seen: `"sql 3306 sql {\"0\": \"0 of sql\", \"1\": \"1 of sql\"} ID 0 of sql"`, status: `tier/1 +backend +done`},
	} {
		name := fmt.Sprintf("site%d", i)
		w.hotc(w.on(name, "apply", w.dir)...)
		st := stockHeat.Oracle(t).Create(t, name, w.input(map[string]any{"with_db": c.db, "with_web": c.web, "tiers": c.tiers}))
		w.bootAsMade(st, len(c.servers))
		st.Complete(t)
		var made []string
		got := outputsOf(t, st)
		for _, s := range st.Booted(t) {
			made = append(made, s.Path)
			got["seen"] = strings.ReplaceAll(got["seen"], s.ID, "ID")
		}
		if slices.Sort(made); !slices.Equal(made, c.servers) {
			t.Errorf("%s: servers %v, want %v", name, made, c.servers)
		}
		if unspaced(got["seen"]) != unspaced(c.seen) || got["deep"] != c.deep {
			t.Errorf("%s: seen %s, want %s; deep %s, want %s", name, got["seen"], c.seen, got["deep"], c.deep)
		}
		if status := w.hotc(w.on(name, "status")...); !regexp.MustCompile(c.status).MatchString(status) {
			t.Errorf("%s: status is not %s:\n%s", name, c.status, status)
		}
		if len(c.servers) > 0 { // somebody can tell who is there
			if why := w.hotc(w.on(name, "why")...); !strings.Contains(why, "every role is done") && !strings.Contains(why, "inner/deep") {
				t.Errorf("%s: why says %s", name, why)
			}
		}
		if logged := st.Warnings(t); len(logged) > 0 {
			t.Errorf("%s: Heat warned: %v", name, logged)
		}
	}
}

// unspaced is a text without the spaces that JSON may have or not.
func unspaced(text string) string { return strings.ReplaceAll(text, " ", "") }

// A version that cannot compute a sum has a nested stack for it.
func TestOldVersionsCount(t *testing.T) {
	for _, c := range []struct {
		dir        string
		parameters map[string]any
		servers    int
		output     string
		want       string
	}{
		{"undecided-old", map[string]any{"size": 0}, 1, "seen", `"[] none"`},
		{"undecided-old", map[string]any{"size": 2}, 3, "seen", `"[\"0\", \"1\"] 1"`},
		{"scaled-old", map[string]any{"size": 2}, 5, "seen", `"[\"1\", \"1\"] [\"2\", \"2\"]"`},
	} {
		w := newWorld(t, "../../emit/testdata/nested/"+c.dir+"/main.yaml")
		w.hotc(w.on("old", "apply", w.dir)...)
		st := stockHeat.Oracle(t).Create(t, "old", w.input(c.parameters))
		w.bootAll(st, c.servers)
		st.Complete(t)
		if got := outputsOf(t, st)[c.output]; unspaced(got) != unspaced(c.want) {
			t.Errorf("%s %v: %s, want %s", c.dir, c.parameters, got, c.want)
		}
	}
}

// A member beyond the bound has no part in the plan: the stack fails, and says why.
func TestMoreMembersThanThePlanHas(t *testing.T) {
	w := newWorld(t, "../../testdata/elastic/site.yaml")
	w.hotc(w.on("site", "apply", w.dir)...)
	size := sized{false, 1, 4}
	st := stockHeat.Oracle(t).Create(t, "site", size.input(w))
	w.bootAll(st, size.servers())
	if s := st.Wait(t); s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "the deployment site has no server shard/3/replica/0") ||
		!strings.Contains(s.Reason, "more members of a group than the plan has") {
		t.Errorf("%s: %s", s, s.Reason)
	}
}

// Who cannot do without a value that nobody gives fails at once, and says why.
func TestNobodyGivesTheValue(t *testing.T) {
	w := newWorld(t, "testdata/undecided-fails.yaml")
	w.hotc(w.on("site", "apply", w.dir)...)
	st := w.create("site")
	w.bootAll(st, 1)
	const want = `this value does not exist: the condition "db" of "db" is false`
	if s := st.Wait(t); s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, want) {
		t.Errorf("%s: %s", s, s.Reason)
	}
	if why := w.hotc(w.on("site", "why", "web")...); !strings.Contains(why, "web.front failed") || !strings.Contains(why, want) || !strings.Contains(why, "undecided-fails.yaml:13") {
		t.Errorf("why: %s", why)
	}
	if why := w.hotc(w.on("site", "why", "db")...); !strings.Contains(why, `db was not created by Heat: the condition "db" of "db" is false`) {
		t.Errorf("why: %s", why)
	}
	out := w.hotc(w.on("site", "outputs")...)
	if !regexp.MustCompile(`db.mysql:url +\(the condition "db" of "db" is false\)`).MatchString(out) {
		t.Errorf("outputs: %s", out)
	}
}
