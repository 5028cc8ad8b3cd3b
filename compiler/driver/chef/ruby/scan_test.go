package ruby_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/driver/chef/ruby"
)

// shown writes events as words: "read a.b", "(read a.b)" for one that need not
// happen, with "later" for one when a resource converges and "some time".
func shown(events []ruby.Event) string {
	var out []string
	for _, e := range events {
		text := [...]string{"read", "write", "whole", "resource", "include"}[e.Op]
		if e.Name != "" {
			text += " " + e.Name
		}
		if e.Path != nil {
			text += " " + strings.Join(e.Path, ".")
		}
		for what, is := range map[string]bool{"?": e.Presence, "+": e.Grows, "=": e.Scalar, "…": e.Compound, "waits": e.Waits} {
			if is {
				text += what
			}
		}
		text += [...]string{"", " later", " some time"}[e.Phase]
		if e.Perhaps {
			text = "(" + text + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestRecipes(t *testing.T) {
	for _, c := range []struct{ recipe, events string }{
		{`node['a']['b']`, "read a.b"},
		{`node["a"][:b]; x = node[:a]`, "read a.b, read a"},
		{`node.read('a', 'b'); node['a'].dig("b", :c); node['a'].fetch('b', 'c')`, "read a.b, read a.b.c, read a.b"},
		{`node['a'][key]`, "read a"},
		{`node['a'].key?('b')`, "read a?"},
		{`node['a'].each { |k, v| puts node['c'] }`, "read a, (read c)"},
		{`puts node.name, node.run_list, node.chef_environment`, ""},
		{`helper(node)`, "whole"},
		{`run_context.node['a']['b']; @run_context.node.read('c')`, "read a.b, read c"},
		{`node.run_context.node['a']; Chef.node['b']; self.node['c']; new_resource.run_context&.node['d']`, "read a, read b, read c, read d"},
		{`run_context.node.default['a'] = 1; helper(run_context.node); puts run_context.node.name`, "write a=, whole"},
		{`xml.node['a']; other.node.default['b'] = 1; run_context.nodes['c']`, ""},
		{`# node['a']`, ""},
		{"=begin\nnode['a']\n=end\nnode['b']", "read b"},
		{"node['b']\n__END__\nnode['a']", "read b"},
		{`x = 'node["a"]'`, ""},
		{`x = "#{node['a']["b"]} and #{node[:c]}"`, "read a.b, read c"},
		{"x = <<~EOS\n  #{node['a']}\nEOS\nnode['b']", "read a, read b"},
		{"x = <<-'EOS'\n  #{node['a']}\n  EOS\nnode['b']", "read b"},
		{`x = %w{node['a']}; y = %Q(#{node['b']})`, "read b"},
		{`x = y / node['a'] / 2; z = /node['b']/`, "read a"},

		{`node.default['a']['b'] = 1`, "write a.b="},
		{`node.override['a'] = "x #{node['c']}"`, "read c, write a="},
		{`node.default['a'] = SecureRandom.hex(16)`, "write a"},
		{`node.default['a'] = "a b".split`, "write a"},
		{`node.default['a'] = [1]`, "write a…"},
		{`node.default['a'] = %w(x y)`, "write a…"},
		{`node.default['a'] = {}`, "write a…"},
		{`node.default['a'] = lazy { node['b'] }`, "read b later, write a…"},
		{`node.default['a'] << 1; node.normal['b'].push(2)`, "write a+, write b+"},
		{`node.default['a'] ||= 1`, "(write a)"},
		{`node.default['a'][x] = 1`, "(write a+)"},
		{`node.write(:default, 'a', 'b', 1)`, "write a.b+"},
		{`node.default['a'] = node['b'] || 2`, "read b, write a"},

		{`node['b'] if node['a']`, "read a, (read b)"},
		{`node.default['x'] = 1 unless node['a'] == 2`, "read a, (write x=)"},
		{"if node['a']\n  node['b']\nelsif node['c']\n  node['d']\nelse\n  node['e']\nend\nnode['f']", "read a, (read b), (read c), (read d), (read e), read f"},
		{"case node['a']\nwhen 1 then node['b']\nend", "read a, (read b)"},
		{`node['a'] && node['b'] || node['c']; node['d']`, "read a, (read b), (read c), read d"},
		{`x = node['a'] ? node['b'] : node['c']`, "read a, (read b), (read c)"},
		{`f(node['a'] || 1, node['b'])`, "read a, read b"},
		{"while node['a'] do\n  node['b']\nend\nnode['c']", "read a, (read b), read c"},
		{"x = if y\n  node['a']\nelse\n  1\nend\nnode['b']", "(read a), read b"},
		{"begin\n  node['a']\nrescue => e\n  node['b']\nend", "read a, (read b)"},
		{"return if x\nnode['a']", "(read a)"},
		{"[1].each do |x|\n  next if x\nend\nnode['a']", "read a"},
		{"def f(x)\n  node['a']\nend\nnode['b']", "(read a some time), read b"},
		{"x = ->(y) { node['a'] }\nz = proc { node['b'] }\nnode['c']", "(read a some time), (read b some time), read c"},
		{"def f(x) = node['a']\nnode['b']", "read a, read b"},

		{"template '/x' do\n  source 'y.erb'\n  variables a: node['a']\nend", "resource template[/x], read a"},
		{"template '/x' do\n  variables(lazy { { db: node['a'] } })\n  mode node['b']\nend", "resource template[/x], read a later, read b"},
		{"file ::File.join(node['a'], 'x') do\n  content lazy { node['b'] }\n  only_if { node['c'] }\n  not_if do\n    node['d']\n  end\nend\nnode['e']",
			"resource, read a, read b later, read c later, read d later, read e"},
		{"ruby_block 'x' do\n  block do\n    node.default['a'] = node['b'] if node['c']\n  end\nend", "resource ruby_block[x], read c later, (read b later), (write a later)"},
		{"service 'x' do\n  action :nothing\nend\nservice 'y' do\n  action [:enable, :start]\nend", "resource service[x]waits, resource service[y]"},
		{"log 'a' do\n  action x\nend\nlog 'b' do\n  action [:nothing]\nend\nlog 'c' do\n  action 'write'\nend", "resource log[a]waits, resource log[b]waits, resource log[c]"},
		{"service 'x' do\n  action :start\nend\nlog 'done'", "resource service[x], resource log[done]"},
		{"package node['a'] do\n  content lazy { node['b'] }\nend.run_action(:install)", "(resource some time), read a, (read b some time)"},
		{"%w(a b).each do |x|\n  file x do\n    content node['c']\n  end\nend", "(resource), (read c)"},
		{"search(:node, 'x') do |n|\n  node['a']\nend", "(read a)"},
		{"file '/x' do\n  content node['a']\nend if node['b']", "read b, (resource file[/x]), (read a)"},
		{`include_recipe 'a::b'; include_recipe x`, "include a::b, include"},
		{"include_recipe('a') if node['x']", "read x, (include a)"},
	} {
		events, ok := ruby.Recipe(c.recipe)
		if got := shown(events); got != c.events || !ok {
			t.Errorf("%s\n gives %s\n want  %s", c.recipe, got, c.events)
		}
	}
}

func TestOtherTexts(t *testing.T) {
	events, _ := ruby.Attributes("default['a']['b'] = 1\nnormal['c'] = node['d']\ncase node['e']\nwhen 1\n  override[:f] = []\nend\nforce_default['g'] = 'x'")
	if got := shown(events); got != "write a.b=, read d, write c, read e, (write f…), write g=" {
		t.Error(got)
	}
	events, _ = ruby.Library("module X\n  def self.y(node)\n    node['a']\n  end\nend\naction :z do\n  node.default['b'] = 1\nend")
	if got := shown(events); got != "whole some time, (read a some time), (write b= some time)" && got != "(whole some time), (read a some time), (write b= some time)" {
		t.Error(got)
	}
	events, _ = ruby.Template("é <%= node['a'] -%> text node['x']\n<% if @node['b'] -%>\n<%= node['c'] %><% end %>\n<%# node['d'] %><%% node['e'] %>\n<%= \"#{node['f']}\" %>")
	if got := shown(events); got != "read a later, read b later, (read c later), read f later" {
		t.Error(got)
	}
}

// Where an event is, in the text.
func TestPlaces(t *testing.T) {
	text := "x = 1\ny = \"a #{node['a']['b']}\"\n"
	events, _ := ruby.Recipe(text)
	if got := text[events[0].From:events[0].To]; got != "node['a']['b']" {
		t.Error(got)
	}
}

func TestHostileTexts(t *testing.T) {
	for _, text := range []string{strings.Repeat("(", 100_000), strings.Repeat("if x\n", 100_000), strings.Repeat(`"#{`, 100_000), strings.Repeat("\n", 500_000),
		strings.Repeat("a? b ", 100_000), strings.Repeat("x {} ", 100_000), strings.Repeat("node.default['a'] = ", 10_000), strings.Repeat("end ", 100_000),
		strings.Repeat("<<~A ", 50_000),
		strings.Repeat("node['a'] do end ", 20_000), strings.Repeat("x 'y' { node['a'] if ", 20_000), "\"", "%", "<<~", "node[", "node.default", ":", "%w", strings.Repeat("x", 1<<20)} {
		ruby.Recipe(text)
		ruby.Template("<%" + text)
	}
}

func FuzzRecipe(f *testing.F) {
	f.Add("template '/x' do\n  variables(lazy { node['a'] })\nend if \"#{node[:b]}\" == <<~X\n y\nX\n")
	f.Add("node.default['a'] = %w(x) unless y ? 1 : 2; def f(x) = 3; ->(a) { b }")
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(string) ([]ruby.Event, bool){ruby.Recipe, ruby.Attributes, ruby.Library, ruby.Template} {
			events, _ := read(text)
			for _, e := range events {
				if e.From < 0 || e.To < e.From || e.To > len(text) || e.Resource >= len(events) {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}
