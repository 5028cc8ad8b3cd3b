package check_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/contract/check"
)

const good = `{
  "format": 1, "compiler": "hotc 0.1", "template": "site.yaml", "signal": "heat",
  "servers": [
    {"path": "db", "at": "site.yaml:3:3",
     "roles": [{"name": "mysql", "at": "site.yaml:5:9", "driver": "script", "source": {"text": "true"},
                "outputs": [{"name": "endpoint", "cell": "db.mysql:endpoint", "type": "string", "at": "site.yaml:6:9"}]}]},
    {"path": "tier/2/app", "at": "site.yaml:9:3",
     "roles": [{"name": "web", "at": "", "driver": "script", "source": null, "timeout": 1.5,
                "inputs": [{"name": "db", "time": "run", "expr": {"$cell": "db.mysql:endpoint"}, "at": {"": "site.yaml:12:9", "/$cell": "site.yaml:12:11"},
                            "reads": ["db.mysql:endpoint"], "default": null}]}]}
  ],
  "cells": [
    {"name": "db.mysql:endpoint", "server": "db", "role": "mysql"},
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
	read := []contract.CellRef{{Cell: "db.mysql:endpoint", Server: "db", Type: contract.String}}
	if !reflect.DeepEqual(p.Servers[1].Reads, read) || len(p.Servers[0].Writes) != 2 || !slices.Equal(p.Cells[0].Readers, []contract.ServerPath{"tier/2/app"}) {
		t.Errorf("derived of it: %+v", p)
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
		{"readers of its own", `"name": "db.mysql:endpoint", "server"`, `"name": "db.mysql:endpoint", "readers": ["x"], "server"`, "/cells/0: Additional property readers is not allowed"},
		{"rights of its own", `"path": "tier/2/app"`, `"path": "tier/2/app", "reads": [{"cell": "db.mysql", "server": "db"}]`, "/servers/1: Additional property reads is not allowed"},
		{"a read of what is not a cell", `"reads": ["db.mysql:endpoint"]`, `"reads": ["db.x"]`, "/servers/1/roles/0/inputs/0/reads/0: the plan has no cell db.x"},
		{"a wait for what is not a cell", `"timeout": 1.5`, `"depends_on": [{"cell": "db.x", "at": ""}]`, "/servers/1/roles/0/depends_on/0/cell: the plan has no cell db.x"},
		{"an output of another server", `"timeout": 1.5`, `"outputs": [{"name": "x", "cell": "db.mysql:endpoint", "type": "string", "at": ""}]`, "/servers/1/roles/0/outputs/0/cell: db.mysql:endpoint is not a cell of tier/2/app"},
		{"a secret that nothing reads", `"files": []`, `"files": [], "secrets": [{"name": "pw", "cell": "/operator:pw", "at": "", "declaration": {}}]`, "/secrets/0/cell: no role reads /operator:pw"},
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
