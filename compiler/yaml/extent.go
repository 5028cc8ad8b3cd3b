package yaml

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// The YAML library reports only where a node starts, by line and column. This file
// finds the byte offsets of its start and end. In-place edits of the user's text rely
// on them; every edited text is parsed again and compared with the intended result
// (emit/heat).

// yamlLines are the offsets of line starts as YAML counts them: U+0085, U+2028,
// U+2029 and a single carriage return also end a line.
func yamlLines(text []byte) []uint32 {
	lines := append(make([]uint32, 0, bytes.Count(text, []byte("\n"))+1), 0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n', c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			lines = append(lines, uint32(i+1))
		case c == 0xc2 && i+1 < len(text) && text[i+1] == 0x85:
			lines = append(lines, uint32(i+2))
		case c == 0xe2 && i+2 < len(text) && text[i+1] == 0x80 && (text[i+2] == 0xa8 || text[i+2] == 0xa9):
			lines = append(lines, uint32(i+3))
		}
	}
	return lines
}

func isASCII(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if binary.LittleEndian.Uint64(text)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// offset is the start of a node according to the library.
func (p *parser) offset(y *yaml.Node) uint32 {
	if y.Line < 1 || y.Line > len(p.lines) {
		return uint32(len(p.file.Text))
	}
	at := p.lines[y.Line-1]
	if at == 0 && bytes.HasPrefix(p.file.Text, []byte("\ufeff")) {
		at = 3
	}
	if p.ascii {
		return min(at+uint32(y.Column-1), uint32(len(p.file.Text)))
	}
	for i := 1; i < y.Column && int(at) < len(p.file.Text); i++ {
		if p.file.Text[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRune(p.file.Text[at:])
		at += uint32(size)
	}
	return at
}

// skipProperties skips anchors and tags, and the white space after them.
func skipProperties(text []byte, at uint32) uint32 {
	for int(at) < len(text) && (text[at] == '&' || text[at] == '!') {
		ends := "}" // besides white space
		if text[at] == '&' {
			ends = ",[]{}"
		}
		for int(at) < len(text) && !isWhite(text[at]) && strings.IndexByte(ends, text[at]) < 0 {
			at++
		}
		at = skipWhiteAndComments(text, at)
	}
	return at
}

func skipWhiteAndComments(text []byte, at uint32) uint32 {
	for int(at) < len(text) {
		switch {
		case isWhite(text[at]):
			at++
		case text[at] == '#' && (at == 0 || isWhite(text[at-1])):
			for int(at) < len(text) && text[at] != '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func isWhite(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func endOfDoubleQuoted(text []byte, at uint32) uint32 {
	for at++; int(at) < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return uint32(len(text))
}

func endOfSingleQuoted(text []byte, at uint32) uint32 {
	for at++; int(at) < len(text); at++ {
		if text[at] != '\'' {
			continue
		}
		if int(at)+1 < len(text) && text[at+1] == '\'' {
			at++
			continue
		}
		return at + 1
	}
	return uint32(len(text))
}

// nextLine is U+0085, a line end that is folded like the others.
var nextLine = []byte("\u0085")

// endOfPlain finds the end of a plain scalar by matching its value: only white space
// and line ends of the text are folded in it.
func endOfPlain(text []byte, at uint32, value string) uint32 {
	for i := 0; i < len(value); {
		if !isWhite(value[i]) {
			at, i = at+1, i+1
			continue
		}
		for i < len(value) && isWhite(value[i]) {
			i++
		}
		for int(at) < len(text) && (isWhite(text[at]) || bytes.HasPrefix(text[at:], nextLine) || bytes.HasPrefix(text[max(at, 1)-1:], nextLine)) {
			at++
		}
	}
	return min(at, uint32(len(text)))
}

// endOfBlockScalar is the end of the last non-empty line of a literal or folded
// scalar. indent is the column of the enclosing collection.
func endOfBlockScalar(text []byte, at uint32, indent int) uint32 {
	end := lineEnd(text, at)
	content := explicitIndent(text[at:end], indent)
	keep := keepsEmptyLines(text[at:end])
	for next := end; int(next) < len(text); {
		start := next + 1
		if text[next] == '\r' {
			start++
		}
		if int(start) >= len(text) {
			break
		}
		next = lineEnd(text, start)
		line := text[start:next]
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		if spaces == len(line) {
			if keep {
				end = next
			}
			continue // empty: part of the scalar if content follows
		}
		if content < 0 {
			content = max(spaces, indent+1)
		}
		if spaces < content {
			break
		}
		end = next
	}
	return end
}

// keepsEmptyLines reports whether a block scalar's header has the indicator "+".
func keepsEmptyLines(header []byte) bool {
	return len(header) > 1 && bytes.IndexByte(header[1:min(len(header), 3)], '+') >= 0
}

// explicitIndent reads the indentation indicator of a block scalar's header; -1 if none.
func explicitIndent(header []byte, indent int) int {
	for _, c := range header[1:] {
		switch {
		case '1' <= c && c <= '9':
			return max(indent, 0) + int(c-'0')
		case c != '+' && c != '-':
			return -1
		}
	}
	return -1
}

// lineEnd is the end of the line of an offset, before the line end itself.
func lineEnd(text []byte, at uint32) uint32 {
	i := bytes.IndexByte(text[at:], '\n')
	if i < 0 {
		return uint32(len(text))
	}
	end := at + uint32(i)
	if end > at && text[end-1] == '\r' {
		end--
	}
	return end
}

// closing finds the bracket that ends a flow collection, after its last child.
func closing(text []byte, at uint32) uint32 {
	for int(at) < len(text) {
		at = skipWhiteAndComments(text, at)
		if int(at) >= len(text) {
			break
		}
		if c := text[at]; c == ']' || c == '}' {
			return at + 1
		}
		at++ // a comma, or the colon of an empty value
	}
	return uint32(len(text))
}
