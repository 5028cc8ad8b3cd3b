package hot

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// yaqlData is the data of the random queries.
const yaqlData = `{"n": [3, 1, 2, 1], "s": ["b", "a", "b", "é"], "m": [{"k": "x", "v": 1}, {"k": "y", "v": 2}, {"k": "x", "v": null}], "d": {"one": 1, "two": [2, 3], "sub": {"k": "z"}},
  "deep": [1, [2, [3, "c"]], []], "none": [], "null": null, "text": "añb", "mixed": [1, "1", true, null, 1.5, {"k": 1}], "yes": true, "f": [1.5, 2]}`

// yaqlQuery is a random expression of what hotc supports, and a little more.
func yaqlQuery(g *generator) string {
	text := "$"
	if g.IntN(12) > 0 {
		text += ".data"
		if g.IntN(10) > 0 {
			text += "." + pick(g, "n", "s", "m", "d", "deep", "none", "null", "text", "mixed", "yes", "f", "missing")
		}
	}
	for range g.IntN(4) {
		text += yaqlStep(g)
	}
	return pick(g, text, text, text, text, " "+text+" ", text+".", text+" + 1", "("+text+")", "coalesce("+text+", 1)", text+" = 1")
}

func yaqlStep(g *generator) string {
	switch g.IntN(4) {
	case 0:
		return "." + pick(g, "k", "v", "one", "two", "sub", "data", "n")
	case 1:
		return pick(g, "[0]", "[1]", "[ 2 ]", "[9]", "[-1]", "['k']", "['k', 0]")
	}
	item := "$" + pick(g, "", "", ".k", ".v", "[0]", "[1]", ".len()")
	test := item + " " + pick(g, "=", "!=", ">", "<", ">=", "<=", "=~") + " " + pick(g, "1", "2", "'x'", `"b"`, "null", "true", item, "1.5", "-1")
	return "." + pick(g, "len()", "sum()", "max()", "min()", "first()", "first(7)", "first(null)", "first($)", "last()", "last(1)", "toList()", "distinct()", "flatten()", "keys()", "values()", "items()",
		"select("+item+")", "where("+test+")", "select("+test+")", "where("+item+")", "contains("+pick(g, "1", "'b'", "null", "$", "true", "$.data.n[0]")+")",
		"join("+pick(g, "','", "''", "1", "$.data.text")+")", "orderBy($)", "toUpper()", "select( $.k ).distinct( )", "where($.v != null).select($.k)", "any()", "sum(1)")
}

// hotc computes the same as Heat, or leaves the query to Heat.
func TestYaqlAgreesWithHeat(t *testing.T) {
	oracle := hottest.Start(t)
	computed, left := 0, 0
	stack := worldStack(worldTemplate(V20180831, nil))
	data, err := yaml.DecodeJSON([]byte(yaqlData))
	if err != nil {
		t.Fatal(err)
	}
	for seeds := range slices.Chunk(slices.Collect(seedtest.Each(t, cases/2, 947646709)), batch) {
		var texts []json.RawMessage
		var queries []string
		for _, s := range seeds {
			g := newGenerator(s, V20180831)
			query := yaqlQuery(g)
			queries = append(queries, query)
			texts = append(texts, json.RawMessage(fmt.Sprintf(`{"yaql": {"expression": %s, "data": %s}}`, value.EncodeJSON(query), yaqlData)))
		}
		for i, verdict := range oracle.Evaluate(t, stack, texts) {
			arg := value.NewDict()
			arg.Set("expression", queries[i])
			arg.Set("data", data)
			e, err := Fold(NewCall(yaql, source.Place{}, Constant(arg, source.Place{})), func(call *Expr) (*Expr, error) { return call, nil })
			if err != nil { // an invalid query
				if verdict.Error == "" {
					t.Errorf("SEED=%d: %s: Heat reads it, hotc says: %v", seeds[i], queries[i], err)
				}
				continue
			}
			if !e.IsValue() {
				left++
				continue
			}
			computed++
			got := string(value.EncodeJSON(e.Value))
			want := ""
			if verdict.Error == "" {
				v, err := yaml.DecodeJSON([]byte(verdict.Value))
				if err != nil {
					t.Fatal(err)
				}
				want = string(value.EncodeJSON(v))
			}
			if got != want {
				t.Errorf("SEED=%d: %s is %s; Heat: %s%s", seeds[i], queries[i], got, verdict.Value, verdict.Error)
			}
		}
	}
	t.Logf("%d computed, %d left to Heat", computed, left)
	if computed < left/10 {
		t.Error("hotc computes too few of them")
	}
}

// Data for which Heat's limits might matter is left to Heat.
func TestYaqlLimits(t *testing.T) {
	for items, want := range map[int]bool{yaqlItems: true, yaqlItems + 1: false} {
		list := make([]value.Value, items)
		for i := range list {
			list[i] = int64(1)
		}
		data := value.NewDict()
		data.Set("l", list)
		arg := value.NewDict()
		arg.Set("expression", "$.data.l.sum()")
		arg.Set("data", data)
		if _, err := applyYaql(nil, arg); (err == nil) != want {
			t.Errorf("%d items: %v", items, err)
		}
	}
}
