package chef

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// place is where an input or output is in the node's attributes.
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

// places finds the places of all inputs and outputs, and takes them along.
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

// overlap says that a place lies in another one: an input takes the place of what
// is there, and of all below.
func (l *lowering) overlap(p place, before []place) {
	for _, other := range before {
		if p.output && other.output {
			continue // an output may be a part of another one
		}
		short, long := other.path, p.path
		if len(short) > len(long) {
			short, long = long, short
		}
		if !slices.Equal(short, long[:len(short)]) {
			continue
		}
		l.WrongAt(p.at, "an input hides what a cookbook sets there, and all below it: choose places beside each other",
			"%s %q and %s %q of role %q are the same place of the node, or one lies in the other", p.kind(), p.name, other.kind(), other.name, l.Role.Name).Note(other.at, "the other one")
		return
	}
}

// keyForm is a key in a path that is written as in a recipe: 'a', "a" or :a.
var keyForm = regexp.MustCompile(`^\[\s*(?:'([^'\\]*)'|"([^"\\#]*)"|:([A-Za-z_][A-Za-z0-9_]*))\s*\]`)

// nodePath is the path that a name means: a.b.c, or node['a']['b']['c'] for keys
// that hold dots.
func nodePath(name string) ([]string, error) {
	rest, written := strings.CutPrefix(name, "node[")
	if !written {
		path := strings.Split(name, ".")
		for _, key := range path {
			if key == "" || strings.TrimSpace(key) != key {
				return nil, fmt.Errorf("it is not a path of keys, joined by dots")
			}
			if strings.ContainsAny(key, "[]'\"") {
				return nil, fmt.Errorf("the key %q is not written as in a recipe, nor as a name between dots", key)
			}
		}
		return path, nil
	}
	var path []string
	for rest = "[" + rest; rest != ""; {
		m := keyForm.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("a key must be a text or a symbol, and %s is none; places in lists cannot be named", rest)
		}
		key := m[1] + m[2] + m[3]
		if key == "" {
			return nil, fmt.Errorf("it has an empty key")
		}
		path, rest = append(path, key), rest[len(m[0]):]
	}
	return path, nil
}
