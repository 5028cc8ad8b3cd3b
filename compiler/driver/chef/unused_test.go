package chef_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// unused are the inputs that are said to be unread, and the outputs to be unwritten,
// with what may have been meant: "in.a out.x(y)".
func unused(t *testing.T, inputs, outputs string, given map[string]any, files map[string]string) string {
	t.Helper()
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text)}
	}
	role := driver.Role{Name: "web", Source: dict(given), Locate: func(...string) source.Place { return source.Place{} }, Reader: beside{folder}}
	for _, name := range strings.Fields(inputs) {
		role.Inputs = append(role.Inputs, &program.Input{Name: name})
	}
	for _, name := range strings.Fields(outputs) {
		role.Outputs = append(role.Outputs, &program.Output{Name: name})
	}
	var diags source.Diagnostics
	meaning := chef.Driver.Lower(role, &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0])
	}
	if meaning.Sequence == nil {
		return "unknown"
	}
	var found []string
	note := func(name string, of map[string]string) {
		if meant, is := of[name]; is && meant != "" {
			found = append(found, name+"("+meant+")")
		} else if is {
			found = append(found, name)
		}
	}
	for _, in := range role.Inputs {
		note(in.Name, meaning.Sequence.Unread)
	}
	for _, o := range role.Outputs {
		note(o.Name, meaning.Sequence.Unwritten)
	}
	return strings.Join(found, " ")
}

// What no file mentions is unused; what a file may come to by other ways than its name
// is not said to be.
func TestUnused(t *testing.T) {
	for _, c := range []struct{ recipe, unused string }{
		{"log node['web']['database']\nnode.default['web']['port'] = 1", "web.databse(database) web.prot(port)"},
		{"log node['web']['databse']\nnode.default['web']['prot'] = 1", ""},
		{"log 'x'", "web.databse web.prot"},
		{"%w{databse prot}.each { |k| node.default[k] = 1 }", ""},
		// reads of what is around it, and of everything
		{"node['web'].each { |k, v| log v }\nnode.default['web']['port'] = 1", "web.prot(port)"},
		{"log node['web'][key]", "web.prot"},
		{"helper(node)", ""},
		{"log run_context.node['x']", ""},
		{"x = node['web']", "web.prot"},
		// writes of what is around it
		{"log node['web']['database']\nnode.default['web'] = f()", "web.databse(database)"},
		{"node.default['web'][key] = 1", "web.databse"},
		{"node.default.merge!(f())", "web.databse"},
		{"levels = [node.default]", ""},
		{"node.consume_attributes(f())", ""},
	} {
		files := map[string]string{"web/metadata.rb": "name 'web'", "web/recipes/default.rb": c.recipe}
		if got := unused(t, "web.databse", "web.prot other.x docker.x", map[string]any{"cookbooks": "books"}, files); got != c.unused {
			t.Errorf("%s\n gives %s\n want  %s", c.recipe, got, c.unused)
		}
	}
}

// Every file of every cookbook counts, and what the source itself says.
func TestUnusedAnywhere(t *testing.T) {
	for name, text := range map[string]string{
		"web/libraries/x.rb": "def x\n  node['web']['db']\nend", "web/templates/page.erb": "<%= @node['web']['db'] %>", "web/recipes/never.rb": "node['web'].to_h",
		"web/attributes/default.rb": "default['x'] = read('web', key)", "web/README.md": "the key db", "web/files/db": "",
		"needed/libraries/x.rb": "db",
	} {
		files := map[string]string{"web/metadata.rb": "name 'web'\ndepends 'needed'", "web/recipes/default.rb": "log 'x'", "needed/metadata.rb": "name 'needed'",
			"other/metadata.rb": "name 'other'", "other/recipes/default.rb": "log node['web']['db']\nx = run_context.node"}
		if got := unused(t, "web.db", "", map[string]any{"cookbooks": "books"}, files); got != "web.db" {
			t.Fatal(got)
		}
		files[name] = text
		if got := unused(t, "web.db", "", map[string]any{"cookbooks": "books"}, files); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	files := map[string]string{"web/metadata.rb": "name 'web'", "web/recipes/default.rb": "log 'x'"}
	if got := unused(t, "", "web.db", map[string]any{"cookbooks": "books", "attributes": `{"web": {"db": 1}}`}, files); got != "" {
		t.Error(got)
	}
}

// Comments and texts are not code; where code gets at the node by ways of its own it is
// said why nothing was checked.
func TestUncheckedIsSaid(t *testing.T) {
	for _, c := range []struct{ file, text, unchecked string }{
		{"recipes/default.rb", "# returns a Chef::Node object\nlog 'Chef::Node run_context.node'\nlog \"run_context.node #{1}\" # instance_variable_get", ""},
		{"recipes/default.rb", "=begin\nChef::Node\n=end\nlog <<~TEXT\n  run_context.node\nTEXT\nx = %q(Chef::Node)\ny = /.node/", ""},
		{"templates/x.erb", "run_context.node <%# Chef::Node %> <%= 1 # Chef::Node %>", ""},
		{"attributes/default.rb", "# what the others read from it: self\ndefault['x'] = 'read it'", ""},
		{"recipes/default.rb", "log 'x'\nlog \"a #{run_context.node['x']}\"", "books/web/recipes/default.rb:2: `.node` may read or write any key of the node"},
		{"libraries/x.rb", "\n\nChef::Node.new", "books/web/libraries/x.rb:3: `Chef::Node` may read or write any key of the node"},
		{"templates/x.erb", "<p>\n<%= run_context.node %>", "books/web/templates/x.erb:2: `.node` may read or write any key of the node"},
		{"attributes/default.rb", "default['x'] = read('web', key)", "books/web/attributes/default.rb:1: `read` may read or write any key of the node"},
		{"recipes/default.rb", "log 'x", "books/web/recipes/default.rb: this file cannot be analysed"},
		{"recipes/default.rb", "include_recipe name", "not all of its cookbooks can be analysed"},
	} {
		folder := fstest.MapFS{"web/metadata.rb": {Data: []byte("name 'web'")}, "web/recipes/default.rb": {Data: []byte("log 'x'")}}
		folder["web/"+c.file] = &fstest.MapFile{Data: []byte(c.text)}
		role := driver.Role{Name: "web", Source: dict(map[string]any{"cookbooks": "books"}), Locate: func(...string) source.Place { return source.Place{} }, Reader: beside{folder},
			Inputs: []*program.Input{{Name: "web.db"}}}
		var diags source.Diagnostics
		meaning := chef.Driver.Lower(role, &diags)
		if meaning.Unchecked != c.unchecked {
			t.Errorf("%s\n gives %q\n want  %q", c.text, meaning.Unchecked, c.unchecked)
		}
		if c.unchecked == "" && len(meaning.Sequence.Unread) != 1 {
			t.Errorf("%s: web.db is not said to be unread", c.text)
		}
	}
}

// formRow is a form of chef.md's tables, and what it waits for or when it publishes.
var formRow = regexp.MustCompile("(?m)^\\| `(.+)` \\| ([^|]+) \\| [^|]+ \\|$")

// No form in which a recipe reads or writes, of those that the interceptor is tested
// with, is taken for none. Names that stand in no text are the hard case: w and z are
// read by those that read the whole.
func TestNoFormIsTakenForNone(t *testing.T) {
	page, err := os.ReadFile("../../../docs/chef.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := formRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 90 {
		t.Fatalf("the page has %d forms", len(rows))
	}
	for _, row := range rows {
		form := strings.ReplaceAll(row[1], `\|`, "|")
		files := map[string]string{"X/metadata.rb": "name 'X'", "X/recipes/default.rb": "x = " + form + "\n"}
		found := strings.Fields(unused(t, "X.y X.w X.in.z", "X.o", map[string]any{"cookbooks": "books", "run_list": "X"}, files))
		for _, name := range found {
			plain, _, _ := strings.Cut(strings.TrimPrefix(name, "X."), "(")
			read := strings.Contains(" "+strings.ReplaceAll(row[2], "`", "")+" ", " "+plain+" ")
			written := plain == "o" && regexp.MustCompile(`^(at once|after|at the end)`).MatchString(row[2])
			if read || written {
				t.Errorf("%s: %s is said to be unused", form, name)
			}
		}
	}
}
