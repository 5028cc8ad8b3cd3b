package heat

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
)

// verify parses the edited text again and compares it with what was meant. A
// difference is a mistake of hotc's own: nothing may be written then.
func (e *editor) verify(text []byte, root *hot.Node) error {
	var diags source.Diagnostics
	again := hot.Parse(source.NewFile(e.file.Name+" (emitted)", text), &diags)
	if again == nil {
		return internal(diags.All()[0].Error())
	}
	if where := e.differs(root, again, ""); where != "" {
		return internal("the text of " + where + " does not say what was meant")
	}
	return nil
}

func internal(what string) error { return internalDiagnostic(what) }

func internalDiagnostic(what string) *source.Diagnostic {
	return &source.Diagnostic{Code: source.Internal, Message: "hotc made a mistake, nothing was written: " + what,
		Hint: "please report it, with the template if you can"}
}

// differs compares a node of the user's, changed as meant, with one of the new
// text. It returns the path to the first difference.
func (e *editor) differs(old, now *hot.Node, path string) string {
	c := e.changes[old]
	if c == nil && old.Target() != nil {
		if c = e.changes[old.Target()]; c != nil && c.around {
			c = nil
		}
	}
	if c != nil && c.whole {
		return e.treeDiffers(c.value, now, path)
	}
	if old.Kind != now.Kind {
		return path
	}
	switch old.Kind {
	case hot.Scalar:
		if !same(old.Value, now.Value) {
			return path
		}
	case hot.List:
		if len(old.Items) != len(now.Items) {
			return path
		}
		for i := range old.Items {
			if where := e.differs(old.Items[i], now.Items[i], fmt.Sprintf("%s/%d", path, i)); where != "" {
				return where
			}
		}
	case hot.Map:
		return e.mapDiffers(old, now, c, path)
	}
	return ""
}

func (e *editor) mapDiffers(old, now *hot.Node, c *change, path string) string {
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
			return path + "/" + x.Name
		}
		if where := e.differs(x.Value, y.Value, path+"/"+x.Name); where != "" {
			return where
		}
	}
	if c != nil {
		for _, k := range c.added.Keys() {
			want++
			v, _ := c.added.Get(k)
			y := entry(k)
			if y == nil {
				return path + "/" + k
			}
			if where := e.treeDiffers(v, y.Value, path+"/"+k); where != "" {
				return where
			}
		}
	}
	if want != len(now.Entries) {
		return path
	}
	return ""
}

// inOrder finds entries of a map fast when they are asked for in order.
func inOrder(n *hot.Node) func(name string) *hot.Entry {
	next := 0
	return func(name string) *hot.Entry {
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

func (e *editor) treeDiffers(want tree, now *hot.Node, path string) string {
	switch want := want.(type) {
	case section:
		return e.treeDiffers(want.Dict, now, path)
	case verbatim:
		c := e.changes[want.entry.Value]
		delete(e.changes, want.entry.Value) // the value as it was, not what wraps it
		defer func() { e.changes[want.entry.Value] = c }()
		return e.differs(want.entry.Value, now, path)
	case *hot.Node:
		return e.differs(want, now, path)
	case *hot.Dict:
		if now.Kind != hot.Map || len(now.Entries) != want.Len() {
			return path
		}
		for _, k := range want.Keys() {
			v, _ := want.Get(k)
			y := now.Get(k)
			if y == nil {
				return path + "/" + k
			}
			if where := e.treeDiffers(v, y, path+"/"+k); where != "" {
				return where
			}
		}
		return ""
	case []hot.Value:
		if now.Kind != hot.List || len(now.Items) != len(want) {
			return path
		}
		for i, v := range want {
			if where := e.treeDiffers(v, now.Items[i], fmt.Sprintf("%s/%d", path, i)); where != "" {
				return where
			}
		}
		return ""
	}
	if now.Kind != hot.Scalar || !same(want, now.Value) {
		return path
	}
	return ""
}

// same compares scalars with their types: 1 is not 1.0, and true is not 1.
func same(a, b hot.Value) bool {
	return hot.TypeName(a) == hot.TypeName(b) && (hot.Equal(a, b) || string(hot.EncodeJSON(a)) == string(hot.EncodeJSON(b))) && sameNumber(a, b)
}

func sameNumber(a, b hot.Value) bool {
	_, isFloat := a.(float64)
	_, isFloatToo := b.(float64)
	return isFloat == isFloatToo
}
