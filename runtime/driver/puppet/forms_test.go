package puppet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// read is a form in which a manifest may read. Each row has inputs of its own: X is a
// text ("V"), X_map a map, and cX::y the parameter of the class cX.
type read struct{ form, waits, gives string }

// reads are the rows of the table in docs/puppet.md.
var reads = []read{
	// variables
	{"$X", "X", `"V"`},
	{"$::X", "X", `"V"`},
	{`"<${X}>"`, "X", `"<V>"`},
	{"$X_map['k'][0]", "X_map", `1`},
	{"$X_map", "X_map", `{"k":[1,2.5,true,null]}`},
	{"getvar('X')", "X", `"V"`},
	{"getvar('X_map.k.0')", "X_map", `1`},
	{"[1].map |$i| { $X }", "X", `["V"]`},
	{"[1].map |$X| { $X }", "", `[1]`},
	{"if false { $X } else { 'other' }", "", `"other"`},
	{"defined('$X')", "", `true`},
	{"defined('$::X')", "", `true`},
	{"defined('$X_none')", "", `false`},
	// facts
	{"$facts['X']", "X", `"V"`},
	{"$facts['X_map']['k']", "X_map", `[1,2.5,true,null]`},
	{"$facts.dig('X_map', 'k', 0)", "X_map", `1`},
	{"$facts.get('X')", "X", `"V"`},
	{"getvar('facts.X')", "X", `"V"`},
	{"'X' in $facts", "", `true`},
	{"$facts['kernel'].empty", "", `false`},
	// Hiera
	{"lookup('X')", "X", `"V"`},
	{"lookup('X', String, 'first', 'default')", "X", `"V"`},
	{"lookup('X_map.k.0')", "X_map", `1`},
	{"lookup('X_none', String, 'first', 'default')", "", `"default"`},
	{"lookup(['X_none', 'X'])", "X", `"V"`},
	{"hiera('X')", "X", `"V"`},
	{"hiera_hash('X_map')", "X_map", `{"own":{"a":1},"k":[1,2.5,true,null]}`},
	{"lookup('X_by_variable')", "X", `"<V>"`},
	{"lookup('X_by_lookup')", "X", `"<V>"`},
	{"lookup('X_by_fact')", "X", `"<V>"`},
	{"lookup('X_own')", "", `"own"`},
	{"lookup('X_map', Hash, 'deep')", "X_map", `{"own":{"a":1},"k":[1,2.5,true,null]}`},
	{"lookup('X_map', {'merge' => {'strategy' => 'deep', 'merge_hash_arrays' => true}})['k']", "X_map", `[1,2.5,true,null]`},
	{"lookup('X_map', Hash, 'hash')", "X_map", `{"own":{"a":1},"k":[1,2.5,true,null]}`},
	{"hiera_hash('X_map')['k']", "X_map", `[1,2.5,true,null]`},
	// parameters of classes
	{"cX::value()", "cX::y", `"Y"`},
	{"cX::other()", "", `"default"`},
	{"cX::variable()", "X", `"V"`},
	{"cX::defined_type()", "X", `"V"`},
	// templates
	{"inline_template('<%= @X %>')", "X", `"V"`},
	{"inline_template('<%= @none %>')", "", `""`},
	{"inline_template(\"<%= scope['X'] %>\")", "X", `"V"`},
	{"inline_template(\"<%= scope['::X'] %>\")", "X", `"V"`},
	{"inline_template(\"<%= scope.lookupvar('X') %>\")", "X", `"V"`},
	{"inline_template(\"<%= scope['facts']['X'] %>\")", "X", `"V"`},
	{"inline_template(\"<%= scope.call_function('lookup', ['X']) %>\")", "X", `"V"`},
	{"inline_template(\"<%= has_variable?('X') %>\")", "X", `"true"`},
	{"inline_template(\"<% @X_map['k'] << 3 %><%= @X_map['k'].size %>\")", "X_map", `"5"`},
	{"inline_epp('<%= $X %>')", "X", `"V"`},
	{"inline_epp('<%- | $X | -%><%= $X %>', 'X' => 'own')", "", `"own"`},
	{"inline_epp('<%= $facts[\"X\"] %>')", "X", `"V"`},
}

// Every form of reading, in one run. A mark that is published tells one row from the
// next.
func TestFormsOfReading(t *testing.T) {
	r := newTrial(t)
	var classes, manifest, data strings.Builder
	for i, row := range reads {
		x := fmt.Sprintf("x%d", i)
		r.input(x, `"V"`)
		r.input(x+"_map", `{"k":[1,2.5,true,null]}`)
		r.input("c"+x+"::y", `"Y"`)
		form := strings.ReplaceAll(row.form, "X", x)
		switch name, isClass := strings.CutPrefix(form, "c"+x+"::"); {
		case !isClass:
		case name == "value()":
			form = "$c" + x + "::y"
			fmt.Fprintf(&classes, "class c%s ($y = 'default') {}\n", x)
			fmt.Fprintf(&manifest, "$mark%d = true\ninclude c%s\n", i, x)
		case name == "other()":
			form = "$c" + x + "::z"
			fmt.Fprintf(&classes, "class c%s ($z = 'default') {}\ninclude c%s\n", x, x)
		case name == "variable()":
			form = "$c" + x + "::z"
			fmt.Fprintf(&classes, "class c%s { $z = $%s }\n", x, x)
			fmt.Fprintf(&manifest, "$mark%d = true\ninclude c%s\n", i, x)
		case name == "defined_type()":
			form = "'V'"
			fmt.Fprintf(&classes, "define c%s { notice(\"defined $%s\") }\n", x, x)
			fmt.Fprintf(&manifest, "$mark%d = true\nc%s { 'one': }\n", i, x)
		}
		if !strings.Contains(manifest.String(), fmt.Sprintf("$mark%d =", i)) {
			fmt.Fprintf(&manifest, "$mark%d = true\n", i)
		}
		fmt.Fprintf(&manifest, "$row%d = %s\n", i, form)
		fmt.Fprintf(&data, "%s_by_variable: \"<%%{%s}>\"\n%s_by_lookup: \"<%%{lookup('%s')}>\"\n%s_by_fact: \"<%%{facts.%s}>\"\n%s_own: own\n%s_map: {own: {a: 1}}\n", x, x, x, x, x, x, x, x)
		r.output("variable", fmt.Sprintf("mark%d", i), fmt.Sprintf("mark%d", i))
		r.output("variable", fmt.Sprintf("row%d", i), fmt.Sprintf("row%d", i))
	}
	r.source["hiera"] = map[string]any{"file": r.file(tarOf(t, map[string]string{
		"hiera.yaml": "version: 5\nhierarchy:\n  - {name: common, path: common.yaml}\n", "data/common.yaml": data.String(),
	}))}
	last := fmt.Sprintf("mark%d", len(reads))
	r.output("variable", last, last)
	r.manifest(classes.String() + manifest.String() + "$" + last + " = true\n")
	r.succeed()
	for i, row := range reads {
		x := fmt.Sprintf("x%d", i)
		start, end := slices.Index(r.events, fmt.Sprintf("put mark%d true", i)), slices.Index(r.events, fmt.Sprintf("put mark%d true", i+1))
		var asked []string
		for _, event := range r.events[start:end] {
			if name, is := strings.CutPrefix(event, "get "); is {
				asked = append(asked, name)
			}
		}
		want := strings.ReplaceAll(row.waits, "X", x)
		// the body of a defined type is evaluated when the manifest has been
		if strings.Contains(row.form, "defined_type") {
			if !slices.Contains(r.events, "get "+x) || slices.Contains(asked, x) {
				t.Errorf("%s: %q", row.form, r.events)
			}
			continue
		}
		if got := r.published(fmt.Sprintf("row%d", i)); strings.Join(asked, " ") != want || got != row.gives {
			t.Errorf("%s\n asked for %q, want %q\n gives %s, want %s", row.form, asked, want, got, row.gives)
		}
	}
}

// Those who read the whole of what holds inputs wait for all of them.
func TestReadersOfTheWhole(t *testing.T) {
	for _, form := range []string{
		"$facts.map |$name, $value| { $value } ",
		"$facts.keys",
		"$facts + { 'more' => 1 }",
		"inline_template('<%= scope.to_hash.size %>')",
	} {
		t.Run(form, func(t *testing.T) {
			r := newTrial(t)
			r.input("one", `"V"`)
			r.input("two", `"V"`)
			r.output("variable", "before", "before")
			r.output("variable", "after", "after")
			r.manifest("$before = 1\n$ignored = " + form + "\n$after = 1\n")
			r.succeed()
			for _, name := range []string{"one", "two"} {
				if !r.before("put before 1", "get "+name) || !r.before("get "+name, "put after 1") {
					t.Errorf("%q", r.events)
				}
			}
		})
	}
}

// write is a form in which a manifest may write its output X; when is "now", while the
// catalog is compiled, "applied" or "".
type write struct{ form, output, when, value string }

// writes are the rows of the table in docs/puppet.md; an output is a variable, or
// RESOURCE or FACT: and its name.
var writes = []write{
	{"$X = 'a'", "X", "now", `"a"`},
	{"$X = 1", "X", "now", `1`},
	{"$X = 1.5", "X", "now", `1.5`},
	{"$X = false", "X", "now", `false`},
	{"$X = undef", "X", "now", `null`},
	{"$X = { 'k' => [1, undef, { 'a' => 'ü' }] }", "X", "now", `{"k":[1,null,{"a":"ü"}]}`},
	{"[$Xa, $X] = [1, 2]", "X", "now", `2`},
	{"$X = Sensitive('hidden')", "X", "now", `"hidden"`},
	{"$X = SemVer('1.2.3')", "X", "now", `"1.2.3"`},
	{"if true { $X = 1 }", "X", "now", `1`},
	{"[1].each |$i| { $X = $i }", "X", "", ``},
	{"class cX { $o = 1 } include cX", "cX::o", "now", `1`},
	{"class cX ($o = 1) {} include cX", "cX::o", "now", `1`},
	{"class cX ($o = 1) {} class { 'cX': o => 2 }", "cX::o", "now", `2`},
	{"class cX { class inner { $o = 1 } include cX::inner } include cX", "cX::inner::o", "now", `1`},
	{"define dX { $X = 1 } dX { 'one': }", "X", "", ``},
	{"notify { 'X': }", "RESOURCE:Notify[X]", "applied", `true`},
	{"notify { 'X': message => 'x' }", "RESOURCE:notify[X]", "applied", `true`},
	{"file { 'fX': path => '/', ensure => directory }", "RESOURCE:File[/]", "applied", `true`},
	{"exec { '/bin/true': refreshonly => true }", "RESOURCE:Exec[/bin/true]", "applied", `true`},
	{"class cX { notify { 'X': } } include cX", "RESOURCE:Class[cX]", "applied", `true`},
	{"class cX { class inner { notify { 'X': } } contain cX::inner } include cX", "RESOURCE:Class[cX::inner]", "applied", `true`},
	{"define dX { notify { 'X': } } dX { 'one': }", "RESOURCE:DX[one]", "applied", `true`},
	{"notify { 'X': noop => true }", "RESOURCE:Notify[X]", "", ``},
	{"notify { 'X': tag => 'none' }", "RESOURCE:Notify[other]", "", ``},
	{"exec { '/bin/false X': }", "RESOURCE:Exec[/bin/false X]", "", ``},
	{"exec { '/bin/false X': } -> notify { 'X': }", "RESOURCE:Notify[X]", "", ``},
	{"class cX { exec { '/bin/false X': } } include cX", "RESOURCE:Class[cX]", "", ``},
	{"notify { 'X': } ~> exec { '/bin/false X': refreshonly => true }", "RESOURCE:Exec[/bin/false X]", "", ``},
}

// Every form of writing, in one run that fails at its end, as some rows want.
func TestFormsOfWriting(t *testing.T) {
	r := newTrial(t)
	var manifest strings.Builder
	for i, row := range writes {
		x := fmt.Sprintf("x%d", i)
		kind, what := "variable", strings.ReplaceAll(row.output, "X", x)
		if reference, is := strings.CutPrefix(what, "RESOURCE:"); is {
			kind, what = "resource", reference
		}
		r.output(kind, "row"+x, what)
		fmt.Fprintln(&manifest, strings.ReplaceAll(row.form, "X", x))
	}
	r.output("variable", "compiled", "compiled")
	manifest.WriteString("$compiled = true\n")
	r.manifest(manifest.String())
	exit, err := r.run()
	if err != nil || exit.Code != 6 {
		t.Fatalf("%v, %v\n%s\n%s", exit, err, r.stdout, r.stderr)
	}
	compiled := slices.Index(r.events, "put compiled true")
	for i, row := range writes {
		name := fmt.Sprintf("rowx%d", i)
		value, when := r.published(name), ""
		if at := slices.Index(r.events, "put "+name+" "+value); at >= 0 {
			when = "applied"
			if at < compiled {
				when = "now"
			}
		}
		if when != row.when || value != row.value {
			t.Errorf("%s: %s\n published %q %s, want %q %s", row.form, row.output, when, value, row.when, row.value)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", r.stdout, r.stderr)
	}
}
