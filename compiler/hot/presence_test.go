package hot

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// heatDecides returns Heat's decisions, and records which cells are read.
type heatDecides struct {
	deploy map[string]string
	read   []string
}

func (h *heatDecides) Cell(name contract.CellName) (json.RawMessage, error) {
	h.read = append(h.read, string(name))
	return json.RawMessage(`"` + string(name) + `!"`), nil
}

func (h *heatDecides) Deploy(key string) (json.RawMessage, error) {
	return json.RawMessage(h.deploy[key]), nil
}

// What depends on Heat's decisions is evaluated on the server: only existing members are
// read.
func TestPresence(t *testing.T) {
	const (
		members = `{"$members": ["g", {"$deploy": "n"}, [{"$cell": "a"}, {"$cell": "b"}, 7]]}`
		named   = `{"$members": ["g", {"$deploy": "n"}, {"x": {"$cell": "a"}, "y": 7}]}`
		second  = `{"if": [{"$present": [{"$deploy": "n"}, 1]}, {"$cell": "b"}, {"$absent": "no second"}]}`
		third   = `{"$item": [{"$deploy": "l"}, 2]}`
	)
	for _, c := range []struct {
		expr, n   string
		want, err string
		reads     string
	}{
		{expr: members, n: "0", want: `[]`},
		{expr: members, n: "1", want: `["a!"]`, reads: "a"},
		{expr: members, n: `"2"`, want: `["a!","b!"]`, reads: "a b"},
		{expr: members, n: "3", want: `["a!","b!",7]`, reads: "a b"},
		{expr: members, n: "null", want: `["a!"]`, reads: "a"},
		{expr: members, n: "4", err: "the group g has 4 members, but was compiled for at most 3"},
		{expr: members, n: "-1", err: "a group cannot have -1 members"},
		{expr: members, n: `"many"`, err: "a group cannot have \"many\" members"},
		{expr: named, n: "1", want: `{"x":"a!"}`, reads: "a"},
		{expr: named, n: "2", want: `{"x":"a!","y":7}`, reads: "a"},
		{expr: second, n: "2", want: `"b!"`, reads: "b"},
		{expr: second, n: "1", err: "no second"},
		{expr: third, want: `"z"`, n: "0"},
		{expr: `{"list_join": [",", ` + members + `]}`, n: "2", want: `"a!,b!"`, reads: "a b"},
	} {
		e, err := ParseResidual(json.RawMessage(c.expr), nil)
		if err != nil {
			t.Fatal(c.expr, err)
		}
		from := &heatDecides{deploy: map[string]string{"n": c.n, "l": `["x", "y", "z"]`}}
		got, err := e.Eval(from)
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s of %s: error %v, want %q", c.expr, c.n, err, c.err)
		case string(got) != c.want:
			t.Errorf("%s of %s: %s, want %s", c.expr, c.n, got, c.want)
		}
		if reads := strings.Join(from.read, " "); c.err == "" && reads != c.reads {
			t.Errorf("%s of %s reads %q, want %q", c.expr, c.n, reads, c.reads)
		}
		var absent *AbsentError
		if is := errors.As(err, &absent); is != (c.err == "no second") {
			t.Errorf("%s of %s: absent %v", c.expr, c.n, is)
		}
	}
}

// Forms that no compiler writes are refused.
func TestBrokenPresence(t *testing.T) {
	for _, expr := range []string{`{"$members": 1}`, `{"$members": ["g", 1]}`, `{"$members": ["g", 1, "x"]}`, `{"$present": [1]}`, `{"$present": [1, "x"]}`, `{"$item": []}`, `{"$present": null}`} {
		e, err := ParseResidual(json.RawMessage(expr), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Eval(&heatDecides{}); err == nil {
			t.Errorf("%s gives %s", expr, fmt.Sprint(string(got)))
		}
	}
}
