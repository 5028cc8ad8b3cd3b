package emit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit"
)

// A role's output may be read wherever a template takes an expression: at each such place it is
// compiled or refused, never a mistake of hotc's own.
func TestReadsEverywhere(t *testing.T) {
	c := newCorpus(t)
	var sites []readSite
	for _, name := range c.templates {
		if site := c.readSite(name); site != nil {
			sites = append(sites, *site)
		}
	}
	if len(sites) < 30 {
		t.Fatalf("only %d templates have roles with outputs", len(sites))
	}
	compiled := 0
	for seed := range seedtest.Each(t, seedtest.Cases(500, 60)) {
		m := c.reading(seed, sites)
		o := m.compile()
		if o.compiled {
			compiled++
		}
		if what := o.wrong(false); what != "" {
			t.Errorf("%s\n%s%s", what, m.reduced(what).keep(t, seed), seedtest.Replay(t, seed))
		}
	}
	t.Logf("%d compiled", compiled)
	if !seedtest.Few() && compiled < 40 {
		t.Errorf("only %d were compiled: the others are stopped too early to show much", compiled)
	}
}

// readSite is a template with roles' outputs, and the values that may be replaced by reads of them.
type readSite struct {
	name    string
	outputs [][2]string // server and attribute
	values  []readPlace
}

// readPlace is a piece of the text, and what stands before the read that replaces it.
type readPlace struct {
	span   source.Span
	before string
}

func (c *corpus) readSite(name string) *readSite {
	var diags source.Diagnostics
	file := source.NewFile(name, c.files[name].Data)
	root := yaml.Parse(file, &diags)
	if root == nil || root.Kind != yaml.Map || strings.Contains(name, "/bad") {
		return nil
	}
	site := &readSite{name: name}
	entries := func(n *yaml.Node) []yaml.Entry {
		if n == nil {
			return nil
		}
		return n.Entries
	}
	for _, r := range entries(root.Get("resources")) {
		for _, role := range r.Value.Get("metadata").Get("hotc").Get("roles").List() {
			for _, o := range entries(role.Get("outputs")) {
				attribute := o.Name
				if text, is := o.Value.Get("attribute").Text(); is {
					attribute = text
				}
				site.outputs = append(site.outputs, [2]string{r.Name, attribute})
			}
		}
		site.below(r.Value)
		site.properties(file, r.Value)
	}
	site.below(root.Get("outputs"))
	site.below(root.Get("conditions"))
	if len(site.outputs) == 0 {
		return nil
	}
	return site
}

func (s *readSite) below(n *yaml.Node) {
	if n == nil || n.Target() != nil {
		return
	}
	for x := range n.Below() {
		if x.Target() == nil && x.Span.Len() > 0 {
			s.values = append(s.values, readPlace{span: x.Span})
		}
		s.below(x)
	}
}

// properties adds whole properties, which are rarely hit otherwise, and user_data where there is none.
func (s *readSite) properties(file *source.File, r *yaml.Node) {
	properties := r.Get("properties")
	if properties == nil {
		return
	}
	for range 3 {
		for _, e := range properties.Entries {
			if e.Value.Span.Len() > 0 && e.Value.Target() == nil {
				s.values = append(s.values, readPlace{span: e.Value.Span})
			}
		}
		e := properties.Entry("flavor")
		if e == nil || properties.Get("user_data") != nil || e.Value.Kind != yaml.Scalar {
			continue
		}
		before := "f, user_data: "
		if properties.Style == yaml.Block {
			before = "f\n" + strings.Repeat(" ", int(e.Key.Span.Start-file.LineStart(e.Key.Span.Start))) + "user_data: "
		}
		s.values = append(s.values, readPlace{e.Value.Span, before}, readPlace{e.Value.Span, before})
	}
}

// reading makes a template that reads an output at some place; the same seed gives the same.
func (c *corpus) reading(seed uint64, sites []readSite) *mutant {
	random := rand.New(rand.NewPCG(seed, 16))
	site := sites[random.IntN(len(sites))]
	output := site.outputs[random.IntN(len(site.outputs))]
	place := site.values[random.IntN(len(site.values))]
	at := place.span
	text := c.files[site.name].Data
	was := strings.Join(strings.Fields(string(text[at.Start:at.End])), " ")
	if strings.ContainsAny(was, "\"'{}[]:#,&*!|>%@`\\") {
		was = "plain"
	}
	read := fmt.Sprintf("{get_attr: [%s, %s]}", output[0], output[1])
	forms := []string{read, read, fmt.Sprintf("{str_replace: {template: 'a $x b', params: {$x: %s}}}", read), fmt.Sprintf("{list_join: [' ', ['%s', %s]]}", was, read),
		fmt.Sprintf("[%s]", read), fmt.Sprintf("{key: %s, other: 1}", read), fmt.Sprintf("{str_replace: {template: %s, params: {a: b}}}", read),
		fmt.Sprintf("{get_attr: [%s, %s, 0]}", output[0], output[1]), fmt.Sprintf("{str_split: [',', %s]}", read), fmt.Sprintf("{if: [{equals: [{get_param: 'OS::stack_name'}, x]}, %s, '%s']}", read, was),
		fmt.Sprintf("&anchor %s", read), fmt.Sprintf("{repeat: {for_each: {'%%i%%': %s}, template: '%%i%%'}}", read)}
	m := &mutant{corpus: c, template: site.name, files: map[string][]byte{site.name: slices.Concat(text[:at.Start], []byte(place.before+forms[random.IntN(len(forms))]), text[at.End:])}}
	if beside := c.environmentsBeside(m.template); len(beside) > 0 && random.IntN(2) > 0 {
		m.environments = []string{beside[random.IntN(len(beside))]}
	}
	signal, facts := random.IntN(3), random.IntN(3)
	m.options = func(o *emit.Options) {
		o.Signal = []contract.Signalling{contract.NobodySignals, contract.AgentsSignal, contract.RelaySignals}[signal]
		if facts == 0 {
			o.Facts = binding.FactsFromHeat
		}
	}
	return m
}
