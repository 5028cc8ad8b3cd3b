package chef_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/chef"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// read is a form in which a recipe may read. It is run below a top-level key of its
// own, written X here: X.y and X.w are inputs, X.own and X.in.own the cookbook's.
type read struct{ form, waits, gives string }

var reads = []read{
	{"node['X']['y']", "y", `"Y"`},
	{"node[:X][:y]", "y", `"Y"`},
	{"node['X'].fetch('y')", "y", `"Y"`},
	{"node['X'].fetch('none', 1)", "", `1`},
	{"node['X'].dig('y')", "y", `"Y"`},
	{"node.dig('X', 'y')", "y", `"Y"`},
	{"node.read('X', 'y')", "y", `"Y"`},
	{"node.read!('X', 'y')", "y", `"Y"`},
	{"node.read('X', 'w', 'k', 0)", "w", `1`},
	{"node['X']['w']['k']", "w", `[1, 2]`},
	{"node.attributes['X']['y']", "y", `"Y"`},
	{"node.attributes.merged_attributes('X', 'y')", "y", `"Y"`},
	{"node['X'].values_at('y', 'own')", "y", `["Y", "own"]`},
	{"node['X'].slice('y').to_h", "y", `{"y"=>"Y"}`},
	{"node['X'].fetch_values('y')", "y", `["Y"]`},
	{"node['X'].assoc('y')", "y", `["y", "Y"]`},
	{"node['X'].to_proc.call('y')", "w y", `"Y"`},
	{"node['X']['own']", "", `"own"`},
	{"node['X']['in']['own']", "", `"deep"`},
	{"node['X']['in']['z']", "in.z", `"Z"`},
	{"node['X'].key?('y')", "", `true`},
	{"node['X'].include?(:y)", "", `true`},
	{"node['X'].keys.sort", "", `["in", "own", "w", "y"]`},
	{"node['X'].size", "", `4`},
	{"node['X'].empty?", "", `false`},
	{"node['X'].any?", "", `true`},
	{"node['X'].count", "", `4`},
	{"node.exist?('X', 'y')", "", `true`},
	{"node['X'].exist?('in', 'z')", "", `true`},
	{"node.exist?('X', 'w', 'none')", "w", `false`},
	{"node.attribute?('X')", "", `true`},
	{"node.key?('X')", "", `true`},
	{"node.default['X'].key?('y')", "", `false`},
	{"node['X'].map { |k, v| k }.sort", "w y", `["in", "own", "w", "y"]`},
	{"node['X'].each { |k, v| v.to_s if k == 'y' }.class.name", "w y", `"Chef::Node::ImmutableMash"`},
	{"node['X'].select { |k, v| k == 'y' }.to_a", "w y", `[["y", "Y"]]`},
	{"node['X'].values.size", "w y", `4`},
	{"node['X'].any? { |k, v| v == 'Y' }", "w y", `true`},
	{"node['X'].to_h['in']", "in.z w y", `{"own"=>"deep", "z"=>"Z"}`},
	{"node['X'].to_hash['y']", "in.z w y", `"Y"`},
	{"node['X'].to_json.include?('Y')", "in.z w y", `true`},
	{"Chef::JSONCompat.to_json(node['X']).include?('\"z\":\"Z\"')", "in.z w y", `true`},
	{"require('yaml'); node['X'].to_yaml.include?('z: Z')", "in.z w y", `true`},
	{"node['X'].inspect.include?('Z')", "in.z w y", `true`},
	{"(node['X']['in'] == { 'own' => 'deep', 'z' => 'Z' })", "in.z", `true`},
	{"({ 'own' => 'deep', 'z' => 'Z' } == node['X']['in'])", "in.z", `true`},
	{"node['X'].dup['y']", "in.z w y", `"Y"`},
	{"node['X'].merge('q' => 1)['y']", "in.z w y", `"Y"`},
	{"(node['X'] in { y: String })", "y", `true`},
	{"Chef::DelayedEvaluator.new { node['X']['y'] }.call", "y", `"Y"`},
	{"Chef::DelayedEvaluator.new { node['X']['y'] }.class.name", "", `"Chef::DelayedEvaluator"`},
	{"(node.default['X']['more'] = 1; node['X']['y'])", "y", `"Y"`},
	{"(m = node['X']; node.default['X']['more'] = 1; m['y'])", "y", `"Y"`},
	{"(node.default['X']['y'] = 'mine'; node['X']['y'])", "y", `"Y"`},
	{"(node.force_override['X']['y'] = 'mine'; node['X']['y'])", "y", `"Y"`},
	{"(begin; node['X']['y'] = 1; rescue => e; e.class.name; end)", "", `"Chef::Exceptions::ImmutableAttributeModification"`},
	{"node['X']['from_attribute_file']", "", `nil`},
	{"(begin; node['X']['y'].frozen?; end)", "y", `true`},
	{"(begin; node['X'].fetch('none'); rescue KeyError => e; e.message; end)", "", `"key not found: \"none\""`},
	{"(begin; node.fetch('none'); rescue KeyError => e; e.message; end)", "", `"key not found: \"none\""`},
	{"(begin; node.read!('X', 'none'); rescue => e; e.class.name + ' ' + e.message; end)", "", `"Chef::Exceptions::NoSuchAttribute X.none"`},
	{"node.exist?('region')", "", `true`},
	{"node.read('region')", "region", `"eu"`},
	{"search(:node, '*:*').map { |n| n.name }", "", `["n"]`},
	{"search(:node, 'name:other').length", "", `0`},
	{"(node.save; tag('one'); tagged?('one') && node.tags)", "", `["one"]`},
}

// copies are forms that copy a map or compare one, and what becomes of a leaf that is
// in the copy. X.y is "Y", X.n 5, X.off and X.in.off are false.
var copies = []read{
	{"{}.merge(node['X'])['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"{}.merge(node['X'])['off'] || 'else'", "n off y", `"else"`},
	{"{}.merge({}, node['X'])['own']", "n off y", `"own"`},
	{"{}.merge(node['X'])['in']['own']", "n off y", `"deep"`},
	{"(case {}.merge(node['X'])['y'] when String then 1 else 2 end)", "n off y", `1`},
	{"(case {}.merge(node['X'])['n'] when Integer then 1 else 2 end)", "n off y", `1`},
	{"{}.merge(node['X'])['y'] + '!'", "n off y", `"Y!"`},
	{"{}.update(node['X'])['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"{}.merge!(node['X'], 'a' => 1)['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"{}.replace(node['X'])['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"Hash[node['X']]['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"Hash[node['X'].to_a]['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"Hash(node['X'])['off'] ? 'on' : 'off'", "off", `"off"`},
	{"{ **node['X'] }['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"{ 'a' => 1, **node['X']['in'] }['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"(m = node['X']; { **m, **node['X']['in'] }['off'] ? 'on' : 'off')", "in.off n off y", `"off"`},
	{"{ **(true ? node['X'] : {}) }['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"->(**o) { o }.call(**node['X'])['off'] ? 'on' : 'off'", "n off y", `"off"`},
	{"[2**3, [2].map { |x| x ** 2 }, { **{ 'a' => 1 } }]", "", `[8, [4], {"a"=>1}]`},
	{"Struct.new(:own, :off, keyword_init: true).new(node['X']['in']).off ? 'on' : 'off'", "in.off", `"off"`},
	{"({ 'own' => 'deep', 'off' => false } == node['X']['in'])", "in.off", `true`},
	{"({ 'own' => 'deep', 'off' => false } <= node['X']['in'])", "in.off", `true`},
	{"[{ 'x' => { 'own' => 'deep', 'off' => false } }].include?({ 'x' => node['X']['in'] })", "in.off", `true`},
	{"{ 'x' => node['X'] }.dig('x', 'off') ? 'on' : 'off'", "off", `"off"`},
	{"'off'.sub(/off/, node['X']['in'])", "in.off", `"false"`},
	{"node['X']['in'].each_with_object({}) { |(k, v), h| h[k] = v }['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"Mash.new(node['X']['in'])['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"Mash.new('a' => 1).merge(node['X']['in'])['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"Chef::Mixin::DeepMerge.merge({ 'a' => 1 }, node['X']['in'])['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"Chef::Mixin::DeepMerge.merge(node['X']['in'], 'a' => 1)['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"Chef::Mixin::DeepMerge.hash_only_merge({ 'a' => 1 }, node['X']['in'])['off'] ? 'on' : 'off'", "in.off", `"off"`},
	{"(node.default['X.c'] = {}.merge(node['X']['in']); node['X.c']['off'] ? 'on' : 'off')", "in.off", `"off"`},
	{"require('yaml'); {}.merge(node['X']['in']).to_yaml", "in.off", `"---\nown: deep\n'off': false\n"`},
	{"JSON.generate({}.merge(node['X']['in']))", "in.off", `"{\"own\":\"deep\",\"off\":false}"`},
	{"JSON.generate('a' => node['X']['in'])", "in.off", `"{\"a\":{\"own\":\"deep\",\"off\":false}}"`},
	{"Chef::JSONCompat.to_json('a' => node['X']['in'])", "in.off", `"{\"a\":{\"own\":\"deep\",\"off\":false}}"`},
	{"require('ostruct'); OpenStruct.new(node['X']['in']).off ? 'on' : 'off'", "in.off", `"off"`},
	{"file('/c1') { content({}.merge(node['X'])['y']); action :nothing }.content", "n off y", `"Y"`},
	{"file('/c2') { content({ **node['X'] }['y']); action :nothing }.content", "n off y", `"Y"`},
	{"file('/c3') { sensitive Hash[node['X']]['off']; action :nothing }.sensitive", "n off y", `false`},
	{"execute('c4') { retries({}.merge(node['X'])['n']); action :nothing }.retries", "n off y", `5`},
	{"(begin; execute('c5') { retries node['X']['y']; action :nothing }; rescue => e; e.class.name; end)", "y", `"Chef::Exceptions::ValidationFailed"`},
}

// write is a form in which a recipe may write its output X.o; attribute files have
// set nothing there. when is "now", "compile" (when that has ended), "end" or "".
type write struct{ form, when, value string }

var writes = []write{
	{"node.default['X']['o'] = 1", "now", `1`},
	{"node.normal['X']['o'] = 'a'", "now", `"a"`},
	{"node.override['X']['o'] = true", "now", `true`},
	{"node.force_default['X']['o'] = 1.5", "now", `1.5`},
	{"node.force_override['X']['o'] = 1", "now", `1`},
	{"node.automatic['X']['o'] = 1", "now", `1`},
	{"node.default['X']['o'] = false", "now", `false`},
	{"node.default[:X][:o] = :a", "now", `"a"`},
	{"node.default!['X']['o'] = 1", "now", `1`},
	{"node.force_default!['X']['o'] = 1", "now", `1`},
	{"node.force_override!['X']['o'] = 1", "now", `1`},
	{"node.default_unless['X']['o'] = 1", "now", `1`},
	{"node.normal_unless['X']['o'] = 1", "now", `1`},
	{"node.override_unless['X']['o'] = 1", "now", `1`},
	{"node.write(:default, 'X', 'o', 1)", "now", `1`},
	{"node.write!(:normal, 'X', 'o', 1)", "now", `1`},
	{"node.default.write('X', 'o', 1)", "now", `1`},
	{"node.default['X'].store('o', 1)", "now", `1`},
	{"node.default['X'].merge!('o' => 1)", "now", `1`},
	{"node.default['X'].update('o' => 1)", "now", `1`},
	{"node.default['X'] = { 'o' => 1 }", "now", `1`},
	{"node.default.merge!('X' => { 'o' => 1 })", "now", `1`},
	{"node.default['X'].replace('o' => 1)", "now", `1`},
	{"(m = node.default['X']; m['o'] = 1)", "now", `1`},
	{"node.default['X']['o'] = [1]", "compile", `[1]`},
	{"(node.default['X']['o'] = []; node.default['X']['o'] << 1; node.default['X']['o'].push(2))", "compile", `[1,2]`},
	{"(node.default['X']['o']['a'] = 1; node.default['X']['o']['b'] = 2)", "compile", `{"a":1,"b":2}`},
	{"node.default['X']['o'] = nil", "end", `null`},
	{"node.default['X']['o'] = []", "end", `[]`},
	{"node.default['X']['o'] = Chef::DelayedEvaluator.new { 7 }", "end", `7`},
	{"(node.override['X']['o'] = 1; node.default['X']['o'] = 2)", "now", `1`},
	{"node.consume_attributes('X' => { 'o' => 1 })", "now", `1`},
	{"(node.override['X'] = 'a text'; node.default['X']['o'] = 1)", "", ``},
	{"node.default['X']['other'] = 1", "", ``},
	{"(node.default['X']['o'] = nil; node.rm('X', 'o'))", "", ``},
}

// agent is a role that has every input and keeps what is asked and written.
type agent struct {
	mu  sync.Mutex
	log []string
}

func (a *agent) note(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, s)
}

func (a *agent) Read(_ context.Context, name string) (json.RawMessage, error) {
	a.note("get " + name)
	switch {
	case strings.HasSuffix(name, ".y"):
		return json.RawMessage(`"Y"`), nil
	case strings.HasSuffix(name, ".z"):
		return json.RawMessage(`"Z"`), nil
	case strings.HasSuffix(name, ".off"):
		return json.RawMessage("false"), nil
	case strings.HasSuffix(name, ".n"):
		return json.RawMessage("5"), nil
	case name == "region":
		return json.RawMessage(`"eu"`), nil
	case name == "optional":
		return json.RawMessage("null"), nil
	case name == "broken":
		return nil, errors.New("db.mysql failed: exit status 1")
	}
	return json.RawMessage(`{"k":[1,2]}`), nil
}

func (a *agent) Write(_ context.Context, name string, value json.RawMessage) error {
	a.note("put " + name + " " + string(value))
	return nil
}

func (a *agent) WriteText(context.Context, string, []byte) error { return nil }

// writeHook writes the interceptor and its plan.
func writeHook(t testing.TB, folder string, plan map[string]any) string {
	t.Helper()
	if err := chef.WriteInterceptor(folder); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(plan)
	put(t, folder, "plan.json", string(text))
	return filepath.Join(folder, "hotc.rb")
}

func put(t testing.TB, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var update = flag.Bool("update", false, "write the page's table anew")

// The page has every form, with what this test wants of it.
func TestEveryFormIsDocumented(t *testing.T) {
	const file, mark = "../../../docs/chef.md", "<!-- forms: go test ./runtime/driver/chef -update -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, table, found := strings.Cut(string(text), mark)
	if !found {
		t.Fatalf("%s has no line %q", file, mark)
	}
	var want strings.Builder
	cell := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
	}
	want.WriteString("\n| read | waits for | gives |\n|---|---|---|\n")
	for _, r := range reads {
		fmt.Fprintf(&want, "| %s | %s | %s |\n", cell(r.form), cell(r.waits), cell(r.gives))
	}
	want.WriteString("\n| copy | waits for | gives |\n|---|---|---|\n")
	for _, c := range copies {
		fmt.Fprintf(&want, "| %s | %s | %s |\n", cell(c.form), cell(c.waits), cell(c.gives))
	}
	want.WriteString("\n| write | is published | as |\n|---|---|---|\n")
	when := map[string]string{"now": "at once", "compile": "after compilation", "end": "at the end", "": "never"}
	for _, w := range writes {
		fmt.Fprintf(&want, "| %s | %s | %s |\n", cell(w.form), when[w.when], cell(w.value))
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+mark+want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want.String() {
		t.Errorf("the table in %s is not what is tested; go test -update writes it anew", file)
	}
}

// Every form of reading and writing, in one run of the stand-in, and of the real Chef
// where there is one; by chef-client, too.
func TestFormsOfReadingAndWriting(t *testing.T) {
	everyChef(t, func(t *testing.T, solo string) {
		t.Run("solo", func(t *testing.T) { checkForms(t, solo) })
		t.Run("client", func(t *testing.T) { checkForms(t, filepath.Join(filepath.Dir(solo), "chef-client"), "--local-mode") })
	})
}

func checkForms(t *testing.T, solo ...string) {
	folder := t.TempDir()
	a := &agent{}
	server, err := socket.Serve(t.Context(), folder, a)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var inputs, outputs []any
	var attributes, recipe strings.Builder
	form := func(x string, r read, of ...[]string) {
		for _, path := range of {
			inputs = append(inputs, map[string]any{"name": strings.Join(append([]string{x}, path...), "."), "path": append([]string{x}, path...)})
		}
		fmt.Fprintf(&attributes, "default['%s']['own'] = 'own'\ndefault['%s']['in']['own'] = 'deep'\n", x, x)
		fmt.Fprintf(&recipe, "results[%q] = begin; (%s).inspect; rescue Exception => e; e.full_message; end; node['mark']['%s']\n", x, strings.ReplaceAll(r.form, "X", x), x)
		inputs = append(inputs, map[string]any{"name": "mark." + x + ".y", "path": []string{"mark", x}})
	}
	for i, r := range reads {
		form(fmt.Sprintf("r%d", i), r, []string{"y"}, []string{"w"}, []string{"in", "z"})
	}
	for i, c := range copies {
		form(fmt.Sprintf("c%d", i), c, []string{"y"}, []string{"n"}, []string{"off"}, []string{"in", "off"})
	}
	for i, w := range writes {
		x := fmt.Sprintf("w%d", i)
		outputs = append(outputs, map[string]any{"name": x, "path": []string{x, "o"}})
		inputs = append(inputs, map[string]any{"name": "mark." + x + ".y", "path": []string{"mark", x}})
		fmt.Fprintf(&recipe, "begin; %s; rescue Exception => e; results[%q] = e.full_message; end; node['mark']['%s']\n", strings.ReplaceAll(w.form, "X", x), x, x)
	}
	outputs = append(outputs, map[string]any{"name": "up", "resource": "log[first]"}, map[string]any{"name": "file", "path": []string{"file", "o"}},
		map[string]any{"name": "late", "path": []string{"late", "o"}})
	inputs = append(inputs, map[string]any{"name": "region", "path": []string{"region"}}, map[string]any{"name": "optional", "path": []string{"optional", "y"}, "optional": true})
	recipe.WriteString("results['optional'] = node['optional']['y'].inspect\nresults['copied'] = {}.merge(node['optional'])['y'].inspect\n")
	attributes.WriteString("default['optional']['y'] = 'own'\ndefault['file']['o'] = 1\ndefault['file']['o'] = 2\n")
	results := filepath.Join(folder, "results.json")
	fmt.Fprintf(&recipe, "File.write(%q, JSON.generate(results))\nlog 'first'\nruby_block('late') { block { node.default['late']['o'] = 5 } }\nlog 'last'\n", results)
	put(t, folder, "cookbooks/forms/metadata.rb", "name 'forms'\nversion '1.0.0'\n")
	put(t, folder, "cookbooks/forms/attributes/default.rb", attributes.String())
	put(t, folder, "cookbooks/forms/recipes/default.rb", "results = {}\n"+recipe.String())
	hook := writeHook(t, folder, map[string]any{"socket": server.Path(), "inputs": inputs, "outputs": outputs})
	config := put(t, folder, "solo.rb", fmt.Sprintf("cookbook_path [%q]\nfile_cache_path %q\nnode_path %q\nnode_name 'n'\nlog_level :error\nrequire %q\n",
		filepath.Join(folder, "cookbooks"), filepath.Join(folder, "cache"), filepath.Join(folder, "nodes"), hook))
	node := put(t, folder, "node.json", `{"run_list": ["recipe[forms]"]}`)
	out, err := exec.CommandContext(t.Context(), solo[0], append(solo[1:], "-c", config, "-j", node, "--no-color")...).CombinedOutput()
	if err != nil {
		t.Errorf("chef-solo: %v\n%s", err, out)
	}
	text, _ := os.ReadFile(results)
	got := map[string]string{}
	json.Unmarshal(text, &got)
	check := func(x string, r read) {
		if asked := a.asked(x); strings.Join(asked, " ") != r.waits || got[x] != strings.ReplaceAll(r.gives, "X", x) {
			t.Errorf("%s\n asked for %v, want %v\n gives %s, want %s", r.form, asked, r.waits, got[x], r.gives)
		}
	}
	for i, r := range reads {
		check(fmt.Sprintf("r%d", i), r)
	}
	for i, c := range copies {
		check(fmt.Sprintf("c%d", i), c)
	}
	// what did not come and may be missing leaves the cookbook's own
	if got["optional"] != `"own"` || got["copied"] != `"own"` {
		t.Errorf("optional %s, copied %s", got["optional"], got["copied"])
	}
	for i, w := range writes {
		x := fmt.Sprintf("w%d", i)
		if when, value := a.published(x); when != w.when || value != w.value || got[x] != "" {
			t.Errorf("%s\n published %q %s, want %q %s %s", w.form, when, value, w.when, w.value, got[x])
		}
	}
	for name, value := range map[string]string{"up": "true", "file": "2", "late": "5"} {
		if _, got := a.published(name); got != value {
			t.Errorf("%s was published as %q, want %s", name, got, value)
		}
	}
}

// asked are the inputs below a top-level key, or the one that is one, that were asked
// for before the key's mark, sorted. What is asked for once is not asked for again.
func (a *agent) asked(x string) []string {
	var names []string
	var since int
	for i, line := range a.log {
		if strings.HasPrefix(line, "get mark.") {
			if line == "get mark."+x+".y" {
				for _, line := range a.log[since:i] {
					if name, is := strings.CutPrefix(line, "get "); is {
						names = append(names, strings.TrimPrefix(name, x+"."))
					}
				}
			}
			since = i + 1
		}
	}
	slices.Sort(names)
	return names
}

// published is when an output was published, and as what.
func (a *agent) published(x string) (when, value string) {
	when = "now"
	for _, line := range a.log {
		switch {
		case line == "get mark."+x+".y":
			when = "compile"
		case strings.HasPrefix(line, "put "+x+" "):
			return when, strings.TrimPrefix(line, "put "+x+" ")
		case line == "put up true":
			when = "end"
		}
	}
	return "", ""
}
