package hot

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Which values have moved to and from Heat, of an input's two expressions.
func TestMoves(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`1`, `1`, ""},
		{`1`, `1.0`, "changed"},
		{`{"a":1,"b":[]}`, `{"b":[],"a":1}`, ""},
		{`[1]`, `[1,2]`, "changed"},
		{`[]`, `{}`, "changed"},
		{`{"a":1}`, `{"b":1}`, "changed"},
		{`{"a":null}`, `{"b":null}`, "changed"},

		{`{"$deploy":"k"}`, `{"$deploy":"k"}`, ""},
		{`{"$deploy":"k"}`, `{"$deploy":"l"}`, "changed"},
		{`{"$deploy":"k"}`, `"v"`, `into k "v"`},
		{`"v"`, `{"$deploy":"k"}`, `out k "v"`},
		{`["a",{"x":1}]`, `["a",{"x":{"$deploy":"k"}}]`, `out k 1`},
		{`{"$deploy":"k"}`, `{"$cell":"/operator:p"}`, `into k /operator:p`},
		{`{"$deploy":"k"}`, `{"$cell":["/operator:p",0]}`, "changed"},
		{`{"$deploy":"k"}`, `{"$cell":"a.r:o"}`, "changed"},
		{`{"$deploy":"k"}`, `{"list_join":[",",["a",{"$cell":"a.r:o"}]]}`, "changed"},
		{`{"$deploy":"k"}`, `{"list_join":[",",["a","b"]]}`, "changed"},
		{`{"$deploy":"k"}`, `{"$literal":{"$deploy":"k"}}`, `into k {"$deploy":"k"}`},
		{`{"$literal":{"$deploy":"k"}}`, `{"$literal":{"$deploy":"l"}}`, "changed"},

		{`{"list_join":[",",["a",{"$deploy":"k"}]]}`, `{"list_join":[",",["a","v"]]}`, `into k "v"`},
		{`{"list_join":[",",["a"]]}`, `{"list_join@2016-10-14":[",",["a"]]}`, "changed"},
		{`{"$cell":"a.r:o"}`, `{"$cell":"a.r:o"}`, ""},
		{`{"$cell":"a.r:o"}`, `{"$cell":"a.r:p"}`, "changed"},
		{`{"$cell":"a.r:o"}`, `"v"`, "changed"},

		{`{"$joined":["g",1,[1]]}`, `{"$joined":["g",2,[1,2]]}`, ""},
		{`{"$joined":["g",0,{}]}`, `{"$joined":["g",1,{"0":1}]}`, ""},
		{`{"$joined":["g",2,[1,2]]}`, `{"$joined":["g",1,[1]]}`, "changed"},
		{`{"$joined":["g",1,[1]]}`, `{"$joined":["h",1,[1]]}`, "changed"},
		{`{"$joined":["g",1,{"0":{"$cell":"a.r:o"}}]}`, `{"$joined":["g",2,{"1":2,"0":{"$cell":"a.r:o"}}]}`, ""},
		{`{"$joined":["g",1,{"0":1}]}`, `{"$joined":["g",1,{"0":2}]}`, "changed"},
		{`{"$joined":["g",2,[1,2]]}`, `{"$joined":["g",{"$deploy":"k"},[1,2]]}`, "out k 2"},
		{`{"$joined":["g",1,[1]]}`, `[1]`, "changed"},
		{`{"$members":["g",1,[1]]}`, `{"$members":["g",1,[1,2]]}`, "changed"},
	} {
		role := func(expr string) *contract.Role {
			return &contract.Role{Name: "r", Inputs: []contract.Input{{Name: "x", Expr: json.RawMessage(expr)}}}
		}
		into, out, ok := Moves(role(c.from), role(c.to))
		got := ""
		for _, m := range into {
			got += fmt.Sprintf("into %s %s%s", m.Key, m.Value, m.Cell)
		}
		for _, m := range out {
			got += fmt.Sprintf("out %s %s%s", m.Key, m.Value, m.Cell)
		}
		if !ok {
			got = "changed"
		}
		if got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
