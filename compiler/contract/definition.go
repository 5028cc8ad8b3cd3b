package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Definition names what a run of the role is made of: its driver, source, files,
// inputs and tool, 32 hex digits of a digest. A role that ran with another one than
// its plan has now is out of date. Positions, timeouts, tasks and outputs are no
// part of it, nor is how the plan's text was written.
func (r *Role) Definition() string {
	type made struct {
		Driver  string
		Source  any
		Files   []string
		Render  []RenderedFile
		Inputs  []Input
		Exprs   []any // of the inputs, and their defaults
		Install *Install
	}
	d := made{Driver: r.Driver, Source: canonical(r.Source), Files: r.Files, Install: r.Install}
	for _, f := range r.Render {
		f.At, f.Name = "", ""
		d.Render = append(d.Render, f)
	}
	for _, in := range r.Inputs {
		d.Exprs = append(d.Exprs, canonical(in.Expr), canonical(in.Default))
		d.Inputs = append(d.Inputs, in.untimed())
	}
	text, err := json.Marshal(d)
	if err != nil {
		return "" // nothing that was read as JSON gets here
	}
	return Digest(text)[:32]
}

// Definitions is a digest of what all roles of a plan are made of, and of which outputs of theirs
// Heat reads: 16 hex digits.
func (p *Plan) Definitions() string {
	var all strings.Builder
	for s, r := range p.EachRole() {
		all.WriteString(string(s.Path) + " " + r.Name + " " + r.Definition())
		for _, o := range r.ForHeat() {
			all.WriteString(" " + o.ForHeat())
		}
		all.WriteByte('\n')
	}
	return Digest(all.String())[:16]
}

// Digest names a content: the 64 hex digits of its sha256.
func Digest[Content ~string | ~[]byte](of Content) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])
}

// Move is a value that Heat gives in one of two definitions of a role, and that stands in the
// other, or an operator gives: a parameter that is given with -P or --secret-param, or no longer.
type Move struct {
	Key   string // of Server.Deploy
	Value json.RawMessage
	Cell  CellName // that an operator gives; "" is none
}

// Moves are the values of a role that Heat gave and that come from elsewhere now, and those that it
// gives now; not ok where anything else of its definition has changed, but for members that may join
// a group which the role follows: it runs when they do.
func (r *Role) Moves(to *Role) (into, out []Move, ok bool) {
	bare := func(r Role) Role {
		r.Inputs = slices.Clone(r.Inputs)
		for i := range r.Inputs {
			r.Inputs[i].Time, r.Inputs[i].Expr = "", nil
			r.Inputs[i].Reads = slices.DeleteFunc(slices.Clone(r.Inputs[i].Reads), func(c CellName) bool {
				_, given := c.Parameter()
				return given || slices.ContainsFunc(to.Follows, func(f Follow) bool { return f.Cell == c && f.Member != nil })
			})
			if len(r.Inputs[i].Reads) == 0 {
				r.Inputs[i].Reads = nil
			}
		}
		return r
	}
	x, y := bare(*r), bare(*to)
	if x.Definition() != y.Definition() {
		return nil, nil, false
	}
	var walk func(from, to any) bool
	walk = func(from, to any) bool {
		x, given := deployKey(from)
		y, gives := deployKey(to)
		switch {
		case given && gives:
			return x == y
		case given:
			cell := secretCell(to)
			into = append(into, Move{x, encoded(to), cell})
			return cell != "" || !residual(to)
		case gives:
			cell := secretCell(from)
			out = append(out, Move{y, encoded(from), cell})
			return cell != "" || !residual(from)
		}
		switch from := from.(type) {
		case map[string]any:
			other, is := to.(map[string]any)
			if was, group := from["$joined"].([]any); group {
				now, _ := other["$joined"].([]any)
				return grows(was, now, walk)
			}
			return is && len(from) == len(other) && !slices.ContainsFunc(slices.Collect(maps.Keys(from)), func(k string) bool {
				v, both := other[k]
				return !both || !walk(from[k], v)
			})
		case []any:
			other, is := to.([]any)
			if !is || len(from) != len(other) {
				return false
			}
			for i := range from {
				if !walk(from[i], other[i]) {
					return false
				}
			}
			return true
		}
		return from == to
	}
	for i := range r.Inputs {
		if !walk(canonical(r.Inputs[i].Expr), canonical(to.Inputs[i].Expr)) {
			return nil, nil, false
		}
	}
	return into, out, true
}

// grows says that a list or map of a group's members, {"$joined": [GROUP, COUNT, ITEMS]}, has all that
// it had, and perhaps more. How many Heat was told to make counts for a role's first run alone.
func grows(from, to []any, same func(from, to any) bool) bool {
	if len(from) != 3 || len(to) != 3 || from[0] != to[0] {
		return false
	}
	_, was := from[1].(json.Number)
	if _, is := to[1].(json.Number); (!was || !is) && !same(from[1], to[1]) {
		return false
	}
	if had, list := from[2].([]any); list {
		has, _ := to[2].([]any)
		return len(has) >= len(had) && same(had, has[:len(had)])
	}
	had, _ := from[2].(map[string]any)
	has, _ := to[2].(map[string]any)
	for key, x := range had {
		if y, both := has[key]; !both || !same(x, y) {
			return false
		}
	}
	return had != nil
}

// deployKey is the key of an expression that is what Heat gives.
func deployKey(expr any) (key string, is bool) {
	m, _ := expr.(map[string]any)
	key, is = m["$deploy"].(string)
	return key, is && len(m) == 1
}

// secretCell is the cell of an expression that is what an operator gives; "" is none.
func secretCell(expr any) CellName {
	m, _ := expr.(map[string]any)
	text, _ := m["$cell"].(string)
	if _, given := CellName(text).Parameter(); !given || len(m) != 1 {
		return ""
	}
	return CellName(text)
}

// residual says that an expression has more in it than a value.
func residual(expr any) bool {
	switch expr := expr.(type) {
	case map[string]any:
		for k, v := range expr {
			if strings.HasPrefix(k, "$") || residual(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(expr, residual)
	}
	return false
}

func encoded(v any) json.RawMessage {
	text, _ := json.Marshal(v) // it was read as JSON
	return text
}

// untimed is an input without positions, expressions, clocks and what follows it.
func (in Input) untimed() Input {
	in.At, in.Parameters, in.Timeout, in.IfDown, in.Watch, in.Expr, in.Default = nil, nil, 0, 0, false, json.RawMessage("null"), nil
	return in
}

// canonical is a JSON text whose white space, escapes and order of keys no longer
// count. Numbers keep their digits.
func canonical(text json.RawMessage) any {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(text)
	}
	return []any{v} // null is a value
}
