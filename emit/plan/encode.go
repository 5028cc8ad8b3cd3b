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
	frame, err := json.MarshalIndent(short, "", " ")
	if err != nil {
		return nil, err
	}
	w := writer{rest: append(frame, '\n')}
	w.out.Grow(len(w.rest) + room(p.Servers) + room(p.Cells))
	if err := list(&w, "servers", p.Servers); err != nil {
		return nil, err
	}
	if err := list(&w, "cells", p.Cells); err != nil {
		return nil, err
	}
	w.out.Write(w.rest)
	return w.out.Bytes(), nil
}

// writer puts lists into the text of a plan that has them empty.
type writer struct {
	out  bytes.Buffer
	rest []byte // of the text
}

// room is how long the text of a list may be, if its items are like the first one.
func room[T any](items []T) int {
	if len(items) == 0 {
		return 0
	}
	first, err := json.MarshalIndent(items[0], "  ", " ")
	if err != nil {
		return 0 // which comes again
	}
	return (len(first) + len(",\n  ")) * len(items) * 9 / 8
}

// list writes the text up to an empty list, and the items that belong there.
func list[T any](w *writer, name string, items []T) error {
	before, after, found := bytes.Cut(w.rest, fmt.Appendf(nil, "\n %q: []", name))
	if !found {
		return fmt.Errorf("the plan has no list %q", name)
	}
	w.rest = after
	w.out.Write(before)
	fmt.Fprintf(&w.out, "\n %q: [", name)
	item := json.NewEncoder(&w.out)
	item.SetIndent("  ", " ")
	for i := range items {
		w.out.WriteString("\n  ")
		if err := item.Encode(&items[i]); err != nil {
			return err
		}
		w.out.Truncate(w.out.Len() - 1) // the line end
		if i+1 < len(items) {
			w.out.WriteByte(',')
		}
	}
	if len(items) > 0 {
		w.out.WriteString("\n ")
	}
	w.out.WriteByte(']')
	return nil
}
