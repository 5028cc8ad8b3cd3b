package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/coordinator/plan"
	build "github.com/hotc-dev/hotc/emit/plan"
)

// The text is the one that the JSON library indents, whatever the plan holds.
func TestEncodeIndentsAsTheLibrary(t *testing.T) {
	servers := func(n int) (list []plan.Server) {
		for range n {
			list = append(list, plan.Server{Path: `tier/"2"/db`, Roles: []plan.Role{}, Facts: []string{"id", "[1, {}]"},
				Deploy: map[string]plan.DeployValue{"b": {Expr: json.RawMessage(`{"get_param": ["a:b", {"c": []}, [[]], ""]}`)}, "a": {Expr: json.RawMessage(`"\\\"{"`)}}})
		}
		return list
	}
	for name, p := range map[string]*plan.Plan{
		"nothing": {Servers: []plan.Server{}, Cells: []plan.Cell{}},
		"no list": {},
		"one":     {Template: `,"cells":[]`, Servers: servers(1), Cells: []plan.Cell{{Name: "a\nb<&>\u2028\\"}}},
		"many":    {Servers: servers(20), Cells: make([]plan.Cell, 7), Files: []plan.File{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			want := *p
			want.Servers, want.Cells = append([]plan.Server{}, p.Servers...), append([]plan.Cell{}, p.Cells...)
			indented, err := json.MarshalIndent(want, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got, err := build.Encode(p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(indented)+"\n", string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := build.Encode(&plan.Plan{Servers: []plan.Server{{Decides: map[string]json.RawMessage{"x": json.RawMessage("{")}}}}); err == nil {
		t.Error("text that is no JSON was written")
	}
}
