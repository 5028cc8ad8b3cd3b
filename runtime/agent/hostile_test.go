package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// A hostile text gets through a script's every way of writing, and another server's every
// way of reading, as it is: nothing of it is evaluated, nothing is lost.
func TestHostileValues(t *testing.T) {
	trap := drivertest.NewTrap(t)
	texts := trap.Texts()
	texts = texts[:seedtest.Cases(len(texts), 4)]
	written, _ := json.Marshal(texts)
	b := newBed(t)
	write := `#!/usr/bin/env python3
import json, os, subprocess
for i, one in enumerate(json.loads(r'''` + strings.ReplaceAll(string(written), "'", `\u0027`) + `''')):
    text = one["Text"].encode()
    open(os.environ["heat_outputs_path"] + ".file%d" % i, "wb").write(text)
    subprocess.run(["hotc-agent", "put", "put%d" % i], input=text, check=True)
    subprocess.run(["hotc-agent", "put", "parts%d" % i], input=json.dumps({"list": [one["Text"]], "named": {one["Text"]: 1}}).encode(), check=True)
`
	read := `#!/usr/bin/env python3
import json, os, subprocess
found = {}
for i in range(` + fmt.Sprint(len(texts)) + `):
    for kind in ["static", "eager", "file", "put"]:
        name = kind + str(i)
        found["$" + name] = os.environb.get(name.encode())
        found["file " + name] = open(os.environ["hotc_inputs"] + "/" + name, "rb").read()
        found["get " + name] = subprocess.run(["hotc-agent", "get", name], stdout=subprocess.PIPE, check=True).stdout
    parts = json.loads(subprocess.run(["hotc-agent", "get", "parts%d" % i], stdout=subprocess.PIPE, check=True).stdout)
    found["item %d" % i], found["key %d" % i] = parts["list"][0].encode(), list(parts["named"])[0].encode()
    for form in ["whole", "piped", "item", "key", "called"]:
        found["template %s %d" % (form, i)] = open("%s%d" % (form, i), "rb").read()
json.dump({k: v if v is None else v.decode() for k, v in found.items()}, open("found", "w"))
`
	writer, reader := b.sh("writer", write), b.sh("reader", read)
	templates := map[string]string{
		"whole": `{{ .putN }}`, "piped": `{{ .putN | trimSuffix "no such end" | print }}`,
		"item": `{{ index .partsN.list 0 }}`, "key": `{{ range $k, $v := .partsN.named }}{{ $k }}{{ end }}`,
		"called": `{{ define "x" }}{{ . }}{{ end }}{{ template "x" .fileN }}`,
	}
	for i, h := range texts {
		number := fmt.Sprint(i)
		for _, name := range []string{"file", "put"} {
			writer = with(writer, output(name+number, contract.String))
			reader = with(reader, input(name+number, contract.CellName("db.writer:"+name+number)))
		}
		writer = with(writer, output("parts"+number, contract.JSON))
		reader = with(reader, input("parts"+number, contract.CellName("db.writer:parts"+number)), static("static"+number, h.JSON()),
			input("eager"+number, contract.CellName("db.writer:put"+number), func(in *contract.Input) { in.Eager = true }))
		for form, text := range templates {
			file := b.sh("x", strings.ReplaceAll(text, "N", number)) // a file of the plan
			reader.Files = append(reader.Files, file.Files...)
			reader.Render = append(reader.Render, contract.RenderedFile{Path: form + number, At: "site.yaml:6:6", Template: file.Files[0], Name: form, Mode: "0600"})
		}
	}
	b.server("db", writer)
	b.server("web", reader)
	b.apply()
	b.start("db").mustBeDone()
	web := b.start("web")
	web.mustBeDone()
	trap.MustBeEmpty(t)
	var found map[string]*string
	if err := json.Unmarshal([]byte(web.file("reader/found")), &found); err != nil {
		t.Fatal(err)
	}
	for i, h := range texts {
		number := fmt.Sprint(i)
		ways := []string{"item " + number, "key " + number}
		for form := range templates {
			ways = append(ways, "template "+form+" "+number)
		}
		for _, kind := range []string{"static", "eager", "file", "put"} {
			ways = append(ways, "file "+kind+number, "get "+kind+number)
		}
		// no variable of an environment holds these
		if h.Name == "nul" || h.Name == "long" {
			for _, name := range []string{"static" + number, "eager" + number} {
				if found["$"+name] != nil {
					t.Errorf("$%s of %s is %.200q", name, h.Name, *found["$"+name])
				}
				if !strings.Contains(web.file("reader.stderr"), "the value of input "+name+" ") {
					t.Errorf("nothing is said of $%s of %s", name, h.Name)
				}
			}
		} else {
			ways = append(ways, "$static"+number, "$eager"+number)
		}
		for _, way := range ways {
			if found[way] == nil || *found[way] != h.Text {
				t.Errorf("%s of %s gives %.200q", way, h.Name, text(found[way]))
			}
		}
	}
}

func text(s *string) string {
	if s == nil {
		return "nothing"
	}
	return *s
}

// A compromised server fails its cell with the longest causes that a record holds, in characters
// that JSON writes longest. The reader, which has many roles, reports its failure, and why.
func TestLongCausesOfAnother(t *testing.T) {
	for name, text := range map[string]string{"letters": "x", "control characters": "\x01"} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.server("db", with(b.sh("mysql", ""), output("url", contract.String)))
			roles := []contract.Role{with(b.sh("reads", "hotc-agent get url"), input("url", "db.mysql:url"))}
			for i := range 10 {
				roles = append(roles, with(b.sh(fmt.Sprint("later", i), ""), output(fmt.Sprint("out", i), contract.String)))
			}
			b.server("app", roles...)
			b.apply()
			token := b.secret.ServerToken(deployment, "db")
			store := b.tree.Open(protocol.ServerCredential("db", token))
			t.Cleanup(func() { store.Close() })
			m := member.Join(store, deployment, "db", token)
			if _, err := m.Plan(t.Context()); err != nil {
				t.Fatal(err)
			}
			m.RememberTries(0, func(int) error { return nil })
			db, err := m.Enrol(t.Context(), "d1", "i-db", false, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			cause := &protocol.Cause{Role: "db.mysql", Reason: "the first"}
			for range 40 {
				cause = &protocol.Cause{Role: contract.RoleKey(strings.Repeat(text, 4<<10)), Reason: strings.Repeat(text, 8<<10), At: contract.Position(strings.Repeat(text, 4<<10)), Cause: cause}
			}
			if err := db.Report(t.Context(), protocol.ServerState{Phase: protocol.PhaseFailed}, map[contract.CellName]*protocol.Cause{"db.mysql:url": cause}); err != nil {
				t.Fatal(err)
			}
			b.start("app").mustFail()
			state := b.awaitState("app", inPhase(protocol.PhaseFailed))
			for _, r := range state.Roles {
				if r.Cause == nil || r.Cause.Root().Reason != "the first" {
					t.Errorf("%s is %s because of %v", r.Name, r.Status, r.Cause.Root())
				}
			}
		})
	}
}
