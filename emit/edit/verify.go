package edit

import (
	"bytes"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// verify parses the edited text again and compares it with what was intended. A difference is a
// bug in hotc: nothing may be written then.
func (e *Editor) verify(text []byte) error {
	if len(e.changes) == 0 && bytes.Equal(text, e.file.Text) {
		return nil // it was parsed before
	}
	file := source.NewFile(e.file.Name+" (emitted)", text)
	if e.passes(file) {
		return nil
	}
	var diags source.Diagnostics
	again := yaml.ParseTemplate(file, &diags)
	if again == nil {
		return Internal(diags.All()[0].Error())
	}
	if again.IsNull() && e.emptied() {
		return nil // a text without content counts as an empty map
	}
	if where, is := e.differs(e.root, again); is {
		return Internal("the text of " + where + " does not say what was meant")
	}
	return nil
}

// passes is verify for large texts, without building their trees: it is true if everything
// follows in the intended order.
func (e *Editor) passes(file *source.File) bool {
	resources := e.root.Get("resources")
	if !e.staysMap(e.root) || resources == nil || !e.staysMap(resources) {
		return false
	}
	top := &sequence{Editor: e, old: e.root.Entries, c: e.change(e.root), apart: resources}
	inner := &sequence{Editor: e, old: resources.Entries, c: e.change(resources)}
	read := yaml.Passing(file, func(inResources bool, entries []yaml.Entry) bool {
		want := top
		if inResources {
			want = inner
		}
		return want.same(entries)
	})
	return read && top.ended() && inner.ended()
}

// staysMap reports whether a node is a map in which only entries change.
func (e *Editor) staysMap(n *yaml.Node) bool {
	c := e.changes[n]
	return n.Kind == yaml.Map && n.Target() == nil && (c == nil || !c.whole)
}

// sequence is the intended content of a map, entry by entry.
type sequence struct {
	*Editor
	old   []yaml.Entry // not compared yet
	c     *change
	added int        // how many added entries were compared
	apart *yaml.Node // only the key of this one is compared
}

// same reports whether entries are the expected next ones.
func (s *sequence) same(entries []yaml.Entry) bool {
	for i := range entries {
		if !s.next(&entries[i]) {
			return false
		}
	}
	return true
}

func (s *sequence) next(y *yaml.Entry) bool {
	s.skipRemoved()
	if len(s.old) > 0 {
		x := &s.old[0]
		s.old = s.old[1:]
		if x.Value == s.apart {
			return x.Name == y.Name && y.Value.IsNull()
		}
		_, differs := s.differs(x.Value, y.Value)
		return x.Name == y.Name && !differs
	}
	if s.added == s.c.added.Len() {
		return false
	}
	k, v := s.c.added.Keys()[s.added], s.c.added.Values()[s.added]
	s.added++
	_, differs := s.treeDiffers(v, y.Value)
	return k == y.Name && !differs
}

func (s *sequence) skipRemoved() {
	for len(s.old) > 0 && s.c.removed[s.old[0].Name] {
		s.old = s.old[1:]
	}
}

// ended reports whether nothing is missing.
func (s *sequence) ended() bool {
	s.skipRemoved()
	return len(s.old) == 0 && s.added == s.c.added.Len()
}

// emptied reports whether every entry of the root map was removed and none added.
func (e *Editor) emptied() bool {
	c := e.changes[e.root]
	return e.root.Kind == yaml.Map && c != nil && len(c.removed) == len(e.root.Entries) && c.added.Len() == 0
}

// Internal reports a bug in hotc.
func Internal(what string) *source.Diagnostic {
	return &source.Diagnostic{Code: source.Internal, Message: "internal error in hotc, nothing was written: " + what,
		Hint: "please report it, with the template if you can"}
}

// Diagnosed returns an error as a diagnostic; any other kind of error is a bug in hotc.
func Diagnosed(err error) *source.Diagnostic {
	if d, is := source.AsDiagnostic(err); is {
		return d
	}
	return Internal(err.Error())
}

// differs compares a node of the user's, changed as intended, with one of the new text. Where is
// the path from it to the first difference.
func (e *Editor) differs(old, now *yaml.Node) (where string, is bool) {
	c := e.changes[old]
	if target := old.Target(); c == nil && target != nil {
		if c = e.changes[target]; c != nil && c.around {
			c = nil
		}
	}
	if c != nil && c.whole {
		return e.treeDiffers(c.value, now)
	}
	if old.Kind != now.Kind {
		return "", true
	}
	switch old.Kind {
	case yaml.Scalar:
		return "", !same(old.Value, now.Value)
	case yaml.List:
		if len(old.Items) != len(now.Items) {
			return "", true
		}
		for i := range old.Items {
			if where, is := e.differs(old.Items[i], now.Items[i]); is {
				return fmt.Sprintf("/%d%s", i, where), true
			}
		}
	case yaml.Map:
		return e.mapDiffers(old, now, c)
	}
	return "", false
}

func (e *Editor) mapDiffers(old, now *yaml.Node, c *change) (where string, is bool) {
	want := 0
	entry := inOrder(now)
	for i := range old.Entries {
		x := &old.Entries[i]
		if c != nil && c.removed[x.Name] {
			continue
		}
		want++
		y := entry(x.Name)
		if y == nil {
			return "/" + x.Name, true
		}
		if where, is := e.differs(x.Value, y.Value); is {
			return "/" + x.Name + where, true
		}
	}
	if c != nil {
		want += c.added.Len()
		if where, is := e.entriesDiffer(c.added, entry); is {
			return where, true
		}
	}
	return "", want != len(now.Entries)
}

// inOrder looks up entries of a map quickly when asked in order.
func inOrder(n *yaml.Node) func(name string) *yaml.Entry {
	next := 0
	return func(name string) *yaml.Entry {
		if next < len(n.Entries) && n.Entries[next].Name == name {
			next++
			return &n.Entries[next-1]
		}
		for i := range n.Entries {
			if n.Entries[i].Name == name {
				next = i + 1
				return &n.Entries[i]
			}
		}
		return nil
	}
}

func (e *Editor) treeDiffers(want Tree, now *yaml.Node) (where string, is bool) {
	switch want := want.(type) {
	case Section:
		return e.treeDiffers(want.Dict, now)
	case verbatim:
		c := e.changes[want.entry.Value]
		if delete(e.changes, want.entry.Value); c != nil && c.inner != nil { // the value itself, not what wraps it
			e.changes[want.entry.Value] = c.inner
		}
		defer func() { e.changes[want.entry.Value] = c }()
		return e.differs(want.entry.Value, now)
	case *yaml.Node:
		return e.differs(want, now)
	case *value.Dict:
		if now.Kind != yaml.Map || len(now.Entries) != want.Len() {
			return "", true
		}
		return e.entriesDiffer(want, inOrder(now))
	case []value.Value:
		if now.Kind != yaml.List || len(now.Items) != len(want) {
			return "", true
		}
		for i, v := range want {
			if where, is := e.treeDiffers(v, now.Items[i]); is {
				return fmt.Sprintf("/%d%s", i, where), true
			}
		}
		return "", false
	}
	return "", now.Kind != yaml.Scalar || !same(want, now.Value)
}

// entriesDiffer compares the intended entries of a map with the actual ones.
func (e *Editor) entriesDiffer(want *value.Dict, entry func(name string) *yaml.Entry) (where string, is bool) {
	for k, v := range want.All() {
		y := entry(k)
		if y == nil {
			return "/" + k, true
		}
		if where, is := e.treeDiffers(v, y.Value); is {
			return "/" + k + where, true
		}
	}
	return "", false
}

// same compares scalars with their types: 1 is not 1.0, and true is not 1.
func same(a, b value.Value) bool {
	if text, isText := a.(string); isText {
		return text == b
	}
	_, isFloat := a.(float64)
	_, isFloatToo := b.(float64)
	return isFloat == isFloatToo && value.TypeName(a) == value.TypeName(b) && (value.Equal(a, b) || string(value.EncodeJSON(a)) == string(value.EncodeJSON(b)))
}
