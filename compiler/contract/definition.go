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

// Definition is a digest, 32 hex digits, of what determines a run of the role: its driver,
// source, files, inputs and tool. A role that ran with another definition than its plan
// has now is out of date. Positions, timeouts, tasks, outputs and the plan's formatting
// are not part of it.
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
		return "" // unreachable for what was read as JSON
	}
	return Digest(text)[:32]
}

// Made is what a run of the role makes: its definition and the outputs that it declares, for OutOfDate.
func (r *Role) Made() string {
	made := r.Definition()
	for _, o := range r.Outputs {
		made += "\n" + string(o.Type) + ":" + string(o.Cell)
	}
	return made
}

// OutOfDate reports whether a role that has made this has to run for its plan: it is defined otherwise,
// or declares outputs that it did not have, or with another type, whose values readers do not take.
// One that cannot be updated (Updating) gives no value for these.
func (r *Role) OutOfDate(made string) bool {
	definition, outputs, _ := strings.Cut(made, "\n")
	return made != "" && (definition != r.Definition() || r.Updating() != nil && r.declares(strings.Split(outputs, "\n")))
}

// Declares reports whether the role declares outputs that another does not, or with another type.
func (r *Role) Declares(beyond *Role) bool {
	_, outputs, _ := strings.Cut(beyond.Made(), "\n")
	return r.declares(strings.Split(outputs, "\n"))
}

func (r *Role) declares(beyond []string) bool {
	return slices.ContainsFunc(r.Outputs, func(o Output) bool {
		return !slices.ContainsFunc(beyond, func(had string) bool {
			t, cell, _ := strings.Cut(had, ":")
			return cell == string(o.Cell) && (t == string(o.Type) || o.Type == JSON)
		})
	})
}

// Definitions is a digest, 16 hex digits, of the definitions of all roles of a plan, and of
// which of their outputs Heat reads.
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

// Digest is the sha256 of a content, as 64 hex digits.
func Digest[Content ~string | ~[]byte](of Content) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])
}

// Move is a value that Heat provides in one of two definitions of a role, and that is literal in
// the other, or provided by an operator: a parameter newly set with -P or --secret-param, or no
// longer set.
type Move struct {
	Key   string // of Server.Deploy
	Value json.RawMessage
	Cell  CellName // with the operator's value; "" if none
}

// Moves returns the values of a role that Heat used to provide and no longer does, and vice versa;
// not ok if anything else of its definition has changed, except for members that may join a
// followed group: the role runs when they do.
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

// grows reports whether a list or map of a group's members, {"$joined": [GROUP, COUNT, ITEMS]}, has
// kept all its items. COUNT, the size that Heat was told, matters only for a role's first run.
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

// deployKey returns the key of an expression that is a value from Heat.
func deployKey(expr any) (key string, is bool) {
	m, _ := expr.(map[string]any)
	key, is = m["$deploy"].(string)
	return key, is && len(m) == 1
}

// secretCell returns the cell of an expression that is an operator's value; "" otherwise.
func secretCell(expr any) CellName {
	m, _ := expr.(map[string]any)
	text, _ := m["$cell"].(string)
	if _, given := CellName(text).Parameter(); !given || len(m) != 1 {
		return ""
	}
	return CellName(text)
}

// residual reports whether an expression is more than a value.
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

// untimed returns an input without positions, expressions, timeouts and following.
func (in Input) untimed() Input {
	in.At, in.Parameters, in.Timeout, in.IfDown, in.Watch, in.Expr, in.Default = nil, nil, 0, 0, false, json.RawMessage("null"), nil
	return in
}

// canonical decodes JSON, which drops white space, escapes and the order of keys.
// Numbers keep their digits.
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
