package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// untimed is an input without positions, expressions, clocks and what follows it.
func (in Input) untimed() Input {
	in.At, in.Timeout, in.IfDown, in.Watch, in.Expr, in.Default = nil, 0, 0, false, json.RawMessage("null"), nil
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
