package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
