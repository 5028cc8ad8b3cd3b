package plugin_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// A hostile text gets through the protocol's lines as it is, in both directions.
func TestHostileValues(t *testing.T) {
	trap := drivertest.NewTrap(t)
	texts := trap.Texts()
	w := &world{value: json.RawMessage(drivertest.All(texts)), wrote: map[string]string{}, program: `#!/usr/bin/env python3
import json, sys
def ask(message):
    print(json.dumps(message, ensure_ascii=message.get("put") != "raw"), flush=True)
    return json.loads(sys.stdin.readline())
sys.stdin.reconfigure(encoding="utf-8", newline="\n")
sys.stdout.reconfigure(encoding="utf-8", newline="\n")
sys.stdin.readline()
print('{"protocol": 1}', flush=True)
value = ask({"get": "url"})["value"]
ask({"put": "o", "value": value})
ask({"put": "raw", "value": value})
for name, text in value["map"].items():
    ask({"put": name, "value": text})
for i, text in enumerate(value["list"]):
    ask({"put": "item %d" % i, "value": [text] if text in value["named"] else []})
print('{"done": true}', flush=True)
`}
	end, wrote, prints := w.run(t, t.Context(), time.Minute)
	if end != "exit status 0" {
		t.Fatalf("%s\n%.2000s", end, prints)
	}
	trap.MustBeEmpty(t)
	for _, name := range []string{"o", "raw"} {
		same(t, name, wrote[name], string(w.value))
	}
	for _, h := range texts {
		same(t, h.Name, wrote[h.Name], h.JSON())
	}
	for i, h := range texts {
		same(t, h.Name, wrote[fmt.Sprint("item ", i)], "["+h.JSON()+"]")
	}
}

func same(t *testing.T, name, got, want string) {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(got), &x) != nil || json.Unmarshal([]byte(want), &y) != nil || !reflect.DeepEqual(x, y) {
		t.Errorf("%s is published as %.300q and not as %.300q", name, got, want)
	}
}
