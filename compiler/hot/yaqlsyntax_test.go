package hot

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/seedtest"
)

// yaqlOracle reads a JSON list of queries and reports for each whether the library parses it.
const yaqlOracle = `import json, sys, yaql
parse = yaql.YaqlFactory().create({})
def reads(q):
    try:
        parse(q)
    except yaql.language.exceptions.YaqlException:
        return False
    return True
json.dump([reads(q) for q in json.load(sys.stdin)], sys.stdout)
`

// hotc refuses only queries that stock Heat's library refuses, and nearly all of these.
func TestYaqlSyntaxAgreesWithHeat(t *testing.T) {
	hottest.Skip(t)
	queries := []string{"", "$", "$.data.list.where($ > 1).select($ * 2)", "dict($.data.select([$.name, $.value]))", "$.data.a.where($.b = 'x' and not $.c).len() > 0",
		"$.data.a?.b", "{a => 1, 'b' => $.data}.keys()", "let(x => 1) -> $x", "$.data[0, 1]", "f(, 1)", "coalesce($.data.a, \"it's\")", "$.data.select($.x", "$.a +", "1 2", "a => 1", "$.1a", "'abc", "andé"}
	r := rand.New(rand.NewPCG(seedtest.One(t), 2))
	pieces := []string{"$", "$.data", ".", "a", "b", "f(", "select(", ")", "(", "[", "]", "{", "}", ",", "=>", "=", "->", "+", "-", "*", "/", "and", "or", "not", "in", "mod", "'x'", "1", "1.5", " ", " ", "?.", "!", "__x",
		"true", "null", "<", ">=", "=~", "`v`", "$x", "#", "%"}
	for range 6000 {
		var q strings.Builder
		for range 1 + r.IntN(9) {
			q.WriteString(pieces[r.IntN(len(pieces))])
		}
		queries = append(queries, q.String())
	}
	for range 3000 { // valid ones with a typo
		q := []byte(queries[2+r.IntN(9)])
		i := r.IntN(len(q))
		switch r.IntN(3) {
		case 0:
			q = append(q[:i:i], q[i+1:]...)
		case 1:
			q[i] = "().,[]{}'=$+ a1"[r.IntN(15)]
		default:
			q = append(q[:i:i], append([]byte{"().,[]{}'=$+ a1"[r.IntN(15)]}, q[i:]...)...)
		}
		queries = append(queries, string(q))
	}
	in, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", yaqlOracle)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(in)), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v", hottest.SkipVariable, err)
	}
	var reads []bool
	if err := json.Unmarshal(out, &reads); err != nil {
		t.Fatal(err)
	}
	refused, found := 0, 0
	for i, q := range queries {
		err := yaqlSyntax(q)
		switch {
		case reads[i] && err != nil:
			t.Errorf("the library reads %q, hotc says: %v", q, err)
		case !reads[i]:
			if refused++; err != nil {
				found++
			} else if refused-found < 20 {
				t.Logf("missed: %q", q)
			}
		}
	}
	if t.Logf("%d of %d are refused, %d found", refused, len(queries), found); found*100 < refused*95 {
		t.Errorf("only %d of %d were found", found, refused)
	}
}
