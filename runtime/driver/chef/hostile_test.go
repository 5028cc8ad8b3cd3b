package chef_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/runtime/driver/chef"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// hostileForms are expressions that give a hostile text: X is an input that is it, P one
// that has it in its parts (drivertest.Hostile), and G a mash with the inputs x and p.
var hostileForms = []string{
	"node['X']", "node[:X]", "node.read('X')", "node.attributes['X']", `"#{node['X']}"`, `"<#{node['X']}>"[1...-1]`, "node['X'].to_s.dup", "String(node['X'])",
	"format('%s', node['X'])", "node['X'].sub(/\\z/, '')", "'X'.sub('X') { node['X'] }", "lambda { |x| x }.call(node['X'])",
	"node['P']['list'][0]", "node['P']['list'].join", "node['P']['list'].map(&:to_s).first", "node['P']['named'].keys.first", "node['P']['map']['deep']['text']",
	"node.read('P', 'map', 'deep', 'text')", "node['P'].dig('map', 'deep', 'text')", "node['P'].to_h['list'][0]", "node['P'].to_h['named'].keys.first",
	"node['G']['x']", "{}.merge(node['G'])['x']", "{ **node['G'] }['x']", "Hash[node['G']]['p']['named'].keys.first", "node['G'].to_h['p']['list'][0]",
	"node['G'].map { |k, v| v }.first", "Chef::Mixin::DeepMerge.merge({}, node['G'])['p']['list'][0]",
	"JSON.parse(node['G'].to_json)['x']", "JSON.parse(JSON.generate('a' => node['P']))['a']['named'].keys.first", "YAML.safe_load(node['G'].to_h.to_yaml)['p']['list'][0]",
	"eval(node['X'].inspect)", "Chef::DelayedEvaluator.new { node['X'] }",
}

// No text that comes from another server is evaluated or interpolated, wherever a recipe,
// a template or a resource uses it.
func TestHostileValues(t *testing.T) {
	seedtest.SkipShort(t)
	everyChef(t, func(t *testing.T, solo string) {
		trap := drivertest.NewTrap(t)
		texts := trap.Texts()
		folder := t.TempDir()
		r := drivertest.Role{Source: map[string]any{"cookbooks": []any{map[string]any{"file": "books"}}, "run_list": []any{"web"}}, Between: "\x00",
			Values: &drivertest.Values{Arrived: map[string]string{}}}
		var text strings.Builder
		text.WriteString("require 'yaml'\n")
		input := func(name, value string) {
			r.Inputs = append(r.Inputs, name)
			r.Values.Arrived[name] = value
		}
		for i, h := range texts {
			x, p, g := fmt.Sprint("x", i), fmt.Sprint("p", i), fmt.Sprint("g", i)
			input(x, h.JSON())
			input(p, h.Parts())
			input(g+".x", h.JSON())
			input(g+".p", h.Parts())
			for f, form := range hostileForms {
				name := fmt.Sprintf("row%d_%d", i, f)
				r.Outputs = append(r.Outputs, name)
				fmt.Fprintf(&text, "node.default['%s'] = %s\n", name, strings.NewReplacer(":X", ":"+x, "'X'", "'"+x+"'", "'P'", "'"+p+"'", "'G'", "'"+g+"'").Replace(form))
			}
			fmt.Fprintf(&text, "log node['%s']\nruby_block node['%s'] do\n  block {}\nend\n", x, p+"']['list'][0]+node['"+x)
			fmt.Fprintf(&text, "file '%s/%s' do\n  content node['%s']\nend\n", folder, x, x)
			fmt.Fprintf(&text, "template '%s/%s.page' do\n  source 'page.erb'\n  variables(x: node['%s'], key: '%s')\nend\n", folder, x, x, x)
			if !strings.Contains(h.Text, "\x00") && len(h.Text) < 100_000 {
				fmt.Fprintf(&text, "execute 'run %s' do\n  command \"printf %%s \\\"$V\\\" > %s/%s.run\"\n  environment('V' => node['%s'])\nend\n", x, folder, x, x)
			}
		}
		r.File = tree{"web/metadata.rb": "name 'web'\n", "web/recipes/default.rb": text.String(), "web/templates/page.erb": "<%= @x %>\n<%= node[@key] %>"}.archive(t)
		job, printed := r.Job(t, solo)
		drivertest.Run(t, chef.Driver{}, job, printed).MustSucceed(t)
		trap.MustBeEmpty(t)
		published := map[string]string{}
		for _, line := range r.Values.Lines() {
			if name, value, is := strings.Cut(strings.TrimPrefix(line, "put "), " "); is {
				published[name] = value
			}
		}
		for i, h := range texts {
			for f, form := range hostileForms {
				var got any
				text := published[fmt.Sprintf("row%d_%d", i, f)]
				if err := json.Unmarshal([]byte(text), &got); err != nil || got != h.Text {
					t.Errorf("%s of %s\n gives %.200q\n and not %.200q", form, h.Name, text, h.Text)
				}
			}
			for ending, want := range map[string]string{"": h.Text, ".page": h.Text + "\n" + h.Text, ".run": h.Text} {
				got, err := os.ReadFile(filepath.Join(folder, fmt.Sprint("x", i, ending)))
				if os.IsNotExist(err) && ending == ".run" && (strings.Contains(h.Text, "\x00") || len(h.Text) >= 100_000) {
					continue
				}
				if err != nil || string(got) != want {
					t.Errorf("the file x%d%s of %s holds %.200q, %v\n and not %.200q", i, ending, h.Name, got, err, want)
				}
			}
		}
	})
}
