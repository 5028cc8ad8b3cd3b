package ruby

import "strings"

// quoted reads a string to its end; opening is the bracket that nests, 0 for none.
func (l *lexer) quoted(from int, spaced bool, opening, closing byte, computes bool) *token {
	var value strings.Builder
	var inner []token
	level := 0
	for l.at < l.end {
		c := l.text[l.at]
		switch {
		case c == '\\' && l.at+1 < l.end:
			value.WriteByte(l.text[l.at+1])
			l.at += 2
			continue
		case c == closing && level == 0:
			l.at++
			t := l.add(text, value.String(), from, spaced)
			t.literal, t.inner = inner == nil, inner
			return t
		case c == closing:
			level--
		case opening != 0 && c == opening:
			level++
		case computes && c == '#' && l.peek(1) == '{':
			inner = append(inner, l.computed()...)
			continue
		}
		value.WriteByte(c)
		l.at++
	}
	t := l.add(text, value.String(), from, spaced)
	t.inner, t.open = inner, closing != 0
	return t
}

// computed reads #{…} and returns its tokens, as statements of their own.
func (l *lexer) computed() []token {
	from := l.at + 2
	l.at = from
	for level := 0; l.at < l.end; l.at++ {
		switch c := l.text[l.at]; {
		case c == '"' || c == '\'':
			for l.at++; l.at < l.end && l.text[l.at] != c; l.at++ {
				if l.text[l.at] == '\\' {
					l.at++
				}
			}
		case c == '{':
			level++
		case c == '}' && level > 0:
			level--
		case c == '}':
			end := l.at
			l.at++
			if l.depth >= deepest {
				return []token{}
			}
			return append(lex(l.text, from, end, l.depth+1), token{kind: newline, from: end, to: end})
		}
	}
	l.at = min(l.at, l.end)
	return []token{}
}

var closings = map[byte]byte{'(': ')', '[': ']', '{': '}', '<': '>'}

// percent reads %w[…] and the like; false if it is not one.
func (l *lexer) percent(from int, spaced bool) bool {
	form, distance := byte('Q'), 1
	if c := l.peek(1); isLetter(c) {
		form, distance = c, 2
	}
	opening := l.peek(distance)
	if strings.IndexByte("wWiIqQrsx", form) < 0 || opening == 0 || isLetter(opening) || opening <= ' ' || '0' <= opening && opening <= '9' {
		return false
	}
	closing, nests := closings[opening]
	if !nests {
		opening, closing = 0, opening
	}
	l.at += distance + 1
	t := l.quoted(from, spaced, opening, closing, strings.IndexByte("WIQrx", form) >= 0)
	if strings.IndexByte("qQ", form) < 0 {
		t.literal = false // a list, a regular expression, a command
	}
	return true
}

// here reads the start of a here-document; false if it is not one.
func (l *lexer) here(from int, spaced bool) bool {
	rest := l.text[l.at+2 : l.end]
	h := heredoc{}
	if rest != "" && (rest[0] == '~' || rest[0] == '-') {
		h.indented, rest = true, rest[1:]
	}
	if rest == "" {
		return false
	}
	end := 0
	switch c := rest[0]; {
	case c == '\'' || c == '"' || c == '`':
		end = strings.IndexByte(rest[1:], c) + 2
		if end < 3 {
			return false
		}
		h.word, h.plain = rest[1:end-1], c == '\''
	case isLetter(c) && (h.indented || 'A' <= c && c <= 'Z' && l.beginsValue(spaced)):
		for end < len(rest) && (isLetter(rest[end]) || '0' <= rest[end] && rest[end] <= '9') {
			end++
		}
		h.word = rest[:end]
	default:
		return false
	}
	if strings.ContainsAny(h.word, "\n") {
		return false
	}
	l.at = l.end - len(rest) + end
	l.add(text, "", from, spaced)
	h.token = len(l.tokens) - 1
	l.heredoc = append(l.heredoc, h)
	return true
}

// body reads the lines of a here-document.
func (l *lexer) body(h heredoc) {
	from := l.at
	for l.at < l.end {
		line, _, more := strings.Cut(l.text[l.at:l.end], "\n")
		bare := strings.TrimRight(line, "\r")
		if h.indented {
			bare = strings.TrimLeft(bare, " \t")
		}
		end := l.at
		l.at += len(line)
		if more {
			l.at++
		}
		if bare != h.word {
			continue
		}
		t := &l.tokens[h.token]
		t.value = l.text[from:end]
		t.literal = true
		if inside := (&lexer{text: l.text, at: from, end: end, depth: l.depth}); !h.plain {
			if parts := inside.quoted(from, false, 0, 0, true).inner; parts != nil {
				t.inner, t.literal = parts, false
			}
		}
		return
	}
}

// Code returns code with its comments and strings, except for interpolations, replaced by
// spaces. ok is false if a string is unterminated or the code is too large.
func Code(code string) (bare string, ok bool) {
	if len(code) > largest {
		return "", false
	}
	kept := blank(code)
	ok = keep(kept, code, lex(code, 0, len(code), 0))
	return string(kept), ok
}

// TemplateCode is Code for an ERB template.
func TemplateCode(text string) (code string, ok bool) { return Code(codeOf(text)) }

func keep(kept []byte, from string, tokens []token) (ok bool) {
	ok = true
	for _, t := range tokens {
		switch {
		case t.kind == text:
			ok = keep(kept, from, t.inner) && ok && !t.open
		case t.kind != newline: // with a here-document, it extends over its body
			copy(kept[t.from:t.to], from[t.from:t.to])
		case t.value == ";":
			kept[t.from] = ';'
		}
	}
	return ok
}
