package check_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/contract/check"
)

const good = `{
  "format": 1, "compiler": "hotc 0.1", "template": "site.yaml", "signal": "heat",
  "servers": [
    {"path": "db", "at": "site.yaml:3:3", "writes": ["db.mysql:endpoint", "db.mysql"],
     "roles": [{"name": "mysql", "at": "site.yaml:5:9", "driver": "script", "source": {"text": "true"},
                "outputs": [{"name": "endpoint", "cell": "db.mysql:endpoint", "type": "string", "at": "site.yaml:6:9"}]}]},
    {"path": "tier/2/app", "at": "site.yaml:9:3", "reads": [{"cell": "db.mysql:endpoint", "server": "db"}],
     "roles": [{"name": "web", "at": "", "driver": "script", "source": null, "timeout": 1.5,
                "inputs": [{"name": "db", "time": "run", "expr": {"$cell": "db.mysql:endpoint"}, "at": {"": "site.yaml:12:9", "/$cell": "site.yaml:12:11"},
                            "reads": ["db.mysql:endpoint"], "default": null}]}]}
  ],
  "cells": [
    {"name": "db.mysql:endpoint", "server": "db", "role": "mysql", "readers": ["tier/2/app"]},
    {"name": "db.mysql", "server": "db", "role": "mysql"}
  ],
  "outputs": [], "files": []
}`

func TestGoodPlan(t *testing.T) {
	p, err := check.Plan([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Servers) != 2 || p.Servers[1].Roles[0].Inputs[0].Reads[0] != "db.mysql:endpoint" {
		t.Errorf("read as %+v", p)
	}
	written, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check.Plan(written); err != nil {
		t.Errorf("what Go writes of it: %v", err)
	}
}

// An empty plan, as Go writes it, has null for its lists.
func TestEmptyPlan(t *testing.T) {
	written, _ := json.Marshal(contract.Plan{Format: 1, Compiler: "hotc", Template: "t.yaml", Signal: "none"})
	if _, err := check.Plan(written); err != nil {
		t.Error(err)
	}
}

func TestBadPlans(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"cut", `"outputs": [], "files": []` + "\n}", ``, "not JSON"},
		{"two values", `"files": []` + "\n}", `"files": []} {}`, "more than one value"},
		{"not an object", good, `[]`, "not a plan"},
		{"another format", `"format": 1`, `"format": 2`, "/format: the plan has format 2"},
		{"no format", `"format": 1, `, ``, "format is required"},
		{"unknown key", `"signal"`, `"colour": "red", "signal"`, "colour"},
		{"unknown signal", `"heat"`, `"smoke"`, "/signal: "},
		{"no role name", `{"name": "mysql", "at"`, `{"at"`, "/servers/0/roles/0: name is required"},
		{"a dot in a role's name", `{"name": "mysql", "at"`, `{"name": "my.sql", "at"`, "/servers/0/roles/0/name: "},
		{"a wrong type", `"timeout": 1.5`, `"timeout": "long"`, "/servers/1/roles/0/timeout: "},
		{"a binding time", `"time": "run"`, `"time": "later"`, "/servers/1/roles/0/inputs/0/time: "},
		{"the same server twice", `"path": "tier/2/app"`, `"path": "db"`, "/servers/1/path: duplicate db"},
		{"a cell of nobody", `"name": "db.mysql", "server": "db"`, `"name": "db.mysql", "server": "nobody"`, "/cells/1/server: the plan has no server nobody"},
		{"a reader that is not there", `"readers": ["tier/2/app"]`, `"readers": ["tier/2/app", "x"]`, "/cells/0/readers/1: the plan has no server x"},
		{"a read without the right", `, "readers": ["tier/2/app"]`, ``, "/servers/1/reads/0: tier/2/app is not among the readers"},
		{"a right without a read", `"reads": [{"cell": "db.mysql:endpoint", "server": "db"}],`, ``, "/servers/1/roles/0/inputs/0/reads/0: db.mysql:endpoint is not among the reads"},
		{"a read of another server's cell", `"reads": [{"cell": "db.mysql:endpoint", "server": "db"}]`, `"reads": [{"cell": "db.mysql:endpoint", "server": "tier/2/app"}]`, "/servers/1/reads/0/server: db.mysql:endpoint is written by db"},
		{"a write of what is not a cell", `"writes": ["db.mysql:endpoint", "db.mysql"]`, `"writes": ["db.mysql:endpoint", "db.mysql", "db.x"]`, "/servers/0/writes/2: db.x is not a cell of db"},
		{"a file that is not listed", `"timeout": 1.5`, `"files": ["` + strings.Repeat("ab", 32) + `"]`, "/servers/1/roles/0/files/0: the plan lists no file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.from, c.to, 1)
			if text == good {
				t.Fatal("the case changes nothing")
			}
			p, err := check.Plan([]byte(text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
			_ = p
		})
	}
}

// A plan that is wrong everywhere does not fill the screen.
func TestManyViolations(t *testing.T) {
	text := strings.Replace(good, `"outputs": [],`, `"outputs": [`+strings.Repeat(`{},`, 500)+`{}],`, 1)
	_, err := check.Plan([]byte(text))
	if err == nil || strings.Count(err.Error(), "\n") > 10 || !strings.Contains(err.Error(), "more") {
		t.Errorf("%v", err)
	}
}
