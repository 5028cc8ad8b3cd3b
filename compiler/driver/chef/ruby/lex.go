// Package ruby finds what recipes do with a node's attributes.
//
// It is not a Ruby parser: it recognises words, strings, and what opens and closes a
// block, which is enough to know which attribute is named where, whether that place is
// certainly reached, and whether Chef reaches it while compiling or converging. In doubt
// an event is marked as one that may happen, or may happen at any time.
package ruby

import "strings"

type kind uint8

const (
	word    kind = iota // an identifier, a keyword, a constant
	text                // a string; its value is known if literal is set
	symbol              // :name
	number              // of any form
	label               // name: before a value
	mark                // an operator or bracket
	newline             // the end of a statement, to the lexer's knowledge
)

// token is a Ruby token.
type token struct {
	kind     kind
	value    string
	from, to int
	spaced   bool // preceded by a space
	literal  bool // of a string: no interpolation
	inner    []token
	open     bool // an unterminated string
}

func (t token) is(value string) bool { return (t.kind == mark || t.kind == word) && t.value == value }

// deepest bounds the nesting of strings.
const deepest = 20

// lexer reads a text once, from start to end.
type lexer struct {
	text    string
	at, end int
	depth   int
	tokens  []token
	heredoc []heredoc // whose bodies begin after this line
}

type heredoc struct {
	token           int
	word            string
	indented, plain bool
}

func lex(text string, from, end, depth int) []token {
	l := &lexer{text: text, at: from, end: end, depth: depth}
	if from == 0 {
		l.beginLine()
	}
	for l.at < l.end {
		l.next()
	}
	return l.tokens
}

func (l *lexer) add(k kind, value string, from int, spaced bool) *token {
	l.tokens = append(l.tokens, token{kind: k, value: value, from: from, to: l.at, spaced: spaced})
	return &l.tokens[len(l.tokens)-1]
}

func (l *lexer) last() token {
	if len(l.tokens) == 0 {
		return token{kind: newline}
	}
	return l.tokens[len(l.tokens)-1]
}

// peek returns the byte at a distance; 0 at the end.
func (l *lexer) peek(distance int) byte {
	if l.at+distance >= l.end {
		return 0
	}
	return l.text[l.at+distance]
}

func (l *lexer) next() {
	start := l.at
	for l.peek(0) == ' ' || l.peek(0) == '\t' || l.peek(0) == '\r' || l.peek(0) == '\\' && l.peek(1) == '\n' {
		if l.peek(0) == '\\' {
			l.at++
		}
		l.at++
	}
	spaced := l.at > start
	from := l.at
	switch c := l.peek(0); {
	case c == 0:
		l.at = max(l.at, l.end)
	case c == '\n':
		l.endOfLine()
	case c == '#':
		for l.peek(0) != 0 && l.peek(0) != '\n' {
			l.at++
		}
	case isLetter(c):
		l.word(from, spaced)
	case '0' <= c && c <= '9':
		for isLetter(l.peek(0)) || '0' <= l.peek(0) && l.peek(0) <= '9' || l.peek(0) == '.' && '0' <= l.peek(1) && l.peek(1) <= '9' {
			l.at++
		}
		l.add(number, l.text[from:l.at], from, spaced)
	case c == '@' || c == '$':
		for l.at++; isLetter(l.peek(0)) || l.peek(0) == '@' || '0' <= l.peek(0) && l.peek(0) <= '9'; {
			l.at++
		}
		l.add(word, l.text[from:l.at], from, spaced)
	case c == '\'' || c == '"' || c == '`':
		l.at++
		l.quoted(from, spaced, 0, c, c != '\'')
	case c == ':':
		l.colon(from, spaced)
	case c == '%' && l.beginsValue(spaced) && l.percent(from, spaced):
	case c == '/' && l.beginsValue(spaced):
		l.at++
		l.quoted(from, spaced, 0, '/', true).literal = false
	case c == '<' && l.peek(1) == '<' && l.here(from, spaced):
	default:
		l.mark(from, spaced)
	}
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}

// endOfLine ends the statement, unless it continues: after an operator, or before a
// line that begins with a dot.
func (l *lexer) endOfLine() {
	from := l.at
	l.at++
	for _, h := range l.heredoc {
		l.body(h)
	}
	l.heredoc = nil
	l.beginLine()
	if l.last().kind == newline {
		return
	}
	rest := strings.TrimLeft(l.text[l.at:min(l.end, l.at+ahead)], " \t\r\n")
	if strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "..") || strings.HasPrefix(rest, "&.") {
		return
	}
	switch last := l.last(); {
	case last.kind == label:
		return
	case last.kind == mark && strings.Contains(" && || , . &. + - * = ( [ ! => == != || << ", " "+last.value+" "):
		return
	}
	l.add(newline, "\n", from, false)
}

// beginLine skips what is not code: a block comment, and what follows __END__.
func (l *lexer) beginLine() {
	if strings.HasPrefix(l.text[l.at:l.end], "=begin") {
		if i := strings.Index(l.text[l.at:l.end], "\n=end"); i >= 0 {
			l.at += i + len("\n=end")
		} else {
			l.at = l.end
		}
	}
	if strings.HasPrefix(l.text[l.at:l.end], "__END__\n") {
		l.at = l.end
	}
}

func (l *lexer) word(from int, spaced bool) {
	for isLetter(l.peek(0)) || '0' <= l.peek(0) && l.peek(0) <= '9' {
		l.at++
	}
	if c := l.peek(0); (c == '?' || c == '!') && l.peek(1) != '=' && !(c == '?' && l.peek(1) == ' ' && strings.Contains(l.line(), " : ")) {
		l.at++
	} else if (c == '?' || c == '!') && l.peek(1) == '=' && l.peek(2) == '=' {
		l.at++
	}
	value := l.text[from:l.at]
	if l.peek(0) == ':' && l.peek(1) != ':' && !l.last().is("?") {
		l.at++
		l.add(label, value, from, spaced)
		return
	}
	l.add(word, value, from, spaced)
}

// ahead is the lookahead, in bytes.
const ahead = 1000

// line is the rest of the line.
func (l *lexer) line() string {
	line, _, _ := strings.Cut(l.text[l.at:min(l.end, l.at+ahead)], "\n")
	return line
}

func (l *lexer) colon(from int, spaced bool) {
	l.at++
	switch c := l.peek(0); {
	case c == ':':
		l.at++
		l.add(mark, "::", from, spaced)
	case isLetter(c):
		start := l.at
		for isLetter(l.peek(0)) || '0' <= l.peek(0) && l.peek(0) <= '9' || l.peek(0) == '?' || l.peek(0) == '!' {
			l.at++
		}
		l.add(symbol, l.text[start:l.at], from, spaced)
	case c == '"' || c == '\'':
		l.at++
		l.quoted(from, spaced, 0, c, c == '"')
	default:
		l.add(mark, ":", from, spaced)
	}
}

// beginsValue reports whether a value can begin here, so that / and % are not operators.
func (l *lexer) beginsValue(spaced bool) bool {
	switch last := l.last(); last.kind {
	case newline, label:
		return true
	case mark:
		return last.value != ")" && last.value != "]" && last.value != "}"
	case word:
		return keywords[last.value] || spaced && l.peek(1) != ' ' && l.peek(1) != '='
	}
	return false
}

// keywords are those that a value follows.
var keywords = map[string]bool{"if": true, "unless": true, "while": true, "until": true, "and": true, "or": true, "not": true, "return": true,
	"when": true, "in": true, "then": true, "do": true, "else": true, "elsif": true, "case": true, "puts": true}

// marks are the operators of more than one character that matter here, longest
// first.
var marks = []string{"<=>", "===", "**=", "||=", "&&=", "<<=", "...", "&&", "||", "=>", "==", "!=", "=~", "!~", "<=", ">=", "->", "+=", "-=", "*=", "/=", "|=", "<<", ">>", "**", "..", "&."}

func (l *lexer) mark(from int, spaced bool) {
	for _, m := range marks {
		if strings.HasPrefix(l.text[l.at:l.end], m) {
			l.at += len(m)
			l.add(mark, m, from, spaced)
			return
		}
	}
	l.at++
	if c := l.text[from:l.at]; c == ";" {
		l.add(newline, c, from, spaced)
	} else {
		l.add(mark, c, from, spaced)
	}
}
