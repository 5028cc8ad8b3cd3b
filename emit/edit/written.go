package edit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// writeValue replaces an alias by its content, under an anchor if it has a name for one.
func (s *Sharing) writeValue(u *use, alias *yaml.Node, anchor string) {
	if u.entry == nil || u.merge || u.in.Style == yaml.Flow {
		text := s.Flow(s.Content(nil, alias, false))
		if anchor != "" {
			text = anchor + " " + text
		}
		s.edit(alias.Span, text)
		return
	}
	text := s.behind(u.entry, s.Content(u.entry, alias, true))
	if anchor != "" {
		text = " " + anchor + text
	}
	span := valueSpan(s.file, u.entry)
	if head, rest, several := strings.Cut(text, s.nl); several {
		// a comment after the alias stays on its line
		end := lineContentEnd(s.file, span.End)
		text = head + s.file.Slice(source.Span{Start: span.End, End: end}) + s.nl + rest
		span.End = end
	}
	s.edit(span, text)
}

// writeMerged replaces a map's first merge key by the entries of all of them.
func (s *Sharing) writeMerged(in *yaml.Node) {
	merges := s.byMap[in]
	column := columnOf(s.file, merges[0].entry.Key)
	var parts []string
	for i := range in.Entries {
		e := &in.Entries[i]
		switch {
		case !e.Merged:
		case in.Style == yaml.Flow:
			parts = append(parts, s.scalar(e.Name)+": "+s.Flow(s.Content(nil, e.Value, false)))
		default:
			parts = append(parts, strings.TrimLeft(s.entry(e.Name, s.Content(e, e.Value, true), column), " "))
		}
	}
	separator := ", "
	if in.Style != yaml.Flow {
		separator = s.nl + strings.Repeat(" ", column)
	}
	for i, u := range merges {
		if i == 0 && len(parts) > 0 {
			s.edit(u.span(), strings.Join(parts, separator))
			continue
		}
		start := s.file.LineStart(u.entry.Key.Span.Start)
		if in.Style != yaml.Flow && strings.TrimSpace(s.file.Slice(source.Span{Start: start, End: u.entry.Key.Span.Start})) == "" {
			s.edit(source.Span{Start: start, End: s.file.LineEnd(endOf(u.entry))}, "")
			continue
		}
		s.edit(s.withSeparator(in, u.entry, len(parts) > 0), "")
	}
}

// dropLost removes the entries that later ones of the same name override: editing those would
// bring them back.
func (s *Sharing) dropLost() {
	for _, in := range s.lost {
		if within(in.Span, s.gone) {
			continue
		}
		var starts []uint32
		for _, list := range [][]yaml.Entry{in.Entries, in.Lost(), in.Merges()} {
			for i := range list {
				if !list[i].Merged {
					starts = append(starts, keyStart(s.file, list[i].Key))
				}
			}
		}
		slices.Sort(starts)
		for i := range in.Lost() {
			start := keyStart(s.file, in.Lost()[i].Key)
			next, _ := slices.BinarySearch(starts, start+1)
			gone := source.Span{Start: start, End: starts[next]} // a later entry has the same name
			s.gone, s.removed = append(s.gone, gone), append(s.removed, gone)
		}
	}
}

// writeKeys replaces aliases in keys by their content.
func (s *Sharing) writeKeys() {
	for _, e := range s.keys {
		s.edit(e.Key.Span, s.scalar(e.Name))
	}
}

// withSeparator covers a merge key to remove, with the text up to the next entry that stays or,
// if none does, back to the one before. The first merge key may stay as its expansion.
func (s *Sharing) withSeparator(in *yaml.Node, gone *yaml.Entry, firstStays bool) source.Span {
	var all []*yaml.Entry
	for i := range in.Entries {
		if !in.Entries[i].Merged {
			all = append(all, &in.Entries[i])
		}
	}
	own := len(all)
	for i := range in.Merges() {
		all = append(all, &in.Merges()[i])
	}
	stays := map[*yaml.Entry]bool{}
	for i, e := range all {
		stays[e] = i < own || i == own && firstStays
	}
	slices.SortFunc(all, func(a, b *yaml.Entry) int { return cmp.Compare(a.Key.Span.Start, b.Key.Span.Start) })
	i := slices.Index(all, gone)
	switch {
	case slices.ContainsFunc(all[i+1:], func(e *yaml.Entry) bool { return stays[e] }):
		return source.Span{Start: gone.Key.Span.Start, End: all[i+1].Key.Span.Start}
	case i > 0:
		return source.Span{Start: endOf(all[i-1]), End: endOf(gone)}
	}
	return source.Span{Start: gone.Key.Span.Start, End: endOf(gone)}
}

// dropAnchor removes the anchor from its old place.
func (s *Sharing) dropAnchor(n *yaml.Node, name string) {
	at := strings.LastIndex(string(s.file.Text[:n.Span.Start]), "&"+name)
	if at < 0 {
		return
	}
	start, end := uint32(at), uint32(at+1+len(name))
	switch {
	case int(end) < len(s.file.Text) && s.file.Text[end] == ' ':
		end++
	case start > 0 && s.file.Text[start-1] == ' ':
		start--
	}
	s.edit(source.Span{Start: start, End: end}, "")
}
