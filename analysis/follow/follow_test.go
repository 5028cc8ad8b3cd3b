package follow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// found compiles servers, one per line (`d: o1 o2 <- b.x! c.y k`: outputs, and what its role
// reads, where k, l and the hidden s are parameters; `!` means that it follows; `d1` is not
// idempotent), and describes what their roles follow and carry.
func found(t *testing.T, servers string) (string, string) {
	t.Helper()
	text := "heat_template_version: 2018-08-31\nparameters: {k: {type: string}, l: {type: string}, s: {type: string, hidden: true}}\nresources:\n"
	for line := range strings.Lines(servers) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		outputs, reads, _ := strings.Cut(rest, "<-")
		name, once := strings.CutSuffix(name, "1")
		text += fmt.Sprintf("  %s:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata: {hotc: {roles: [{name: r, driver: script, idempotent: %v, source: x, outputs: {", name, !once)
		for o := range strings.FieldsSeq(outputs) {
			text += o + ": {}, "
		}
		text += "}, inputs: {"
		for i, in := range strings.Fields(reads) {
			cell, watch := strings.CutSuffix(in, "!")
			server, attribute, is := strings.Cut(cell, ".")
			if !is {
				text += fmt.Sprintf("i%d: {value: {get_param: %s}, watch: %v}, ", i, cell, watch)
				continue
			}
			text += fmt.Sprintf("i%d: {value: {get_attr: [%s, %s]}, watch: %v}, ", i, server, attribute, watch)
		}
		text += "}}]}}\n"
	}
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags)
	p := program.New(template, &program.Supplied{}, roles.FrontEnd([]driver.Driver{script.Driver}))
	p.Lower(&diags)
	a := binding.Analyse(p, binding.Options{}, &diags)
	if diags.Failed() {
		t.Fatalf("%v\n%s", diags.All()[0].Message, text)
	}
	all, _ := follow.Find(p, a, follow.OfHeat(p, a), &diags)
	names := map[string]string{} // of parameters, by key
	for _, in := range inputsOf(p) {
		if e := a.Inputs[in].Expr; e.Ref().Kind == hot.ToParameter {
			names[binding.Key(e)] = e.Ref().Name
		}
	}
	named := func(cell contract.CellName) string {
		if key, is := cell.HeatKey(); is {
			return "/" + names[key]
		}
		return string(cell)
	}
	var out, messages []string
	for _, s := range p.Servers {
		if r := all[s.Roles[0]]; r != nil {
			line := string(s.Path) + ":"
			for _, c := range r.Follows {
				mark := ""
				if c.Watch {
					mark = "!"
				}
				line += fmt.Sprintf(" %s%s%v", named(c.Cell), mark, c.Sources)
			}
			out = append(out, line+fmt.Sprintf(" carries %v", r.Carries))
		}
	}
	for _, d := range diags.All() {
		messages = append(messages, string(d.Code)+" "+d.Message)
	}
	return strings.Join(out, "\n"), strings.Join(messages, "\n")
}

func inputsOf(p *program.Program) (all []*program.Input) {
	for _, s := range p.Servers {
		all = append(all, s.Roles[0].Inputs...)
	}
	return all
}

func TestFollows(t *testing.T) {
	for _, c := range []struct{ name, servers, want, diags string }{
		{"nothing is followed", "a: x\nb: <- a.x", "", ""},
		{"a chain needs no stamps", "a: x\nb: y <- a.x!\nc: <- b.y!", "b: a.r:x![] carries []\nc: b.r:y![] carries []", ""},
		{"a diamond", "a: x\nb: y <- a.x!\nc: z <- a.x!\nd: <- b.y! c.z!",
			"a: carries [a.r]\nb: a.r:x![] carries [a.r]\nc: a.r:x![] carries [a.r]\nd: b.r:y![a.r] c.r:z![a.r] carries []", ""},
		{"an unfollowed path does not count", "a: x\nb: y <- a.x!\nc: z <- a.x\nd: <- b.y! c.z!",
			"b: a.r:x![] carries []\nd: b.r:y![] c.r:z![] carries []", ""},
		{"two outputs of one role, one of them followed", "a: x y z\nb: <- a.x! a.y",
			"a: carries [a.r]\nb: a.r:x![a.r] a.r:y[a.r] carries []", ""},
		{"nothing is carried after the paths have met", "a: x y\nb: z <- a.x! a.y!\nc: <- b.z!",
			"a: carries [a.r]\nb: a.r:x![a.r] a.r:y![a.r] carries []\nc: b.r:z![] carries []", ""},
		{"a short path and a long one", "a: x\nb: y <- a.x!\nc: z <- b.y!\nd: <- a.x! c.z!",
			"a: carries [a.r]\nb: a.r:x![] carries [a.r]\nc: b.r:y![] carries [a.r]\nd: a.r:x![a.r] c.r:z![a.r] carries []", ""},
		{"a cycle", "a: x <- c.z!\nb: y <- a.x!\nc: z <- b.y!", "", "H510 roles follow each other in a cycle and would run forever: a.r → c.r → b.r → a.r"},
		{"values from Heat are followed without watch", "a: <- k l", "a: /k![] /l![] carries []", ""},
		{"with watch, too", "a: <- k!", "a: /k![] carries []", ""},
		{"except secrets", "a: <- s k", "a: /k![] carries []",
			"H312 the hidden parameter \"s\" reaches input \"i0\" through the server's user_data, which any process there can read from the metadata service"},
		{"a role that cannot follow records it", "a1: x <- k\nb: <- a.x! k", "a: /k[] carries []\nb: a.r:x![] /k![] carries []", ""},
		{"a reader of a role that runs for it waits for that role", "a: x <- k\nb: <- a.x l",
			"a: /k![] carries [/heat]\nb: a.r:x[/heat] /l![/heat] carries []", ""},
		{"roles that read each other do not wait", "a: x <- b.y k\nb: y <- a.x k\nc: <- b.y k",
			"a: /k![/heat] carries []\nb: /k![/heat] carries [/heat]\nc: b.r:y[/heat] /k![/heat] carries []", ""},
		{"a cycle of reads that is not followed all around is allowed", "a: x <- b.y\nb: y <- a.x!", "b: a.r:x![] carries []", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, diags := found(t, c.servers)
			if got != c.want || diags != c.diags {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", got, diags, c.want, c.diags)
			}
		})
	}
}

// Each cell of a followed group belongs to a member; other cells do not.
func TestMembersOfGroups(t *testing.T) {
	text := `heat_template_version: 2018-08-31
parameters: {size: {type: number, constraints: [range: {min: 0, max: 2}]}}
resources:
  db:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: x, outputs: {url: {}}}]}}
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def:
        type: OS::Nova::Server
        properties: {image: i, flavor: f}
        metadata: {hotc: {roles: [{name: r, driver: script, source: x, idempotent: true, outputs: {url: {}}, inputs: {db: {value: {get_attr: [db, url]}, watch: true}}}]}}
  lb:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: x, idempotent: true, inputs: {
      all: {value: {list_join: [',', {get_attr: [web, url]}]}, watch: true, at_least: 1},
      ips: {value: {get_attr: [web, first_address]}, watch: true},
      later: {get_attr: [web, url]},
      db: {value: {get_attr: [db, url]}, watch: true}}}]}}
`
	all, diags := followed(t, text)
	if diags.Failed() {
		t.Fatal(diags.All()[0].Message)
	}
	var got []string
	for _, f := range all["lb.r"].Follows {
		line := fmt.Sprintf("%s %v %v", f.Cell, f.Watch, f.Sources)
		if f.Member != nil {
			line += fmt.Sprint(" ", *f.Member)
		}
		got = append(got, line)
	}
	want := []string{"web/0.r:url true [db.r] {web 0 web/0}", "web/1.r:url true [db.r] {web 1 web/1}",
		"web/0:first_address true [] {web 0 web/0}", "web/1:first_address true [] {web 1 web/1}", "db.r:url true [db.r]"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("it follows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct{ change, to, want string }{
		{"watch: true, at_least: 1", "at_least: 1", "does not follow a group's list"},
		{"[db, url]}, watch: true}}}]}}\n", "[db, url]}, watch: true, at_least: 1}}}]}}\n", "does not follow a group's list"},
		{"inputs: {db: {value: {get_attr: [db, url]}", "inputs: {up: {value: {get_attr: [lb, up]}", "web/0.r → lb.r → web/0.r"},
	} {
		changed := strings.Replace(text, c.change, c.to, 1)
		changed = strings.Replace(changed, "idempotent: true, inputs: {\n", "idempotent: true, outputs: {up: {}}, inputs: {\n", 1)
		_, diags := followed(t, changed)
		var messages []string
		for _, d := range diags.All() {
			messages = append(messages, d.Message)
		}
		if !strings.Contains(strings.Join(messages, "\n"), c.want) {
			t.Errorf("%q: %q, want %q", c.to, messages, c.want)
		}
	}
}

// Parameters decide which servers exist, by conditions, and which members, by counts.
func TestDecidedBy(t *testing.T) {
	p, a, diags := analysed(t, `heat_template_version: 2018-08-31
parameters: {k: {type: string}, size: {type: number, constraints: [range: {max: 2}]}, other: {type: string}}
conditions: {c: {equals: [{get_param: k}, x]}}
resources:
  db:
    type: OS::Nova::Server
    condition: c
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: x, outputs: {x: {}}}]}}
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def:
        type: OS::Nova::Server
        properties: {image: i, flavor: f}
        metadata: {hotc: {roles: [{name: r, driver: script, source: x, outputs: {url: {}}}]}}
  lb:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: x, idempotent: true, inputs: {all: {value: {get_attr: [web, url]}, watch: true}, o: {get_param: other}}}]}}
`)
	if diags.Failed() {
		t.Fatal(diags.All()[0].Message)
	}
	conditions := map[string]string{}
	for _, s := range p.Servers {
		for _, x := range a.ExistenceConditions[s.Path] {
			conditions[string(s.Path)] = x.Decision.Key
		}
	}
	for parameter, want := range map[string]string{"k": "a condition", "size": "members", "other": "", "unknown": ""} {
		var got []string
		for _, d := range a.Decisions {
			if _, is := follow.DecidedBy(p, a, []string{parameter})[d.Key]; is {
				got = append(got, map[bool]string{true: "a condition", false: "members"}[d.Key == conditions["db"]])
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s decides %q, want %q", parameter, text, want)
		}
	}
	if all := follow.DecidedBy(p, a, []string{"k", "size"}); len(all) != 2 {
		t.Errorf("both decide %v", all)
	}
}

// followed is what the roles of a template follow, by their keys.
func followed(t *testing.T, text string) (map[string]*follow.Role, *source.Diagnostics) {
	t.Helper()
	p, a, diags := analysed(t, text)
	found, _ := follow.Find(p, a, follow.OfHeat(p, a), diags)
	all := map[string]*follow.Role{}
	for r, x := range found {
		all[string(r.Key())] = x
	}
	return all, diags
}

func analysed(t *testing.T, text string) (*program.Program, *binding.Analysis, *source.Diagnostics) {
	t.Helper()
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags)
	p := program.New(template, &program.Supplied{}, roles.FrontEnd([]driver.Driver{script.Driver}))
	nesting.Load(p, nesting.Options{Environment: &environment.Environment{}, MaxDepth: 5, MaxResources: 1000}, &diags)
	p.Lower(&diags)
	return p, binding.Analyse(p, binding.Options{}, &diags), &diags
}

// A role's reads from a server whose existence Heat decides are followed together with the
// decision, with or without watch; without a relay the decision is not.
func TestServersBehindConditions(t *testing.T) {
	const text = `heat_template_version: 2018-08-31
parameters: {k: {type: string}}
conditions: {c: {equals: [{get_param: k}, x]}}
resources:
  a:
    type: OS::Nova::Server
    condition: c
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, source: x, outputs: {x: {}, y: {}}}]}}
  d:
    type: OS::Nova::Server
    properties: {image: i, flavor: f}
    metadata: {hotc: {roles: [{name: r, driver: script, idempotent: true, source: x, inputs: {
      i: {value: {get_attr: [a, x]}, watch: true, default: n}, j: {value: {list_join: [",", [{get_attr: [a, y]}]]}, default: n}}}]}}
`
	var diags source.Diagnostics
	p := program.New(hot.ParseTemplate(source.NewFile("t.yaml", []byte(text)), &diags), &program.Supplied{}, roles.FrontEnd([]driver.Driver{script.Driver}))
	p.Lower(&diags)
	a := binding.Analyse(p, binding.Options{}, &diags)
	if diags.Failed() {
		t.Fatal(diags.All()[0].Message)
	}
	all, _ := follow.Find(p, a, follow.OfHeat(p, a), &diags)
	reader := all[p.Servers[1].Roles[0]]
	told := func(follows []contract.Follow) (all []string) {
		for _, f := range follows {
			what := string(f.Cell)
			if _, heats := f.Cell.HeatKey(); heats {
				what = "/heat"
			}
			if f.Perhaps != nil {
				what = fmt.Sprintf("%s of %s if %d", what, f.Perhaps.Server, len(f.Perhaps.If))
				for _, cell := range f.Perhaps.If {
					if !slices.ContainsFunc(follows, func(f contract.Follow) bool { return f.Cell == cell }) {
						t.Errorf("%s depends on %s, which is not followed", f.Cell, cell)
					}
				}
			}
			all = append(all, fmt.Sprintf("%s watch %v optional %v %v", what, f.Watch, f.Optional, f.Sources))
		}
		return all
	}
	with := []string{"/heat watch true optional true []", "a.r:x of a if 1 watch true optional true [a.r]", "a.r:y of a if 1 watch false optional true [a.r]"}
	if got := told(reader.Follows); !slices.Equal(got, with) {
		t.Errorf("it follows %q, want %q", got, with)
	}
	without := []string{"a.r:x watch true optional true [a.r]", "a.r:y watch false optional true [a.r]"}
	if got := told(reader.WithoutHeat().Follows); !slices.Equal(got, without) {
		t.Errorf("without a relay it follows %q, want %q", got, without)
	}
	if writer := all[p.Servers[0].Roles[0]]; !slices.Equal(writer.Carries, []contract.Source{"a.r"}) || len(writer.Follows) != 0 {
		t.Errorf("the writer is %+v", writer)
	}
}
