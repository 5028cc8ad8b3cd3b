package plan

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// Encode writes a plan as plan.json: indented, so that two plans can be compared
// line by line. The long lists are written an item at a time, so that the text of a
// large plan is in memory once.
func Encode(p *plan.Plan) ([]byte, error) {
	short := *p
	short.Servers, short.Cells = []plan.Server{}, []plan.Cell{}
	rest, err := json.Marshal(short)
	if err != nil {
		return nil, err
	}
	w := indenter{out: make([]byte, 0, 2*len(rest)+room(p.Servers)+room(p.Cells))}
	if rest, err = list(&w, rest, "servers", p.Servers); err != nil {
		return nil, err
	}
	if rest, err = list(&w, rest, "cells", p.Cells); err != nil {
		return nil, err
	}
	_, _ = w.Write(rest)
	return append(w.out, '\n'), nil
}

// room is about how long the text of a list is, if its items are like the first one.
func room[T any](items []T) int {
	if len(items) == 0 {
		return 0
	}
	first, err := json.MarshalIndent(items[0], "  ", " ")
	if err != nil {
		return 0 // which comes again
	}
	return len(first) * len(items) * 9 / 8
}

// list writes a text up to an empty list, and the items that belong there; what is
// left of the text begins with the end of the list.
func list[T any](w *indenter, text []byte, name string, items []T) (rest []byte, err error) {
	key := fmt.Appendf(nil, ",%q:[", name)
	i := bytes.Index(text, append(key, ']'))
	if i < 0 {
		return nil, fmt.Errorf("the plan has no list %q", name)
	}
	i += len(key)
	_, _ = w.Write(text[:i])
	item := json.NewEncoder(w)
	for n := range items {
		if n > 0 {
			_, _ = w.Write([]byte{','})
		}
		if err := item.Encode(&items[n]); err != nil {
			return nil, err
		}
	}
	return text[i:], nil
}

// indenter gives the values of a JSON text lines of their own, as json.Indent does,
// which reads each byte as if it might be wrong: that takes longer than all else here.
type indenter struct {
	out     []byte
	depth   int
	opened  bool // a list or map that has nothing in it yet
	quoted  bool
	escaped bool
}

// Write takes the next part of the text.
func (w *indenter) Write(text []byte) (int, error) {
	for i := 0; i < len(text); i++ {
		if w.quoted {
			end := w.endOfQuoted(text, i)
			w.out = append(w.out, text[i:end]...)
			i = end - 1
			continue
		}
		w.structure(text[i])
	}
	return len(text), nil
}

// endOfQuoted is behind a string that begins before an offset, or the end of the text.
func (w *indenter) endOfQuoted(text []byte, at int) int {
	for ; at < len(text); at++ {
		switch c := text[at]; {
		case w.escaped:
			w.escaped = false
		case c == '\\':
			w.escaped = true
		case c == '"':
			w.quoted = false
			return at + 1
		}
	}
	return at
}

// structure takes a byte outside of strings.
func (w *indenter) structure(c byte) {
	closes := c == '}' || c == ']'
	switch {
	case c == '\n': // behind a value
		return
	case closes:
		w.depth--
	}
	if w.opened != closes {
		w.newLine()
	}
	w.quoted = c == '"'
	if w.opened = c == '{' || c == '['; w.opened {
		w.depth++
	}
	w.out = append(w.out, c)
	switch c {
	case ',':
		w.newLine()
	case ':':
		w.out = append(w.out, ' ')
	}
}

func (w *indenter) newLine() {
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, ' ')
	}
}
