package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// A hostile text gets through a script's every way of writing, and another server's every
// way of reading, as it is: nothing of it is evaluated, nothing is lost.
func TestHostileValues(t *testing.T) {
	trap := drivertest.NewTrap(t)
	texts := trap.Texts()
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
				if !strings.Contains(web.file("reader.stderr"), "input "+name+" does not fit") {
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
