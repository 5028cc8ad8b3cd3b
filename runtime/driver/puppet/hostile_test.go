package puppet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// hostileForms are expressions that give a hostile text: X is an input that is it, P one
// that has it in its parts (drivertest.Hostile).
var hostileForms = []string{
	"$X", "$::X", `"${X}"`, `"<${X}>"[1,-2]`, "getvar('X')", "$facts['X']", "$facts.get('X')",
	"lookup('X')", "lookup('X', String, 'first', 'default')", "hiera('X')", "lookup({'name' => 'X'})",
	"lookup('X_by_variable')", "lookup('X_by_top_variable')", "lookup('X_by_lookup')", "lookup('X_by_hiera')", "lookup('X_by_alias')", "lookup('X_by_fact')",
	"lookup('X_in_list')[0]", "lookup('X_as_key').keys[0]",
	"$cX::y",
	"$P['list'][0]", `"${P['list'][0]}"`, "$P['list'].join('')", "$P['list'].map |$x| { $x }.join('')", "$P['named'].keys[0]", "$P['map']['deep']['text']", "$P.dig('map', 'deep', 'text')",
	"lookup('P.list.0')", "lookup('P.map.deep.text')", "lookup('P')['named'].keys[0]", "lookup('P', Hash, 'deep')['named'].keys[0]", "lookup('P', Hash, 'hash')['list'][0]", "hiera_hash('P')['named'].keys[0]",
	"lookup('P_list')", "lookup('P_alias')['named'].keys[0]", "getvar('P.list.0')",
	"inline_template('<%= @X %>')", "inline_template(\"<%= scope['X'] %>\")", "inline_template(\"<%= scope.call_function('lookup', ['X']) %>\")", "inline_template('<%= @P[\"named\"].keys.join %>')",
	"inline_epp('<%= $X %>')", "inline_epp('<%= $P[\"list\"][0] %>')", "inline_epp('<%- | $x | -%><%= $x %>', 'x' => $X)", "epp('c/x.epp', {'x' => $P['named'].keys[0]})",
	"regsubst($X, '\\z', '')", "sprintf('%s', $X)", "String($X)", "$X ? { Undef => 'none', default => $X }",
}

// No text that comes from another server is evaluated or interpolated, wherever a
// manifest or the data use it.
func TestHostileValues(t *testing.T) {
	r := newTrial(t)
	trap := drivertest.NewTrap(t)
	texts := trap.Texts()
	folder := t.TempDir()
	var manifest, data strings.Builder
	for i, h := range texts {
		x, p := fmt.Sprint("x", i), fmt.Sprint("p", i)
		r.input(x, h.JSON())
		r.input(p, h.Parts())
		r.input("c"+x+"::y", h.JSON())
		fmt.Fprintf(&manifest, "class c%s ($y = 'default') {}\ninclude c%s\nfile { '%s/%s': content => $%s }\nnotify { \"%d ${%s['list'][0]}\": message => $%s }\n", x, x, folder, x, x, i, p, x)
		data.WriteString(strings.NewReplacer("X", x, "P", p).Replace(`X_by_variable: "%{X}"
X_by_top_variable: "%{::X}"
X_by_lookup: "%{lookup('X')}"
X_by_hiera: "%{hiera('X')}"
X_by_alias: "%{alias('X')}"
X_by_fact: "%{facts.X}"
X_in_list: ["%{X}"]
X_as_key: {"%{X}": 1}
P_list: "%{lookup('P.list.0')}"
P_alias: "%{alias('P')}"
`))
		for f, form := range hostileForms {
			name := fmt.Sprintf("row%d_%d", i, f)
			fmt.Fprintf(&manifest, "$%s = %s\n", name, strings.NewReplacer("X", x, "P", p).Replace(form))
			r.output("variable", name, name)
		}
	}
	r.source["hiera"] = map[string]any{"file": r.file(tarOf(t, map[string]string{
		"hiera.yaml": "version: 5\nhierarchy:\n  - {name: common, path: common.yaml}\n", "data/common.yaml": "other: changed\n" + data.String(),
	}))}
	r.source["modules"] = map[string]any{"c": map[string]any{"file": r.file(tarOf(t, map[string]string{"templates/x.epp": "<%- | $x | -%><%= $x %>"}))}}
	r.manifest("$other = 'changed'\n" + manifest.String())
	r.succeed()
	trap.MustBeEmpty(t)
	for i, h := range texts {
		for f, form := range hostileForms {
			var got any
			text := r.published(fmt.Sprintf("row%d_%d", i, f))
			if err := json.Unmarshal([]byte(text), &got); err != nil || got != h.Text {
				t.Errorf("%s of %s\n gives %.200q\n and not %.200q", form, h.Name, text, h.Text)
			}
		}
		if got, err := os.ReadFile(filepath.Join(folder, fmt.Sprint("x", i))); err != nil || string(got) != h.Text {
			t.Errorf("the file of %s holds %.200q, %v\n and not %.200q", h.Name, got, err, h.Text)
		}
	}
}
