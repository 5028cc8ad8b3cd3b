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
	for _, c := range text {
		switch {
		case w.quoted:
			w.quoted = c != '"' || w.escaped
			w.escaped = c == '\\' && !w.escaped
		case c == '\n': // behind a value
			continue
		case c == '}' || c == ']':
			if w.depth--; !w.opened {
				w.newLine()
			}
			w.opened = false
		default:
			if w.opened {
				w.newLine()
			}
			w.quoted = c == '"'
			w.opened = c == '{' || c == '['
			if w.opened {
				w.depth++
			}
		}
		if w.out = append(w.out, c); w.quoted {
			continue
		}
		switch c {
		case ',':
			w.newLine()
		case ':':
			w.out = append(w.out, ' ')
		}
	}
	return len(text), nil
}

func (w *indenter) newLine() {
	w.out = append(w.out, '\n')
	for range w.depth {
		w.out = append(w.out, ' ')
	}
}
