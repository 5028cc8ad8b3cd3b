package emit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// A random deployment whose conditions and sizes are left to Heat, and what it must come
// to: who is there, and what each of its roles' inputs is.

// shape is a template of it.
type shape struct {
	file    string
	parts   []*shapePart
	outputs []shapeOutput
}

// shapePart is a resource: a server or a nested template, alone or in a group.
type shapePart struct {
	name      string
	condition string // the parameter; "" is none
	group     bool
	count     string // the parameter, or a number
	nested    *shape
	arguments map[string]string // of the nested template: a parameter, or a value
	reads     []shapeRead       // of the role
}

// shapeRead is what an input or an output reads, of an earlier part.
type shapeRead struct {
	part *shapePart
	of   string // the attribute
}

type shapeOutput struct {
	name string
	shapeRead
}

type shaper struct {
	*rand.Rand
}

func (s *shaper) pick(of ...string) string { return of[s.IntN(len(of))] }

// shape makes a template; the later ones of the pool may nest the earlier.
func (s *shaper) shape(file string, nests []*shape) *shape {
	out := &shape{file: file}
	for i := range 2 + s.IntN(3) {
		p := &shapePart{name: fmt.Sprintf("p%d", i), condition: s.pick("", "c0", "c1"), group: s.IntN(2) == 0, count: s.pick("n0", "n0", "1", "2")}
		if len(nests) > 0 && s.IntN(2) == 0 {
			p.nested = nests[s.IntN(len(nests))]
			p.group = p.group && file == "main.yaml" // Heat takes five levels
			p.arguments = map[string]string{"c0": s.pick("c0", "c1", "true"), "c1": s.pick("c0", "c1"), "n0": s.pick("n0", "n0", "1")}
		} else if i > 0 {
			for range s.IntN(3) {
				p.reads = append(p.reads, s.read(out.parts))
			}
		}
		out.parts = append(out.parts, p)
	}
	if len(nests) > 0 {
		last := &shapePart{name: "last"}
		for range 4 {
			last.reads = append(last.reads, s.read(out.parts))
		}
		out.parts = append(out.parts, last)
	}
	for i := range 3 {
		out.outputs = append(out.outputs, shapeOutput{fmt.Sprintf("o%d", i), s.read(out.parts)})
	}
	return out
}

func (s *shaper) read(parts []*shapePart) shapeRead {
	p := parts[s.IntN(len(parts))]
	if p.nested == nil {
		return shapeRead{p, "x"}
	}
	return shapeRead{p, p.nested.outputs[s.IntN(len(p.nested.outputs))].name}
}

func reference(name string) string {
	if name[0] == 'c' || name[0] == 'n' {
		return "{get_param: " + name + "}"
	}
	return name
}

// text writes the template.
func (x *shape) text(root bool) string {
	var b strings.Builder
	b.WriteString(`heat_template_version: 2018-08-31
parameters:
  c0: {type: boolean, default: true}
  c1: {type: boolean, default: true}
  n0: {type: number, default: 1, constraints: [{range: {min: 0, max: 2}}]}
conditions: {c0: {get_param: c0}, c1: {get_param: c1}}
resources:
`)
	for _, p := range x.parts {
		definition := fmt.Sprintf("type: OS::Nova::Server, properties: {image: i, flavor: f}, metadata: {hotc: {roles: [{name: r, driver: script, source: 'x=1', outputs: {x: {type: string}}, inputs: {%s}}]}}", p.inputs())
		if p.nested != nil {
			definition = p.handing()
		}
		if p.group {
			definition = fmt.Sprintf("type: OS::Heat::ResourceGroup, properties: {count: %s, resource_def: {%s}}", reference(p.count), definition)
		}
		if p.condition != "" {
			definition += ", condition: " + p.condition
		}
		fmt.Fprintf(&b, "  %s: {%s}\n", p.name, definition)
	}
	if root {
		return b.String()
	}
	b.WriteString("outputs:\n")
	for _, o := range x.outputs {
		fmt.Fprintf(&b, "  %s: {value: %s}\n", o.name, o.text())
	}
	return b.String()
}

// handing is the text of a part that is made of other templates.
func (p *shapePart) handing() string {
	arguments := fmt.Sprintf("{c0: %s, c1: %s, n0: %s}", reference(p.arguments["c0"]), reference(p.arguments["c1"]), reference(p.arguments["n0"]))
	return fmt.Sprintf("type: %s, properties: %s", p.nested.file, arguments)
}

func (r shapeRead) text() string {
	return fmt.Sprintf("{get_attr: [%s, %s]}", r.part.name, r.of)
}

func (p *shapePart) inputs() string {
	var list []string
	for i, r := range p.reads {
		list = append(list, fmt.Sprintf("i%d: {value: %s, optional: true}", i, r.text()))
	}
	return strings.Join(list, ", ")
}

// arguments are the values of a use's parameters.
type shapeArguments map[string]any

func (a shapeArguments) value(name string) any {
	switch name {
	case "true":
		return true
	case "1", "2":
		return int(name[0] - '0')
	}
	return a[name]
}

// expectation is what a deployment must come to: each server's inputs.
type expectation map[string][]any

// nobody is a value that nobody gives.
type nobody struct{}

// come works out who is there below a path.
func (e expectation) come(x *shape, path string, a shapeArguments) {
	for _, p := range x.parts {
		for _, member := range p.members(a) {
			at := path + p.name + member
			if p.nested != nil {
				e.come(p.nested, at+"/", p.handed(a))
				continue
			}
			e[at] = []any{}
			for _, r := range p.reads {
				e[at] = append(e[at], r.value(path, a))
			}
		}
	}
}

// members are the suffixes of what the part is made of; none if it is not there.
func (p *shapePart) members(a shapeArguments) []string {
	switch {
	case p.condition != "" && a.value(p.condition) == false:
		return nil
	case !p.group:
		return []string{""}
	}
	var out []string
	for i := range a.value(p.count).(int) {
		out = append(out, fmt.Sprintf("/%d", i))
	}
	return out
}

func (p *shapePart) handed(a shapeArguments) shapeArguments {
	out := shapeArguments{}
	for name, from := range p.arguments {
		out[name] = a.value(from)
	}
	return out
}

// value is what is read, each role's output being the name of its cell.
func (r shapeRead) value(path string, a shapeArguments) any {
	p := r.part
	if p.condition != "" && a.value(p.condition) == false {
		return nobody{}
	}
	list := []any{}
	for _, member := range p.members(a) {
		at := path + p.name + member
		var v any = at + ".r:x"
		if p.nested != nil {
			outputs := p.nested.outputs
			i := slices.IndexFunc(outputs, func(o shapeOutput) bool { return o.name == r.of })
			v = outputs[i].value(at+"/", p.handed(a))
		}
		if v == (nobody{}) || !p.group {
			return v
		}
		list = append(list, v)
	}
	return list
}

// namesOfCells gives each cell its own name, and deploy-time values from a boot file.
type namesOfCells struct{ deploy map[string]json.RawMessage }

func (n namesOfCells) Cell(name contract.CellName) (json.RawMessage, error) {
	return json.Marshal(name)
}
func (n namesOfCells) Deploy(key string) (json.RawMessage, error) { return n.deploy[key], nil }

// What Heat decides reaches every reader: in random deployments, made by stock Heat in
// random sizes from one compilation each, exactly those servers come that must, each input
// reads exactly those who are there, and who is missing is known where anybody can tell.
func TestPresenceAgainstHeat(t *testing.T) {
	for seed := range seedtest.Each(t, 3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := &shaper{Rand: rand.New(rand.NewPCG(seed, 7))}
			inner := []*shape{s.shape("a.yaml", nil), s.shape("b.yaml", nil)}
			middle := s.shape("c.yaml", inner)
			root := s.shape("main.yaml", append(inner, middle))
			source := t.TempDir()
			for _, x := range append(inner, middle, root) {
				if err := os.WriteFile(filepath.Join(source, x.file), []byte(x.text(x == root)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			types := filepath.Join(source, "types.env.yaml")
			writeAll(t, map[string]string{types: "resource_registry: {Shape::a: a.yaml, Shape::b: b.yaml, Shape::c: c.yaml}\n"})
			o := options(filepath.Join(source, "main.yaml"))
			o.Environments = []string{types}
			r, found := compile(t, o)
			if r == nil {
				t.Fatalf("%s\n%s", found, root.text(true))
			}
			dir := folderOf(t, r)
			for range 2 {
				a := shapeArguments{"c0": s.IntN(2) == 0, "c1": s.IntN(2) == 0, "n0": s.IntN(3)}
				want := expectation{}
				want.come(root, "", a)
				parameters := map[string]any{"hotc_secret": secret}
				for name, v := range a {
					parameters[name] = v
				}
				st := stockHeat.Oracle(t).Create(t, fmt.Sprintf("shape%d", seed), heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Environments: []string{filepath.Join(dir, "types.env.yaml")}, Parameters: parameters})
				checkShape(t, r.Built.Plan, st.Servers(t, len(want)), want)
				if t.Failed() {
					t.Fatalf("with %v:\n%s\n%s\n%s\n%s", a, root.text(true), inner[0].text(false), inner[1].text(false), middle.text(false))
				}
			}
		})
	}
}

func checkShape(t *testing.T, p *contract.Plan, booted []heattest.Server, want expectation) {
	t.Helper()
	came := map[contract.ServerPath]bool{}
	decided := map[string]json.RawMessage{}
	for _, s := range booted {
		var boot contract.Boot
		if err := json.Unmarshal([]byte(bootFile(t, s.NovaUserData)), &boot); err != nil {
			t.Fatal(err)
		}
		came[boot.Server] = true
		inputs, expected := want[string(boot.Server)]
		if !expected {
			t.Errorf("%s is there", boot.Server)
			continue
		}
		server := serverOf(t, p, boot.Server)
		for i, in := range server.Roles[0].Inputs {
			if got := evaluatedAs(t, in.Expr, namesOfCells{boot.Deploy}); fmt.Sprint(got) != fmt.Sprint(inputs[i]) {
				t.Errorf("%s: input %s is %v, want %v", boot.Server, in.Name, got, inputs[i])
			}
		}
		for key, expr := range server.Decides {
			v, _ := json.Marshal(evaluatedAs(t, expr, namesOfCells{boot.Deploy}))
			if old := decided[key]; old != nil && string(old) != string(v) {
				t.Errorf("%s says %s of %s, another server %s", boot.Server, v, key, old)
			}
			decided[key] = v
		}
	}
	for path := range want {
		if !came[contract.ServerPath(path)] {
			t.Errorf("%s is not there", path)
		}
	}
	checkPresences(t, p, came, decided)
}

// checkPresences compares what the plan says of who is there with who came.
func checkPresences(t *testing.T, p *contract.Plan, came map[contract.ServerPath]bool, decided map[string]json.RawMessage) {
	t.Helper()
	for _, s := range p.Servers {
		missing, open := false, false
		for _, x := range s.If {
			var n int
			switch v := string(decided[x.Decision]); {
			case v == "":
				open = true
			case x.Least == 0:
				missing = missing || v != "true"
			case json.Unmarshal([]byte(v), &n) != nil || n < x.Least:
				missing = true
			}
		}
		if came[s.Path] && missing || !came[s.Path] && !missing && !open {
			t.Errorf("%s came: %v; by the plan it is missing: %v, open: %v (%v of %s)", s.Path, came[s.Path], missing, open, s.If, decided)
		}
	}
}

// evaluatedAs is a residual's value.
func evaluatedAs(t *testing.T, expr json.RawMessage, from hot.Resolver) any {
	t.Helper()
	e, err := hot.ParseResidual(expr, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Eval(from)
	var absent *hot.AbsentError
	if errors.As(err, &absent) {
		return nobody{}
	}
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
