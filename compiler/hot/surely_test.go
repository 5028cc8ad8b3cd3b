package hot

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// A parameter without a value is refused where Heat refuses each value of its type, and only there. $ is a read
// of the parameter, and of-$ the name of a condition that is nothing else.
func TestTypesOfParametersAgreeWithHeat(t *testing.T) {
	forms := []string{
		`{"list_join": ["-", ["a", $]]}`, `{"list_join": ["-", ["a", [$]]]}`, `{"list_join": ["-", $]}`, `{"list_join": [$, ["a", "b"]]}`,
		`{"Fn::Join": ["-", ["a", $]]}`, `{"Fn::Join": ["-", $]}`, `{"Fn::Join": [$, ["a"]]}`,
		`{"list_concat": [["a"], $]}`, `{"list_concat_unique": [$]}`, `{"map_merge": [{"a": 1}, $]}`, `{"str_split": [",", $]}`,
		`{"digest": ["md5", $]}`, `{"repeat": {"for_each": {"%x%": $}, "template": "%x%"}}`, `{"repeat": {"for_each": $, "template": "%x%"}}`,
		`{"str_replace": {"template": $, "params": {"x": 1}}}`, `{"str_replace": {"template": "x", "params": $}}`,
		`{"map_replace": [$, {"keys": {"a": "b"}}]}`, `{"contains": ["a", $]}`, `{"filter": [["a"], $]}`, `{"filter": [$, ["a"]]}`,
		`{"str_replace": {"template": "x y", "params": {"x": $, "y": 1}}}`, `{"str_replace": {"template": "x y", "params": {"x": [$], "y": 1}}}`,
		`{"if": [$, 1, 2]}`, `{"if": [{"not": $}, 1, 2]}`, `{"if": [{"and": [true, $]}, 1, 2]}`, `{"if": [{"or": [true, $]}, 1, 2]}`,
		`{"if": ["of-$", 1, 2]}`, `{"if": [{"not": "of-$"}, 1, 2]}`, `{"Fn::If": ["of-$", 1, 2]}`, `{"Fn::If": [{"Fn::Not": ["of-$"]}, 1, 2]}`,
	}
	types := [][]string{{"text", "empty", "named"}, {"number", "zero", "one"}, {"yes", "no"}, {"items", "none"}, {"object", "array", "null", "word", "true", "lists", "texts"}}
	// Heat takes true for a number, and any JSON for json.
	more := `"zero": {"type": "number", "default": 0}, "one": {"type": "number", "default": true}, ` +
		`"word": {"type": "json", "default": "\"x\""}, "true": {"type": "json", "default": "true"}, ` +
		`"lists": {"type": "json", "default": {"x": ["a"]}}, "texts": {"type": "json", "default": {"x": "y"}}, `
	conditions := ""
	for _, name := range slices.Concat(types...) {
		conditions += fmt.Sprintf(`"of-%s": {"get_param": %q}, `, name, name)
	}
	hottest.Skip(t) // with -short: the answers are large
	oracle := hottest.Start(t)
	for v := firstVersion; v <= lastVersion; v++ {
		read := "get_param"
		inCFN := strings.NewReplacer()
		if v.CFN() {
			read, inCFN = "Ref", strings.NewReplacer(`"type": "number"`, `"Type": "Number"`, `"type": "json"`, `"Type": "Json"`, "default", "Default", "get_param", "Ref")
		}
		world := strings.NewReplacer(`"bad": `, inCFN.Replace(conditions)+`"bad": `, `"empty": `, inCFN.Replace(more)+`"empty": `).Replace(worldTemplate(v, nil))
		var diags source.Diagnostics
		template := ParseTemplate(source.NewFile("world.json", []byte(world)), &diags)
		type of struct{ first, until int } // the reads of a type in a form
		var reads []json.RawMessage
		var all []of
		for _, form := range forms {
			for _, names := range types {
				all = append(all, of{len(reads), len(reads) + len(names)})
				for _, name := range names {
					text := strings.ReplaceAll(form, "of-$", "of-"+name)
					reads = append(reads, json.RawMessage(strings.ReplaceAll(text, "$", fmt.Sprintf(`{%q: %q}`, read, name))))
				}
			}
		}
		verdicts := oracle.Evaluate(t, worldStack(world), reads)
		for _, x := range all {
			_, err := Fold(template.Expr(yaml.Parse(source.NewFile("form.json", reads[x.first]), &diags)), func(call *Expr) (*Expr, error) { return call, nil })
			accepted := slices.IndexFunc(verdicts[x.first:x.until], func(h hottest.Verdict) bool { return h.Error == "" })
			switch {
			case err != nil && accepted >= 0:
				t.Errorf("%s: %s: %v\nHeat: %s", v, reads[x.first+accepted], err, verdicts[x.first+accepted].Value)
			case err == nil && accepted < 0:
				t.Errorf("%s: %s and the like are accepted\nHeat: %s", v, reads[x.first], verdicts[x.first].Error)
			}
		}
	}
}
