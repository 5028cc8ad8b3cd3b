package chef

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// place is the path of an input or output in the node's attributes.
type place struct {
	name   string
	output bool
	path   []string
	at     source.Place
}

func (p place) kind() string {
	if p.output {
		return "output"
	}
	return "input"
}

// places finds the places of all inputs and outputs, and puts them into the source.
func (l *lowering) places() {
	var all []place
	read := func(name string, output bool, at source.Place) {
		p := place{name: name, output: output, at: at}
		path, err := nodePath(name)
		if err != nil {
			l.WrongAt(at, "`wordpress.db.url` or `node['wordpress']['db']['url']`", "%s %q of role %q: %v", p.kind(), name, l.Role.Name, err)
			return
		}
		p.path = path
		all = append(all, p)
	}
	for _, in := range l.Role.Inputs {
		read(in.Name, false, in.At)
	}
	for _, o := range l.Role.Outputs {
		if o.Resource == "" {
			read(o.Name, true, o.At)
		}
	}
	inputs, outputs := value.NewDict(), value.NewDict()
	for i, p := range all {
		l.overlap(p, all[:i])
		if p.output {
			outputs.Set(p.name, value.Texts(p.path))
		} else {
			inputs.Set(p.name, value.Texts(p.path))
		}
	}
	if inputs.Len() > 0 {
		l.Out.Set("inputs", inputs)
	}
	if outputs.Len() > 0 {
		l.Out.Set("outputs", outputs)
	}
}

// overlap reports a place inside another: an input replaces what is there, and all
// below.
func (l *lowering) overlap(p place, before []place) {
	for _, other := range before {
		if p.output && other.output {
			continue // an output may be a part of another
		}
		short, long := other.path, p.path
		if len(short) > len(long) {
			short, long = long, short
		}
		if !slices.Equal(short, long[:len(short)]) {
			continue
		}
		l.WrongAt(p.at, "an input hides what a cookbook sets there and below: choose places beside each other",
			"%s %q and %s %q of role %q overlap in the node's attributes", p.kind(), p.name, other.kind(), other.name, l.Role.Name).Note(other.at, "the other is declared here")
		return
	}
}

// keyForm matches a key written as in a recipe: ['a'], ["a"] or [:a].
var keyForm = regexp.MustCompile(`^\[\s*(?:'([^'\\]*)'|"([^"\\#]*)"|:([A-Za-z_][A-Za-z0-9_]*))\s*\]`)

// nodePath parses a name as a path: a.b.c, or node['a']['b']['c'] for keys with dots.
func nodePath(name string) ([]string, error) {
	rest, written := strings.CutPrefix(name, "node[")
	if !written {
		path := strings.Split(name, ".")
		for _, key := range path {
			if key == "" || strings.TrimSpace(key) != key {
				return nil, fmt.Errorf("not a path of keys joined by dots")
			}
			if strings.ContainsAny(key, "[]'\"") {
				return nil, fmt.Errorf("the key %q is neither written as in a recipe nor a name between dots", key)
			}
		}
		return path, nil
	}
	var path []string
	for rest = "[" + rest; rest != ""; {
		m := keyForm.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("expected a string or symbol as key, not %s; list indices are not supported", rest)
		}
		key := m[1] + m[2] + m[3]
		if key == "" {
			return nil, fmt.Errorf("empty key")
		}
		path, rest = append(path, key), rest[len(m[0]):]
	}
	return path, nil
}
