package resourcetype

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hotc-dev/hotc/compiler/lists"
)

//go:embed releases/*.jsonl
var tables embed.FS

// release is a release of Heat.
type release struct {
	number       int
	name, series string
	neighbour    *release // nil for the one with the complete table
	table        func() *table
	parsed       sync.Map // Types are immutable
}

// table is the stored table of a release.
type table struct {
	head
	// lines are JSON by type: patches (RFC 7386) to the neighbour's, or gone; in the complete
	// table the types themselves.
	lines map[string]string
}

// head is a table's first line.
type head struct {
	Heat    string   // its version
	HOT     string   // the newest version of HOT
	Nothing []string // the types that create nothing
}

// The number of the first known release, and the index of Debian 12's, whose table is complete.
const (
	firstNumber = 10
	debian      = 19 - firstNumber
)

// series are the releases from the first one on, with their series.
var series = [][2]string{{"queens", ""}, {"rocky", ""}, {"stein", ""}, {"train", ""}, {"ussuri", ""}, {"victoria", ""}, {"wallaby", ""}, {"xena", ""}, {"yoga", ""}, {"zed", ""},
	{"antelope", "2023.1"}, {"bobcat", "2023.2"}, {"caracal", "2024.1"}, {"dalmatian", "2024.2"}, {"epoxy", "2025.1"}, {"flamingo", "2025.2"}, {"gazpacho", "2026.1"}}

// gone is the line of a type that the neighbour has but this release lacks.
const gone = "null"

// all are the releases, oldest first.
var all = sync.OnceValue(func() []*release {
	var out []*release
	for i, s := range series {
		r := &release{number: firstNumber + i, name: s[0], series: s[1]}
		r.table = sync.OnceValue(func() *table {
			text, err := tables.ReadFile(fmt.Sprintf("releases/%d.jsonl", r.number))
			r.must(err)
			t, err := readTable(string(text))
			r.must(err)
			return t
		})
		out = append(out, r)
	}
	for i, r := range out {
		switch {
		case i < debian:
			r.neighbour = out[i+1]
		case i > debian:
			r.neighbour = out[i-1]
		}
	}
	return out
})

// must panics on errors in embedded data.
func (r *release) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("the table of %s: %v", r.name, err))
	}
}

// readTable reads a table: its head, and a line for each type, NAME {…}.
func readTable(text string) (*table, error) {
	first, rest, _ := strings.Cut(text, "\n")
	t := &table{lines: make(map[string]string, strings.Count(rest, "\n"))}
	for line := range strings.Lines(rest) {
		name, body, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !found {
			return nil, fmt.Errorf("a line without a type: %.40q", line)
		}
		t.lines[name] = body
	}
	return t, json.Unmarshal([]byte(first), &t.head)
}

// find finds a release by name, series or number; nil if unknown.
func find(name string) *release {
	name = strings.ToLower(name)
	number, _, _ := strings.Cut(name, ".")
	return lists.Find(all(), func(r *release) bool {
		return name == r.name || name == r.series && name != "" || number == strconv.Itoa(r.number)
	})
}

// lookup finds a type; nil if unknown.
func (r *release) lookup(name string) *Type {
	if t, known := r.parsed.Load(name); known {
		return t.(*Type)
	}
	line, has := r.table().lines[name]
	switch {
	case line == gone, !has && r.neighbour == nil:
		return nil
	case !has:
		return r.neighbour.lookup(name)
	case r.neighbour != nil:
		whole, err := json.Marshal(r.whole(name))
		r.must(err)
		line = string(whole)
	}
	t := &Type{Name: name}
	r.must(json.Unmarshal([]byte(line), t))
	r.parsed.Store(name, t)
	return t
}

// Ever reports whether any release has a type, or accepts it and creates nothing.
func Ever(kind string) bool {
	return slices.ContainsFunc(all(), func(r *release) bool { return r.lookup(kind) != nil || slices.Contains(r.table().Nothing, kind) })
}

// EverHad reports whether the type has an attribute in any release.
func EverHad(kind, attribute string) bool {
	return slices.ContainsFunc(all(), func(r *release) bool {
		t := r.lookup(kind)
		return t != nil && t.HasAttribute(attribute)
	})
}

// Varies reports whether releases differ in what they say of a type's property, or whether it has it.
func Varies(kind, property string) bool {
	return slices.ContainsFunc(all(), func(r *release) bool {
		var patch Type // what it says does not matter
		line, has := r.table().lines[kind]
		if !has || line == gone || r.neighbour == nil {
			return false
		}
		r.must(json.Unmarshal([]byte(line), &patch))
		_, is := patch.Properties[property]
		return is
	})
}

// whole is a type assembled from the tables; nil if unknown.
func (r *release) whole(name string) any {
	line, has := r.table().lines[name]
	var own any
	if has {
		r.must(json.Unmarshal([]byte(line), &own))
	}
	switch {
	case r.neighbour == nil: // no patch: null is a value in it
		return own
	case !has:
		return r.neighbour.whole(name)
	}
	return merged(r.neighbour.whole(name), own)
}

// merged applies a patch (RFC 7386).
func merged(v, patch any) any {
	changes, is := patch.(map[string]any)
	if !is {
		return patch
	}
	out, is := v.(map[string]any)
	if !is {
		out = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(out, name)
		} else {
			out[name] = merged(out[name], change)
		}
	}
	return out
}

// names are the names of all types, sorted.
func (r *release) names() []string {
	var names []string
	if r.neighbour != nil {
		names = slices.DeleteFunc(r.neighbour.names(), func(name string) bool { return r.table().lines[name] == gone })
	}
	for name, line := range r.table().lines {
		if line != gone {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
