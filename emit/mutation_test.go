package emit_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// mutation changes texts at random: as trees where they are YAML, else as lines and bytes.
type mutation struct {
	*rand.Rand
	corpus *corpus
}

func (g *mutation) change(name string, text []byte) []byte {
	isYAML := path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" || path.Ext(name) == ".sls"
	if isYAML && g.IntN(6) > 0 {
		if out := g.changeTree(text); out != nil {
			return out
		}
	}
	for range 1 + g.IntN(2) {
		text = g.changeText(text)
	}
	return text
}

// specials are scalars that are more than they seem, or nothing.
var specials = []string{"", "~", "null", "''", `""`, ".inf", "-.inf", ".nan", "0", "-1", "1e400", "0x", "99999999999999999999999", "1.5", "true", "on", "2018-08-31", "12:30:45", "=", "<<", "*a", "&a b",
	"%index%", "0.metadata", "!!binary aGk=", "!!set {a}", "!x y", "|", ">-", "|2", "? a", "- a", "a: b", "{}", "[]", "[[]]", "{a: {}}", "{{ x }}", "{% raw", "$x", "#", "@a", "`", "\t", "\u0085", "\u2028", "é", "\U0001f600",
	"OS::Nova::Server", "OS::Heat::ResourceGroup", "OS::Heat::AutoScalingGroup", "OS::Heat::ResourceChain", "OS::Heat::Stack", "OS::Heat::None", "OS::stack_name", "get_file", "a/b", "../x.yaml", "a.b", "resource.0.x",
	"hotc", "hotc_done", "hotc_secret", "hotc_path", strings.Repeat("a", 300), strings.Repeat("x.", 200), "a b", "\\", `a\`, "'"}

// words are the keys that mean something somewhere.
var words = []string{"heat_template_version", "AWSTemplateFormatVersion", "parameters", "resources", "outputs", "conditions", "type", "Type", "properties", "Properties", "metadata", "depends_on", "condition", "value", "default", "constraints",
	"allowed_values", "range", "min", "max", "hidden", "user_data", "user_data_format", "count", "resource_def", "resource", "min_size", "max_size", "desired_capacity", "index_var", "removal_policies", "hotc", "roles", "defaults", "driver", "source",
	"inputs", "name", "attribute", "secret", "optional", "timeout", "if_down", "eager", "watch", "bind", "files", "hooks", "actions", "install", "template", "params", "for_each", "permutations", "get_param", "get_attr",
	"get_resource", "get_file", "str_replace", "list_join", "repeat", "if", "digest", "map_merge", "map_replace", "yaql", "equals", "and", "or", "not", "<<", "resource_registry", "parameter_defaults", "parameter_merge_strategies",
	"template_data", "concurrent", "resources", "context", "rolling_updates", "max_members", "networks", "port", "get_pip", "str_split", "filter", "make_url", "contains", "list_concat", "hosts", "tasks", "vars", "when", "loop", "include_tasks", "include_role", "role",
	"run_list", "cookbooks", "playbooks", "playbook", "manifests", "modules", "states", "pillar", "sls"}

// functions wrap a node, which stands at %.
var functions = []string{"{get_param: %}", "{get_param: [%, a]}", "{get_attr: [%, x]}", "{get_attr: %}", "{get_resource: %}", "{get_file: %}", "{str_replace: {template: %, params: {a: b}}}", "{str_replace: {template: ab, params: {a: %}}}",
	"{str_replace: {template: ab, params: %}}", "{list_join: [',', %]}", "{list_join: [%, [a, b]]}", "{repeat: {template: a%b, for_each: {'%b': %}}}", "{repeat: {template: %, for_each: {a: [b, c]}}}", "{if: [c, %]}", "{if: [%, a, b]}",
	"{if: [{equals: [%, 1]}, %, {get_param: x}]}", "{digest: [sha256, %]}", "{digest: [%, a]}", "{map_merge: [%, {a: b}]}", "{map_replace: [%, {keys: {a: b}}]}", "{yaql: {expression: $.data, data: %}}", "{yaql: {expression: %, data: {}}}",
	"{str_split: [',', %]}", "{str_split: [',', %, 1]}", "{filter: [[a], %]}", "{make_url: {host: %}}", "{list_concat: [%, [a]]}", "{list_concat_unique: [%, %]}", "{contains: [a, %]}", "{not: %}", "{and: [%, true]}", "{Ref: %}", "{'Fn::Join': ['', %]}",
	"{'Fn::GetAtt': [%, x]}", "{'Fn::If': [%, a, b]}", "{'Fn::FindInMap': [%, a, b]}", "{value: %}", "{default: %}", "[%]", "[%, %]", "{a: %}", "{hotc: %}", "{str_replace_strict: {template: %, params: {a: b}}}", "{resource_facade: %}", "{for_each: %}"}

// changeTree changes a text as a tree; nil if it is none.
func (g *mutation) changeTree(text []byte) []byte {
	var document yaml.Node
	if yaml.Unmarshal(text, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	for range 1 + g.IntN(3) {
		g.changeNode(document.Content[0])
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2 + 2*g.IntN(2))
	failed := false
	func() {
		defer func() { failed = recover() != nil }()
		failed = enc.Encode(&document) != nil || failed
	}()
	if failed {
		return nil
	}
	return out.Bytes()
}

// nodes are all nodes of a tree, and the ones they stand in.
func nodes(n *yaml.Node, in *yaml.Node, found func(n, in *yaml.Node)) {
	found(n, in)
	for _, x := range n.Content {
		nodes(x, n, found)
	}
}

func (g *mutation) anyNode(root *yaml.Node) (n, in *yaml.Node) {
	count := 0
	keys := map[*yaml.Node]bool{} // which few changes leave a text that is read at all
	nodes(root, nil, func(x, around *yaml.Node) {
		if x.Kind == yaml.MappingNode {
			for i := 0; i < len(x.Content); i += 2 {
				keys[x.Content[i]] = true
			}
		}
		if keys[x] && g.IntN(20) > 0 {
			return
		}
		if count++; g.IntN(count) == 0 {
			n, in = x, around
		}
	})
	return n, in
}

func (g *mutation) changeNode(root *yaml.Node) {
	n, in := g.anyNode(root)
	switch g.IntN(17) {
	case 0: // drop
		if in == nil {
			return
		}
		i := slices.Index(in.Content, n)
		if in.Kind == yaml.MappingNode {
			i &^= 1
			in.Content = slices.Delete(in.Content, i, min(i+2, len(in.Content)))
			return
		}
		in.Content = slices.Delete(in.Content, i, i+1)
	case 1: // once more
		if in == nil {
			return
		}
		i, other := slices.Index(in.Content, n), copied(n)
		if in.Kind == yaml.MappingNode {
			i &^= 1
			value := copied(in.Content[i+1])
			if g.IntN(2) == 0 {
				g.changeNode(value)
			}
			in.Content = append(in.Content, copied(in.Content[i]), value)
			return
		}
		in.Content = slices.Insert(in.Content, i, other)
	case 2: // another name
		if in != nil && in.Kind == yaml.MappingNode {
			in.Content[slices.Index(in.Content, n)&^1] = &yaml.Node{Kind: yaml.ScalarNode, Value: pick(g, words)}
		}
	case 3: // swap
		other, _ := g.anyNode(root)
		a, b := copied(n), copied(other)
		*n, *other = *b, *a
	case 4, 5:
		set(n, &yaml.Node{Kind: yaml.ScalarNode, Value: pick(g, specials), Style: pick(g, []yaml.Style{0, 0, yaml.DoubleQuotedStyle, yaml.LiteralStyle})})
	case 6: // another type
		switch n.Kind {
		case yaml.ScalarNode:
			set(n, &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{copied(n)}})
		case yaml.MappingNode:
			set(n, &yaml.Node{Kind: yaml.SequenceNode, Content: copied(n).Content})
		default:
			if len(n.Content)%2 == 0 {
				set(n, &yaml.Node{Kind: yaml.MappingNode, Content: copied(n).Content})
			}
		}
	case 7, 8: // in a function
		var f yaml.Node
		if yaml.Unmarshal([]byte(strings.ReplaceAll(pick(g, functions), "%", "THIS")), &f) != nil {
			return
		}
		inner := copied(n)
		nodes(f.Content[0], nil, func(x, _ *yaml.Node) {
			if x.Value == "THIS" {
				*x = *copied(inner)
			}
		})
		set(n, f.Content[0])
	case 9: // deep
		depth := 1 + g.IntN(8)
		if g.IntN(20) == 0 {
			depth = 600
		}
		inner := copied(n)
		for range depth {
			inner = &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{inner}}
		}
		set(n, inner)
	case 10: // of another file
		var other yaml.Node
		if yaml.Unmarshal(g.corpus.files[pick(g, g.corpus.texts)].Data, &other) != nil || len(other.Content) == 0 {
			return
		}
		from, _ := g.anyNode(other.Content[0])
		if n.Kind == yaml.MappingNode && from.Kind == yaml.MappingNode && g.IntN(2) == 0 {
			n.Content = append(n.Content, copied(from).Content...)
			return
		}
		set(n, copied(from))
	case 11, 12: // alias, merge key
		g.share(root)
	case 13, 14: // another style
		n.Style ^= pick(g, []yaml.Style{yaml.FlowStyle, yaml.LiteralStyle, yaml.FoldedStyle, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle})
		if g.IntN(3) == 0 {
			n.LineComment, n.HeadComment = "# a comment", "# above"
		}
	case 15: // another place
		if in == nil || in.Kind != yaml.MappingNode {
			return
		}
		i := slices.Index(in.Content, n) &^ 1
		pair := slices.Clone(in.Content[i : i+2])
		to, _ := g.anyNode(root)
		if to.Kind == yaml.MappingNode {
			to.Content = append(to.Content, copied(pair[0]), copied(pair[1]))
		}
	default: // a word
		if n.Kind == yaml.ScalarNode {
			n.Value = pick(g, words)
		}
	}
}

// share lets a node be another one's alias, or merges it.
func (g *mutation) share(root *yaml.Node) {
	var all []*yaml.Node
	nodes(root, nil, func(x, _ *yaml.Node) { all = append(all, x) })
	first := g.IntN(len(all))
	n := all[first]
	inside := 0
	nodes(n, nil, func(*yaml.Node, *yaml.Node) { inside++ })
	if first+inside >= len(all) || n.Kind == yaml.AliasNode {
		return
	}
	if n.Anchor == "" {
		n.Anchor = fmt.Sprintf("a%d", g.IntN(1000))
	}
	alias := &yaml.Node{Kind: yaml.AliasNode, Alias: n, Value: n.Anchor}
	later := all[first+inside+g.IntN(len(all)-first-inside)]
	if later.Kind == yaml.MappingNode && g.IntN(2) == 0 {
		later.Content = slices.Insert(later.Content, 0, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!merge", Value: "<<"}, alias)
		return
	}
	set(later, alias)
}

// set puts a node in the place of another, whose anchor goes.
func set(n, to *yaml.Node) { *n = *to }

// copied is a copy without anchors.
func copied(n *yaml.Node) *yaml.Node {
	out := *n
	out.Anchor = ""
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, x := range n.Content {
		out.Content[i] = copied(x)
	}
	return &out
}

var token = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[^\sA-Za-z0-9]`)

func (g *mutation) changeText(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	i := g.IntN(len(lines))
	at := g.IntN(len(text) + 1)
	switch g.IntN(19) {
	case 0:
		return append([]byte("\ufeff"), text...)
	case 1:
		return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	case 2: // indented as a whole
		return regexp.MustCompile(`(?m)^`).ReplaceAll(text, []byte(strings.Repeat(" ", 1+g.IntN(4))))
	case 3:
		lines[i] = append([]byte(strings.Repeat(" ", 1+g.IntN(3))), lines[i]...)
	case 4:
		lines[i] = bytes.TrimPrefix(lines[i], []byte("  "))
	case 5:
		return text[:at]
	case 6:
		lines[i] = bytes.Replace(lines[i], []byte("  "), []byte("\t"), 1)
	case 7:
		return slices.Insert(bytes.Clone(text), at, pick(g, []byte{0xff, 0xc0, 0, 7, 0x1b, 0x80, '\t', '\r', ' ', '\n', '"', '\'', '{', '}', '[', ']', ':', '#', '&', '*', '!', '|', '>', '%', '@', ',', '?', '-', '$', '(', ')', '<', '=', '/', '\\', '`', ';'}))
	case 8:
		end := min(len(text), at+1+g.IntN(40))
		return slices.Delete(bytes.Clone(text), at, end)
	case 9:
		lines = slices.Insert(lines, i, lines[i])
	case 10:
		j := g.IntN(len(lines))
		lines[i], lines[j] = lines[j], lines[i]
	case 11:
		lines = slices.Delete(slices.Clone(lines), i, min(len(lines), i+1+g.IntN(4)))
	case 12:
		return bytes.TrimRight(text, "\n")
	case 13:
		other := g.corpus.files[pick(g, g.corpus.names)].Data
		others := bytes.SplitAfter(other, []byte("\n"))
		from := g.IntN(len(others))
		lines = slices.Insert(slices.Clone(lines), i, others[from:min(len(others), from+1+g.IntN(10))]...)
	case 14:
		return append(bytes.Clone(text), pick(g, []string{"---\n", "...\n", "# end", "\n\n", "  ", "a: b", "- a"})...)
	case 15:
		lines[i] = append(bytes.TrimRight(bytes.Clone(lines[i]), "\n"), " # comment\n"...)
	default: // another token
		all := token.FindAllIndex(text, -1)
		if len(all) == 0 {
			return text
		}
		where, with := pick(g, all), pick(g, specials)
		switch g.IntN(3) {
		case 0:
			with = pick(g, words)
		case 1:
			other := pick(g, all)
			with = string(text[other[0]:other[1]])
		}
		return slices.Concat(text[:where[0]], []byte(with), text[where[1]:])
	}
	return bytes.Join(lines, nil)
}
