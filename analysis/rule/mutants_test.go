package rule_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/seedtest"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The required findings per hundred mutants that Heat refuses, at the place of the change.
const foundOfHundred = 95

// Templates are changed at random, one mistake each, and checked by stock Heat and by hotc:
// of what Heat refuses hotc finds at least 95 in 100, at the place of the change; what Heat
// accepts has no error. SEEDS=2000, SEED=n or DURATION=10m run others; HOTC_TEMPLATES=DIR uses
// the templates in a folder instead of testdata/seeds; -v lists what was missed.
func TestMutants(t *testing.T) {
	seeds := newSeeds(t)
	refused, found := 0, 0
	missed := map[string][]string{}
	for seed := range seedtest.Each(t, 400) {
		m := seeds.mutant(seed)
		if m == nil {
			continue
		}
		verdict := stockHeat.Oracle(t).Validate(t, m.chunk().write(t).with(m.parameters))
		if cloudOnly.MatchString(verdict.Error) || strings.HasPrefix(verdict.Error, "UserParameterMissing") {
			continue // the oracle's stand-ins failed, not Heat; or a value must be supplied
		}
		news := m.findings()
		if verdict.Accepted {
			for _, d := range news {
				if d.Refused || d.Severity == source.Error && !laterErrors[d.Code] {
					t.Errorf("%s\nHeat takes it, hotc says %v\n%s", m, d, seedtest.Replay(t, seed))
				}
			}
			continue
		}
		if refused++; m.found(news) {
			found++
			continue
		}
		missed[m.kind] = append(missed[m.kind], fmt.Sprintf("SEED=%d %s\n  Heat: %s\n  hotc: %v", seed, m, verdict.Error, news))
	}
	t.Logf("%d refused by Heat, %d found", refused, found)
	for _, kind := range slices.SortedFunc(maps.Keys(missed), func(a, b string) int { return cmp.Compare(len(missed[b]), len(missed[a])) }) {
		t.Logf("missed: %s: %d\n%s", kind, len(missed[kind]), strings.Join(missed[kind], "\n"))
	}
	if found*100 < refused*foundOfHundred {
		t.Errorf("only %d of %d were found", found, refused)
	}
}

// laterErrors are those that Heat reports only when it creates the stack: it checks a nested
// stack's parameters against their constraints, and counts its resources, only then.
var laterErrors = map[source.Code]bool{source.BadParameter: true, source.OverLimit: true}

// cloudOnly matches the oracle's errors for the lack of a cloud.
var cloudOnly = regexp.MustCompile(`MagicMock|'Mock'|EndpointNotFound|Unable to establish connection|AuthorizationFailure|Could not find|Failed to discover|keystone`)

// template is one that Heat accepts.
type template struct {
	name       string
	files      map[string]string
	text       []byte
	parameters map[string]any
	baseline   map[string]bool // the findings in the original
	nodes      []place
}

// place is a node of a template: its key in the enclosing map, and its list.
type place struct {
	node, in *yaml.Node
	entry    *yaml.Entry // nil for a list's item
	index    int
	path     []string
}

type seedList []*template

func newSeeds(t *testing.T) seedList {
	t.Helper()
	dir := cmp.Or(os.Getenv("HOTC_TEMPLATES"), "testdata/seeds")
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatal("no templates in ", dir, err)
	}
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(text)
	}
	var out seedList
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s := &template{name: name, files: files, text: []byte(files[name]), parameters: map[string]any{}, baseline: map[string]bool{}}
		var diags source.Diagnostics
		parsed := hot.ParseTemplate(source.NewFile(name, s.text), &diags)
		if parsed == nil {
			continue
		}
		for _, p := range parsed.Parameters {
			if p.Default == nil {
				s.parameters[p.Name] = map[string]any{"number": 3, "boolean": true, "json": map[string]any{}}[p.Type]
				if s.parameters[p.Name] == nil {
					s.parameters[p.Name] = "x"
				}
			}
		}
		m := &mutant{template: s, text: s.text}
		verdict := stockHeat.Oracle(t).Validate(t, m.chunk().write(t).with(s.parameters))
		if !verdict.Accepted {
			t.Logf("%s is left out, Heat refuses it as it is: %s", name, verdict.Error)
			continue
		}
		for _, d := range m.lint() {
			if d.Severity == source.Error {
				t.Errorf("%s: Heat takes it as it is, hotc says %v", name, d)
			}
			s.baseline[essence(d)] = true
		}
		s.collect(parsed.Root, nil, nil, 0, nil)
		out = append(out, s)
	}
	return out
}

func essence(d *source.Diagnostic) string { return string(d.Code) + d.Message }

func (s *template) collect(n, in *yaml.Node, entry *yaml.Entry, index int, path []string) {
	if in != nil {
		s.nodes = append(s.nodes, place{n, in, entry, index, path})
	}
	for i, x := range n.Items {
		s.collect(x, n, nil, i, append(slices.Clone(path), "*"))
	}
	for i := range n.Entries {
		s.collect(n.Entries[i].Value, n, &n.Entries[i], i, append(slices.Clone(path), n.Entries[i].Name))
	}
}

// mutant is a seed with one mistake.
type mutant struct {
	*template
	kind   string
	text   []byte
	said   string   // describes the change
	lines  [2]int   // the lines whose findings are at the place
	naming []string // names by which a finding elsewhere refers to it
}

func (m *mutant) String() string { return m.name + ": " + m.kind + ": " + m.said }

func (m *mutant) chunk() chunk {
	files := maps.Clone(m.files)
	files["main.yaml"] = string(m.text)
	return chunk{m.name, files}
}

func (m *mutant) lint() []*source.Diagnostic {
	given := map[string]string{}
	for name, v := range m.parameters {
		text, _ := json.Marshal(v)
		if given[name] = string(text); text[0] == '"' {
			given[name] = v.(string)
		}
	}
	return m.chunk().lintWith(given)
}

// findings are those that the original does not have.
func (m *mutant) findings() []*source.Diagnostic {
	return slices.DeleteFunc(m.lint(), func(d *source.Diagnostic) bool { return m.baseline[essence(d)] || d.Severity == source.Info })
}

// found says whether one of the findings refers to the mistake: it is at its place, or
// names what was renamed or removed.
func (m *mutant) found(found []*source.Diagnostic) bool {
	return slices.ContainsFunc(found, func(d *source.Diagnostic) bool {
		if d.At.File == nil {
			return false
		}
		line, _ := d.At.File.Position(d.At.Span.Start)
		return line >= m.lines[0] && line <= m.lines[1] || slices.ContainsFunc(m.naming, func(name string) bool { return strings.Contains(d.Message, `"`+name+`"`) })
	})
}

// mutant makes one; nil if the random choice does not apply.
func (l seedList) mutant(number uint64) *mutant {
	g := rand.New(rand.NewPCG(number, 20))
	for range 100 {
		s := l[g.IntN(len(l))]
		p := s.nodes[g.IntN(len(s.nodes))]
		change := changes[g.IntN(len(changes))]
		if edit, said, names, ok := change.make(g, s, p); ok {
			text, err := source.Apply(s.text, []source.Edit{edit})
			if err != nil {
				continue
			}
			m := &mutant{template: s, kind: change.kind, text: text, said: strings.Join(p.path, ".") + " " + said, naming: names}
			around := source.NewFile("", s.text)
			first, _ := around.Position(p.start())
			last, _ := around.Position(p.node.Span.End)
			if p.entry != nil && change.around { // a missing entry is reported at the enclosing map
				first, _ = around.Position(p.in.Span.Start)
				first-- // the map's own key
			}
			if call := s.callAround(p); call != nil { // a function counts as a whole
				from, _ := around.Position(call.Span.Start)
				to, _ := around.Position(call.Span.End)
				first, last = min(first, from), max(last, to)
			}
			m.lines = [2]int{first, last}
			return m
		}
	}
	return nil
}

func (p place) start() uint32 {
	if p.entry != nil {
		return p.entry.Key.Span.Start
	}
	return p.node.Span.Start
}

// at matches a place: "resources", "*", "properties" matches resources.x.properties; the
// last word may be one of several.
func (p place) at(pattern ...string) bool {
	if len(p.path) != len(pattern) {
		return false
	}
	for i, want := range pattern {
		if want != "?" && want != p.path[i] {
			return false
		}
	}
	return true
}

func (p place) inProperties() bool {
	return len(p.path) > 3 && p.path[0] == "resources" && p.path[2] == "properties"
}

// change is a kind of mistake.
type change struct {
	kind   string
	around bool
	make   func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool)
}

func replace(n source.Spanned, text string) source.Edit {
	return source.Edit{Span: n.Extent(), New: text}
}

// misspelt is a name with a typo.
func misspelt(g *rand.Rand, name string) string {
	i := g.IntN(len(name))
	switch g.IntN(3) {
	case 0:
		return name + "x"
	case 1:
		if len(name) > 2 {
			return name[:i] + name[i+1:]
		}
	}
	return name[:i] + "q" + name[i:]
}

var references = []string{"get_param", "get_resource", "get_attr"}

// changes are the usual mistakes.
var changes = []change{
	{"renamed reference", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		name, isText := p.node.Text()
		n := len(p.path)
		direct := p.entry != nil && slices.Contains(references, p.entry.Name)
		within := p.entry == nil && n > 1 && slices.Contains(references, p.path[n-2]) && p.index < 2
		if !isText || !direct && !within || strings.HasPrefix(name, "OS::") {
			return
		}
		to := misspelt(g, name)
		return replace(p.node, to), name + " → " + to, nil, true
	}},
	{"renamed declaration", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if len(p.path) != 2 || p.entry == nil || p.path[0] == "parameter_groups" || p.path[0] == "outputs" {
			return
		}
		to := misspelt(g, p.entry.Name)
		return replace(p.entry.Key, to), "→ " + to, []string{p.entry.Name}, true
	}},
	{"dropped declaration", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if len(p.path) != 2 || p.entry == nil || p.path[0] == "outputs" {
			return
		}
		e, ok = dropped(s, p)
		return e, "dropped", []string{p.entry.Name}, ok
	}},
	{"dropped property", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry == nil || !p.inProperties() || isCall(p.in) {
			return
		}
		e, ok = dropped(s, p)
		return e, "dropped", nil, ok
	}},
	{"misspelt property", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry == nil || !p.inProperties() || isCall(p.in) {
			return
		}
		to := misspelt(g, p.entry.Name)
		return replace(p.entry.Key, to), "→ " + to, nil, true
	}},
	{"changed type", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if !p.inProperties() || p.node.Kind != yaml.Scalar || p.node.Style != yaml.Plain {
			return
		}
		to := []string{"[a, b]", "{a: b}", "[]", "four", "1.5", "''", "{a: {b: c}}", "yes please", "null", "[[a]]"}[g.IntN(10)]
		return replace(p.node, to), "→ " + to, nil, true
	}},
	{"value out of range", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if !p.inProperties() || p.node.Kind != yaml.Scalar || p.node.Style != yaml.Plain {
			return
		}
		to := []string{"-1", "0", "99999999", "no-such-thing", "10.0.0.300", "10.0.0.0/99", strings.Repeat("long", 80), "-0.5"}[g.IntN(8)]
		return replace(p.node, to), "→ " + to[:min(len(to), 20)], nil, true
	}},
	{"parameter's declaration", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if len(p.path) < 3 || p.path[0] != "parameters" || p.node.Kind != yaml.Scalar {
			return
		}
		to := []string{"-1", "99999999", "[a, b]", "{a: b}", "number", "json", "boolean", "comma_delimited_list", "no-such-thing", "strin"}[g.IntN(10)]
		return replace(p.node, to), "→ " + to, []string{p.path[1]}, true
	}},
	{"misspelt key", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry == nil || len(p.path) != 1 && !p.at("resources", "?", "?") && !p.at("parameters", "?", "?") && !p.at("outputs", "?", "?") {
			return
		}
		to := misspelt(g, p.entry.Name)
		return replace(p.entry.Key, to), "→ " + to, nil, true
	}},
	{"dropped key", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry == nil || !p.at("resources", "?", "?") && !p.at("parameters", "?", "?") && !p.at("outputs", "?", "?") {
			return
		}
		e, ok = dropped(s, p)
		return e, "dropped", []string{p.path[1]}, ok
	}},
	{"misspelt type", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		name, isText := p.node.Text()
		if !isText || p.entry == nil || p.entry.Name != "type" || !strings.Contains(name, "::") {
			return
		}
		to := "OS::" + misspelt(g, strings.TrimPrefix(name, "OS::"))
		return replace(p.node, to), "→ " + to, nil, true
	}},
	{"misspelt function", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry == nil || !isCall(p.in) {
			return
		}
		to := misspelt(g, p.entry.Name)
		return replace(p.entry.Key, to), "→ " + to, nil, true
	}},
	{"function's argument", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry == nil || !isCall(p.in) {
			return
		}
		to := []string{"[]", "{}", "x", "[a]", "[a, b, c, d]", "7", "null", "{a: b}"}[g.IntN(8)]
		return replace(p.node, " "+to), "→ " + to, nil, true
	}},
	{"another item", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.entry != nil || p.node.Kind != yaml.Scalar || p.in.Style != yaml.Flow {
			return
		}
		to := []string{"nothing", "-7", "{a: b}", "[x]", "null"}[g.IntN(5)]
		return replace(p.node, to), "→ " + to, nil, true
	}},
	{"policy, condition, dependency", false, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if !p.at("resources", "?", "deletion_policy") && !p.at("resources", "?", "condition") && !p.at("resources", "?", "depends_on") && !p.at("resources", "?", "update_policy") && !p.at("outputs", "?", "condition") {
			return
		}
		to := []string{"nothing", "Kep", "[]", "{a: b}", p.path[1], "7", "null"}[g.IntN(7)]
		if p.node.Style == yaml.Block {
			return
		}
		return replace(p.node, to), "→ " + to, []string{p.path[1]}, true
	}},
	{"constraints, groups", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if p.node.Kind != yaml.Scalar || p.path[0] != "parameter_groups" && !slices.Contains(p.path, "constraints") && p.path[0] != "conditions" {
			return
		}
		to := []string{"nothing", "-1", "[a]", "{a: b}", "null"}[g.IntN(5)]
		return replace(p.node, to), "→ " + to, nil, true
	}},
	{"added property", true, func(g *rand.Rand, s *template, p place) (e source.Edit, said string, names []string, ok bool) {
		if !p.at("resources", "?", "properties", "?") || p.entry == nil {
			return
		}
		kind, _ := s.nodeAt("resources", p.path[1], "type").Text()
		t := types.Lookup(kind)
		if t == nil {
			return
		}
		known := slices.Sorted(maps.Keys(t.Properties))
		name := known[g.IntN(len(known))]
		if p.in.Get(name) != nil {
			return
		}
		to := []string{"x", "3", "true", "[x]", "{x: y}"}[g.IntN(5)]
		column := int(p.start() - lineStart(s.text, p.start()))
		return source.Edit{Span: source.Span{Start: p.start(), End: p.start()}, New: name + ": " + to + "\n" + strings.Repeat(" ", column)}, name + ": " + to, nil, p.in.Style == yaml.Block
	}},
}

// callAround is the outermost function around a place.
func (s *template) callAround(p place) *yaml.Node {
	var call *yaml.Node
	for _, x := range s.nodes {
		if isCall(x.node) && x.node.Span.Contains(p.node.Span) && x.node != p.node && (call == nil || x.node.Span.Contains(call.Span)) {
			call = x.node
		}
	}
	return call
}

func lineStart(text []byte, at uint32) uint32 {
	return uint32(strings.LastIndexByte(string(text[:at]), '\n') + 1)
}

func (s *template) nodeAt(path ...string) *yaml.Node {
	for _, p := range s.nodes {
		if slices.Equal(p.path, path) {
			return p.node
		}
	}
	return nil
}

func isCall(n *yaml.Node) bool {
	return len(n.Entries) == 1 && hot.V20180831.Functions().Lookup(n.Entries[0].Name) != nil
}

// dropped removes an entry.
func dropped(s *template, p place) (source.Edit, bool) {
	start, end := p.start(), p.node.Span.End
	if p.in.Style == yaml.Flow {
		switch {
		case len(p.in.Entries) == 1:
		case p.index > 0:
			start = p.in.Entries[p.index-1].Value.Span.End
		default:
			end = p.in.Entries[1].Key.Span.Start
		}
		return source.Edit{Span: source.Span{Start: start, End: end}}, true
	}
	line := lineStart(s.text, start)
	if strings.TrimSpace(string(s.text[line:start])) != "" {
		return source.Edit{}, false // behind a dash
	}
	if i := strings.IndexByte(string(s.text[end:]), '\n'); i >= 0 {
		end += uint32(i) + 1
	}
	return source.Edit{Span: source.Span{Start: line, End: end}}, true
}

var types *resourcetype.Catalogue
