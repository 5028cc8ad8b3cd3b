package source

import (
	"bytes"
	"fmt"
	"sort"
)

// Edit replaces the bytes of a span. An empty span inserts.
type Edit struct {
	Span Span
	New  string
}

// Apply applies the edits. Edits at the same offset keep their order; overlapping edits
// are an error of the caller.
func Apply(text []byte, edits []Edit) ([]byte, error) {
	sorted := append([]Edit(nil), edits...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Span.Start < sorted[j].Span.Start })
	size := len(text)
	for _, e := range sorted {
		size += len(e.New) - e.Span.Len()
	}
	var out bytes.Buffer
	out.Grow(size)
	at := uint32(0)
	for _, e := range sorted {
		if e.Span.Start < at || e.Span.End < e.Span.Start || int(e.Span.End) > len(text) {
			return nil, fmt.Errorf("edits overlap or leave the text at byte %d", e.Span.Start)
		}
		out.Write(text[at:e.Span.Start])
		out.WriteString(e.New)
		at = e.Span.End
	}
	out.Write(text[at:])
	return out.Bytes(), nil
}
