package analysis_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Supplying more never makes anything later: a program is bound with some of its
// parameters supplied, and again with more of them.
func TestMonotony(t *testing.T) {
	seed := seedtest.One(t)
	earlier, compared, times := 0, 0, map[contract.Time]int{}
	for i := range seedtest.Cases(1500, 100) {
		g := &expressions{rand.New(rand.NewPCG(seed, uint64(i)))}
		text := g.template()
		less, more := map[string]value.Value{}, map[string]value.Value{}
		for p := range parameters {
			value := fmt.Sprint("v", g.IntN(2))
			switch g.IntN(3) {
			case 0:
				less[fmt.Sprint("p", p)] = value
				fallthrough
			case 1:
				more[fmt.Sprint("p", p)] = value
			}
		}
		before, after := bind(t, text, less), bind(t, text, more)
		for _, place := range slices.Sorted(maps.Keys(after)) {
			then, there := before[place]
			if !there && strings.HasSuffix(place, "{yaql: …}") {
				continue // noted as computed by Heat, as no enclosing call is
			}
			if !there {
				t.Errorf("seed %d, case %d: %s is evaluated only when more is known\nwith %v, then %v\n%s", seed, i, place, less, more, text)
				continue
			}
			compared++
			times[after[place]]++
			if late[after[place]] < late[then] {
				earlier++
			}
			if late[after[place]] > late[then] {
				t.Errorf("seed %d, case %d: %s is %v with %v, and %v with %v\n%s", seed, i, place, then, less, after[place], more, text)
			}
		}
	}
	t.Logf("%d times compared, %d of them earlier with more known; then %v", compared, earlier, times)
	if earlier*50 < compared || times[contract.Static]*20 < compared || times[contract.Run]*20 < compared {
		t.Error("the programs do not vary enough")
	}
}

// late is the order of the times.
var late = map[contract.Time]int{contract.Static: 0, contract.Deploy: 1, contract.Run: 2}

// bind returns the time of every input, by its name, and of every reference left in it,
// by its place. Inputs that cannot be bound are omitted.
func bind(t *testing.T, text string, known map[string]value.Value) map[string]contract.Time {
	t.Helper()
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("random.yaml", []byte(text)), &diags)
	if template == nil || diags.Failed() {
		t.Fatalf("%v\n%s", diags.All(), text)
	}
	p := program.New(template, &program.Supplied{Parameters: known}, roles.FrontEnd([]driver.Driver{script.Driver}))
	nesting.Load(p, nesting.Options{Environment: &environment.Environment{}, MaxDepth: 5, MaxResources: 1000}, &diags)
	p.Lower(&diags)
	if diags.Failed() {
		t.Fatalf("%v\n%s", diags.All(), text)
	}
	analysis := binding.Analyse(p, binding.Options{}, &diags)
	times := map[string]contract.Time{}
	for in, bound := range analysis.Inputs {
		if bound == nil {
			continue
		}
		times[string(in.Role.Key())+"."+in.Name] = bound.Time
		for _, r := range bound.References {
			if place := r.At.String() + " " + r.Text; late[r.Time] >= late[times[place]] {
				times[place] = r.Time
			}
		}
	}
	return times
}

// parameters is how many a random template has.
const parameters = 6

// expressions generates templates whose inputs refer to parameters, roles, servers and
// other resources, through functions of all kinds.
type expressions struct{ *rand.Rand }

func (g *expressions) template() string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2021-04-16\nparameters:\n")
	for p := range parameters {
		fmt.Fprintf(&b, "  p%d: {type: string, default: d}\n", p)
	}
	b.WriteString("conditions:\n")
	for p := range parameters {
		fmt.Fprintf(&b, "  c%d: {equals: [{get_param: p%d}, v0]}\n", p, p)
	}
	b.WriteString("resources:\n  port: {type: OS::Neutron::Port, properties: {network: n}}\n")
	for s := range 3 {
		fmt.Fprintf(&b, "  s%d:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata:\n      hotc:\n        roles:\n", s)
		fmt.Fprintf(&b, "          - name: r\n            driver: script\n            source: cat\n            outputs: {o: {type: string}, known: {value: %s}}\n            inputs:\n", g.outputs(s))
		for i := range 3 {
			fmt.Fprintf(&b, "              i%d: {value: %s, eager: true%s}\n", i, g.text(4), g.wish())
		}
	}
	return b.String()
}

// outputs are values known before a role runs: only what makes no cycle.
func (g *expressions) outputs(int) string {
	return g.pick("x", "{get_param: p0}", "{list_join: ['-', [a, {get_param: p1}]]}")
}

func (g *expressions) wish() string { return g.pick("", "", "", "", ", bind: run") }

func (g *expressions) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *expressions) parameter() string { return fmt.Sprint("p", g.IntN(parameters)) }

func (g *expressions) condition(depth int) string {
	switch g.IntN(5 + min(depth, 1)*3) {
	case 0, 1, 2:
		return fmt.Sprint("c", g.IntN(parameters))
	case 3:
		return fmt.Sprintf("{equals: [{get_param: %s}, %s]}", g.parameter(), g.pick("v0", "v1", "{get_param: p0}"))
	case 4:
		return g.pick("true", "false")
	case 5:
		return fmt.Sprintf("{not: %s}", g.condition(depth-1))
	}
	return fmt.Sprintf("{%s: [%s, %s]}", g.pick("and", "or"), g.condition(depth-1), g.condition(depth-1))
}

// text is an expression that yields a string.
func (g *expressions) text(depth int) string {
	if depth == 0 || g.IntN(6) == 0 {
		server := fmt.Sprint("s", g.IntN(3))
		return g.pick("plain", fmt.Sprintf("{get_param: %s}", g.parameter()), fmt.Sprintf("{get_param: %s}", g.parameter()),
			fmt.Sprintf("{get_attr: [%s, o]}", server), fmt.Sprintf("{get_attr: [%s, known]}", server), fmt.Sprintf("{get_attr: [%s, first_address]}", server),
			fmt.Sprintf("{get_resource: %s}", server), "{get_attr: [port, mac_address]}", "{get_resource: port}", "{get_param: 'OS::stack_name'}")
	}
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("{list_join: ['%s', %s]}", g.pick("-", ","), g.list(depth-1))
	case 1:
		return fmt.Sprintf("{str_replace: {template: 'a $x b $y', params: {$x: %s, $y: %s}}}", g.text(depth-1), g.text(depth-1))
	case 2:
		return fmt.Sprintf("{digest: [sha256, %s]}", g.text(depth-1))
	case 3:
		return fmt.Sprintf("{yaql: {expression: '$.data.len()', data: %s}}", g.list(depth-1))
	}
	return fmt.Sprintf("{if: [%s, %s, %s]}", g.condition(2), g.text(depth-1), g.text(depth-1))
}

func (g *expressions) list(depth int) string {
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("{str_split: [',', %s]}", g.text(depth))
	case 1:
		return fmt.Sprintf("{list_concat: [%s, [%s]]}", "[a]", g.text(depth))
	case 2:
		return fmt.Sprintf("{if: [%s, [%s], [%s]]}", g.condition(2), g.text(depth), g.text(depth))
	case 3:
		return fmt.Sprintf("{repeat: {for_each: {'%%i%%': [a, %s]}, template: 'x%%i%%'}}", g.text(depth))
	case 4:
		return fmt.Sprintf("[%s, {if: [%s, %s]}]", g.text(depth), g.condition(2), g.text(depth))
	}
	return fmt.Sprintf("[%s, %s]", g.text(depth), g.text(depth))
}
