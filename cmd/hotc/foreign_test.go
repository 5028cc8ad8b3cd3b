package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// hostileRecords are what a server can write in the place of any record.
var hostileRecords = map[string]string{
	"nothing":          ``,
	"no JSON":          `{{{`,
	"null":             `null`,
	"another type":     `[1,2]`,
	"wrong types":      `{"incarnation":"x","roles":7,"state":{},"answers":"x","machines":1,"number":[],"key":{}}`,
	"deep":             strings.Repeat(`{"cause":`, 20_000) + `1` + strings.Repeat(`}`, 20_000),
	"many parts":       `{"incarnation":1,"roles":[` + strings.Repeat(`{},`, 200_000) + `{}],"answers":[` + strings.Repeat(`{},`, 100_000) + `{}]}`,
	"failed, no cause": `{"incarnation":1,"phase":"failed","number":1,"state":"failed","roles":[{"name":"mysql","status":"failed"},{"name":"mysql","status":"skipped"},{"name":"x","status":"banana","blocked":[{"cell":"?"}]}],"answers":[{}]}`,
	"long texts":       `{"incarnation":1,"phase":"running","number":1,"message":"` + strings.Repeat("m", 900_000) + `","roles":[]}`,
	"sealed":           `{"state":"value","incarnation":1,"sealed":"AAAA","number":1}`,
	"not signed":       `{"state":"value","incarnation":1,"number":1,"phase":"done","value":1,"roles":[{"name":"mysql","status":"done"}]}`,
	"forged":           `{"signed":{"counter":1,"signature":"` + strings.Repeat("A", 86) + `=="},"state":"value","incarnation":1,"number":1,"phase":"done","value":1,"roles":[{"name":"mysql","status":"done"}]}`,
}

// TestHostileRecords is a server that writes anything into each of its records, with its
// signature and without: what operators ask of the others is answered as before, and what
// cannot be read is named.
func TestHostileRecords(t *testing.T) {
	site := protocol.Deployment("site")
	secret, err := protocol.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(t.TempDir(), "changed")
	if err := os.CopyFS(changed, os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(changed, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p contract.Plan
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	for i := range p.Servers {
		if p.Servers[i].Path == "app" {
			p.Servers[i].Roles[0].Timeout += 7 // of a server that is not hostile
		}
	}
	if text, err = json.Marshal(&p); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(changed, "plan.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	cell := site.Cell(contract.CellRef{Cell: "db.mysql:endpoint", Server: "db"})
	places := map[store.Path]sign.Place{
		site.State("db"):   {Kind: "state"},
		site.Answers("db"): {Kind: "answers"},
		cell:               {Kind: "cell", Item: "db.mysql:endpoint"},
	}
	for _, path := range []store.Path{site.Server("db"), site.State("db"), site.Answers("db"), site.Log("db", "mysql"), cell} {
		at, isSigned := places[path]
		records := maps.Clone(hostileRecords)
		for name, record := range hostileRecords {
			if isSigned && strings.HasPrefix(record, "{") {
				records[bySigner+name] = record
			}
		}
		for name, record := range records {
			t.Run(strings.ReplaceAll(string(path), "/", "_")+"/"+name, func(t *testing.T) {
				if len(record) > 100_000 {
					seedtest.SkipShort(t)
				}
				d := newDesk(t)
				d.apply(t)
				app := d.agent(t, "app")
				d.agent(t, "db")
				put(t, app, "app.web:port", `8080`)
				app.WriteLog(t.Context(), "web", []byte("a line\n"))
				cause := &protocol.Cause{Role: "app.web", Reason: "exit status 7"}
				report(t, app, nil, failure("web", cause, ""))
				thief := d.tree.Open(protocol.ServerCredential("db", secret.ServerToken("site", "db")))
				defer thief.Close()
				if strings.HasPrefix(name, bySigner) {
					record = d.signedBy(t, "db", at, record)
				}
				if err := thief.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte(record)}); err != nil {
					t.Fatal(err)
				}
				named := isSigned && strings.TrimPrefix(name, bySigner) == "no JSON" ||
					(name == "not signed" || name == "forged") && isSigned
				for _, c := range []struct {
					command func(streams) *cobra.Command
					args    []string
					want    string
				}{
					{newStatusCommand, nil, "exit status 7"},
					{newStatusCommand, []string{"--json"}, `"exit status 7"`},
					{newWhyCommand, nil, "app.web failed"},
					{newWhyCommand, []string{"app.web", "--json"}, `"exit status 7"`},
					{newLogsCommand, []string{"app.web"}, "a line"},
					{newLogsCommand, []string{"db.mysql"}, ""},
					{newOutputsCommand, []string{"app.web:port"}, "8080"},
					{newOutputsCommand, nil, "8080"},
					{newApplyCommand, []string{changed}, "a new plan"},
					{newRetryCommand, []string{"app.web", "--yes"}, "app.web runs again"},
				} {
					out, err := d.on(t, c.command, c.args...)
					if err != nil && !answered(err) || !strings.Contains(out, c.want) {
						t.Errorf("%q %v: %.300q, %.300v", c.want, c.args, out, err)
					}
					if len(out) > 100_000 {
						t.Errorf("%v: %d bytes are printed", c.args, len(out))
					}
					if named && c.want == "exit status 7" && !strings.Contains(out, "unreadable") {
						t.Errorf("status does not say that something is unreadable: %s", out)
					}
				}
				for _, args := range [][]string{{"db.mysql", "--yes"}, {"db.mysql", "--skip", "--output", "endpoint=x"}, {"db"}} { // about itself anything, in words
					_, _ = d.on(t, newRetryCommand, args...)
				}
			})
		}
	}
}

// bySigner begins the names of records that the server has signed.
const bySigner = "signed, "

// signedBy is a record as a server signs it.
func (d *desk) signedBy(t *testing.T, server contract.ServerPath, at sign.Place, record string) string {
	t.Helper()
	secret, err := protocol.ParseSecret(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	node, err := d.operator(t).Read(t.Context(), protocol.Deployment("site").Root())
	if err != nil {
		t.Fatal(err)
	}
	var of protocol.DeploymentRecord
	if err := json.Unmarshal(sign.Bare(node.Data), &of); err != nil {
		t.Fatal(err)
	}
	key, err := sign.DeriveKey(secret.ServerToken("site", server)+":", "hotc server signature 1")
	if err != nil {
		t.Fatal(err)
	}
	at.Stack, at.Deployment, at.Server = "site", of.ID, string(server)
	text, err := key.Sign(at, 0, []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// answered says that an error is only the exit status of an answer.
func answered(err error) bool { return err == errFailed }
