package yaml

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Scalars that are parsed directly.

// plainIn is the context of a plain scalar, which decides what ends it.
type plainIn uint8

const (
	inBlock plainIn = iota
	inFlow
)

// notFirst are the characters that a plain scalar cannot start with here; a dash can if
// a letter or digit follows.
const notFirst = "-?:,[]{}#&*!|>'\"%@`\t "

// mayEndPlain are the characters that may end a plain scalar.
var mayEndPlain = [256]bool{'\n': true, ' ': true, '\t': true, '#': true, ':': true, ',': true, '[': true, ']': true, '{': true, '}': true, '?': true}

// plainEnd finds the end of a plain scalar on its line, without trailing white space,
// and whether a key's colon ended it; -1 to leave it to the library.
func (d *direct) plainEnd(in plainIn) (end int, colon bool) {
	first := d.text[d.at]
	if strings.IndexByte(notFirst, first) >= 0 {
		if first != '-' || d.at+1 == d.end || !IsNameStart(d.text[d.at+1]) && d.text[d.at+1] != '.' {
			return -1, false
		}
	}
	end = d.at
	for i := d.at; i < d.end; i++ {
		c := d.text[i]
		if !mayEndPlain[c] {
			end = i + 1
			continue
		}
		switch c {
		case '\n':
			return end, false
		case ' ':
			continue
		case '\t':
			return -1, false
		case '#':
			if d.text[i-1] == ' ' {
				return end, false
			}
		case ':':
			if i+1 == d.end || d.text[i+1] == ' ' || d.text[i+1] == '\n' {
				return end, true
			}
			if in == inFlow && strings.IndexByte(",?[]{}", d.text[i+1]) >= 0 {
				return -1, false
			}
		case ',', '[', ']', '{', '}':
			if in == inFlow {
				return end, false
			}
		case '?':
			if in == inFlow {
				return -1, false
			}
		}
		end = i + 1
	}
	return end, false
}

// plain reads a plain scalar on one line.
func (d *direct) plain(in plainIn) *Node {
	end, colon := d.plainEnd(in)
	if end < 0 || colon {
		return nil
	}
	text := d.text[d.at:end]
	v, isText, ok := plainMeaning(text)
	if !ok || text == "<<" || text == "=" || tooLong(v) {
		return nil
	}
	if isText {
		v = d.values.of(text)
	}
	n := d.start()
	n.Span.End = uint32(end)
	n.Value = v
	d.at = end
	return n
}

// textValues caches values of strings: templates repeat the same ones, and each value
// would be allocated separately.
type textValues [256]value.Value

func (t *textValues) of(text string) value.Value {
	last := len(text) - 1
	known := &t[(37*uint(text[0])+11*uint(text[last/2])+uint(text[last])+101*uint(last))%uint(len(t))]
	if same, _ := (*known).(string); same != text {
		*known = text
	}
	return *known
}

// keyEnd is the end of the key that starts here; -1 if there is none.
func (d *direct) keyEnd() int {
	if c := d.text[d.at]; c == '"' || c == '\'' {
		end := d.quoteEnd()
		for end >= 0 && end < d.end && d.text[end] == ' ' {
			end++
		}
		if end >= 0 && end < d.end && d.text[end] == ':' {
			return end
		}
		return -1
	}
	if end, colon := d.plainEnd(inBlock); colon {
		return end
	}
	return -1
}

// key reads a key and moves past its colon. The entry has no value yet.
func (d *direct) key(in plainIn) (e Entry, ok bool) {
	start := d.at
	switch d.text[d.at] {
	case '"', '\'':
		e.Name, _, ok = d.quotedText()
	default:
		e.Name, e.number, ok = d.plainKey(in)
	}
	e.Key = Key{source.Span{Start: uint32(start), End: uint32(d.at)}}
	return e, ok && e.Key.Len() <= longestKey && e.Name != "<<" && d.colon()
}

// plainKey reads the name of an unquoted key; it may be a number.
func (d *direct) plainKey(in plainIn) (name string, number, ok bool) {
	end, colon := d.plainEnd(in)
	if end < 0 || !colon {
		return "", false, false
	}
	name = d.text[d.at:end]
	v, isText, ok := plainMeaning(name)
	if !ok || tooLong(v) {
		return "", false, false
	}
	d.at = end
	if !isText {
		name, number = keyName(v)
	}
	return name, number, true
}

// colon moves past a key's colon, which white space must follow.
func (d *direct) colon() bool {
	for d.at < d.end && d.text[d.at] == ' ' {
		d.at++
	}
	if d.at == d.end || d.text[d.at] != ':' {
		return false
	}
	d.at++
	return d.at == d.end || d.text[d.at] == ' ' || d.text[d.at] == '\n'
}

// quoteEnd is the end of a quoted scalar; -1 if it does not end on its line.
func (d *direct) quoteEnd() int {
	quote := d.text[d.at]
	for i := d.at + 1; i < d.end; i++ {
		switch c := d.text[i]; {
		case c == '\n' || c == '\t':
			return -1
		case c == '\\' && quote == '"':
			i++
		case c == quote && quote == '\'' && i+1 < d.end && d.text[i+1] == '\'':
			i++
		case c == quote:
			return i + 1
		}
	}
	return -1
}

// quoted reads a quoted scalar on one line.
func (d *direct) quoted() *Node {
	n := d.start()
	text, style, ok := d.quotedText()
	if !ok {
		return nil
	}
	n.Value, n.Style, n.Span.End = text, style, uint32(d.at)
	return n
}

// quotedText reads a quoted scalar and moves past it.
func (d *direct) quotedText() (text string, style Style, ok bool) {
	end := d.quoteEnd()
	if end < 0 {
		return "", Plain, false
	}
	inner := d.text[d.at+1 : end-1]
	style, ok = SingleQuoted, true
	if d.text[d.at] == '"' {
		style = DoubleQuoted
		text, ok = unescaped(inner)
	} else {
		text = strings.ReplaceAll(inner, "''", "'")
	}
	d.at = end
	return text, style, ok
}

// escapes are the single-character escapes.
var escapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '"': '"', '\\': '\\'}

func unescaped(text string) (string, bool) {
	if strings.IndexByte(text, '\\') < 0 {
		return text, true
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			i++
			if i == len(text) || text[i] >= utf8.RuneSelf {
				return "", false
			}
			known := false
			if c, known = escapes[text[i]]; !known {
				return "", false
			}
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// blockScalar reads a literal or folded scalar whose first line sets the indentation.
func (d *direct) blockScalar(col int) *Node {
	n := d.start()
	n.Style = Literal
	if d.text[d.at] == '>' {
		n.Style = Folded
	}
	n.Span.End = endOfBlockScalar(d.file.Text[:d.end], uint32(d.at), col)
	d.at++
	chomp := byte(0)
	if d.at < d.end && (d.text[d.at] == '-' || d.text[d.at] == '+') {
		chomp = d.text[d.at]
		d.at++
	}
	header := d.text[d.at:d.lineEnd(d.at)]
	if trimmed := strings.TrimLeft(header, " "); trimmed != "" && (trimmed[0] != '#' || len(trimmed) == len(header)) || strings.IndexByte(header, '\t') >= 0 {
		return nil
	}
	d.at = min(d.at+len(header)+1, d.end)
	lines, ok := d.blockLines(col)
	if !ok {
		return nil
	}
	if n.Style == Folded {
		if n.Value, ok = folded(lines, chomp); !ok {
			return nil
		}
	} else {
		n.Value = literal(lines, chomp)
	}
	if !d.nextLine() || d.col > col {
		return nil
	}
	return n
}

// blockLines reads the lines of a block scalar, without their indentation but with
// their line ends.
func (d *direct) blockLines(col int) (lines []string, ok bool) {
	indent := -1
	for d.at < d.end {
		end := d.lineEnd(d.at)
		line := d.text[d.at:min(end+1, d.end)]
		spaces := 0
		for spaces < end-d.at && line[spaces] == ' ' {
			spaces++
		}
		empty := spaces == end-d.at
		switch {
		case empty && spaces > 0 && (indent < 0 || end == d.end): // its allowed depth is left to the library
			return nil, false
		case empty:
			lines = append(lines, line[min(spaces, max(indent, 0)):])
		case indent < 0 && spaces <= col:
			return nil, false // only empty lines
		case indent < 0 && line[spaces] == '\t', spaces < indent && line[spaces] == '\t':
			return nil, false
		case spaces < indent:
			return lines, true
		default:
			if indent < 0 {
				indent = spaces
			}
			lines = append(lines, line[indent:])
		}
		d.at += len(line)
	}
	return lines, indent >= 0
}

// literal joins lines; chomp decides about the empty ones at the end.
func literal(lines []string, chomp byte) string {
	text := strings.Join(lines, "")
	if chomp == '+' {
		return text
	}
	trimmed := strings.TrimRight(text, "\n")
	if chomp == 0 && len(trimmed) < len(text) {
		return text[:len(trimmed)+1]
	}
	return trimmed
}

// folded joins lines with spaces; more indented lines are left to the library.
func folded(lines []string, chomp byte) (string, bool) {
	var b bytes.Buffer
	last := len(lines)
	for last > 0 && lines[last-1] == "\n" {
		last--
	}
	for i, line := range lines[:last] {
		text := strings.TrimSuffix(line, "\n")
		if text == "" {
			b.WriteByte('\n')
			continue
		}
		if text[0] == ' ' || text[0] == '\t' {
			return "", false
		}
		b.WriteString(text)
		if i+1 < last && lines[i+1] != "\n" {
			b.WriteByte(' ')
		}
	}
	if last > 0 && strings.HasSuffix(lines[last-1], "\n") && chomp != '-' {
		b.WriteByte('\n')
	}
	if chomp == '+' {
		b.WriteString(strings.Join(lines[last:], ""))
	}
	return b.String(), true
}
