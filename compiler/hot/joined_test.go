package hot

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// inGroup also knows the group's members.
type inGroup struct {
	heatDecides
	in []int
}

func (g *inGroup) Joined(group string, count, possible int) ([]int, error) {
	g.read = append(g.read, fmt.Sprintf("%s:%d/%d", group, count, possible))
	return g.in, nil
}

// A list over the members of a group reads no other cells.
func TestJoined(t *testing.T) {
	const list = `{"$joined": ["g", {"$deploy": "n"}, [{"$cell": "a"}, {"$cell": "b"}, {"str_replace": {"template": "x C", "params": {"C": {"$cell": "c"}}}}]]}`
	for _, c := range []struct {
		expr, n    string
		in         []int
		want, read string
	}{
		{list, "1", []int{0, 2}, `["a!","x c!"]`, "g:1/3 a c"},
		{list, "2", nil, `[]`, "g:2/3"},
		{list, "null", []int{1}, `["b!"]`, "g:1/3 b"},
		{`{"$joined": ["g", 2, {"x": {"$cell": "a"}, "y": {"$cell": "b"}}]}`, "0", []int{1}, `{"y":"b!"}`, "g:2/2 b"},
		{`{"list_join": ["+", ` + list + `]}`, "2", []int{0, 1}, `"a!+b!"`, "g:2/3 a b"},
		{list, "2", []int{3}, "", ""},
	} {
		e, err := ParseResidual(json.RawMessage(c.expr), nil)
		if err != nil {
			t.Fatal(err)
		}
		from := &inGroup{heatDecides{deploy: map[string]string{"n": c.n}}, c.in}
		got, err := e.Eval(from)
		if c.want == "" {
			if err == nil {
				t.Errorf("member %v of it gives %s", c.in, got)
			}
			continue
		}
		if read := strings.Join(from.read, " "); err != nil || string(got) != c.want || read != c.read {
			t.Errorf("%v of %s is %s (%v), having read %q; want %s, %q", c.in, c.n, got, err, read, c.want, c.read)
		}
		// without a Joiner the first ones are taken
		first := &heatDecides{deploy: map[string]string{"n": c.n}}
		if got, err := e.Eval(first); err != nil || strings.Contains(strings.Join(first.read, " "), "c") && c.n != "3" {
			t.Errorf("%s, %v, having read %v", got, err, first.read)
		}
	}
}
