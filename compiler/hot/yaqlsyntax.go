package hot

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// yaqlTokens are the tokens of a query, in the order in which the library matches them
// (yaql/language/lexer.py, and the operators of yaql/language/factory.py).
var yaqlTokens = []struct {
	kind    byte
	pattern *regexp.Regexp
}{
	{' ', regexp.MustCompile(`^[ \t\r\n]+`)},
	{'v', regexp.MustCompile(`^\$\w*`)},
	{'v', regexp.MustCompile(`^\d+(?:\.?\d+)?\b`)},
	{'f', regexp.MustCompile(`^[A-Za-z_]\w*\(`)},
	{'w', regexp.MustCompile(`^[A-Za-z_]\w*`)},
	{'v', regexp.MustCompile(`^(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|` + "`(?:[^`\\\\]|\\\\.)*`)")},
	{'o', regexp.MustCompile(`^(?:=>|\?\.|=~|!~|>=|<=|!=|->|[.*/><=])`)},
	{'u', regexp.MustCompile(`^[-+]`)},
	{'b', regexp.MustCompile(`^[()\[\]{},]`)},
}

var yaqlBinary = []string{"mod", "in", "and", "or"}

// yaqlSyntax checks the syntax of a query: alternating operands and operators, and matching
// brackets.
func yaqlSyntax(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
		return nil // the library's idea of a letter is not reproduced
	}
	y := &yaqlParser{}
	for at := 0; at < len(text); {
		kind, token := yaqlToken(text[at:])
		private := kind == 'w' && strings.HasPrefix(token, "__")
		if kind == 0 || private || at > 0 && isWordByte(text[at-1]) && isWordByte(text[at]) {
			return fmt.Errorf("invalid query: unknown token %q at character %d", text[at:at+1], at+1)
		}
		if !y.take(kind, token) {
			return fmt.Errorf("invalid query: unexpected %q at character %d", token, at+1)
		}
		if y.lost {
			return nil
		}
		at += len(token)
	}
	if !y.operand || len(y.open) > 0 {
		return fmt.Errorf("invalid query: unexpected end")
	}
	return nil
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func yaqlToken(text string) (kind byte, token string) {
	for _, t := range yaqlTokens {
		if token = t.pattern.FindString(text); token != "" {
			return t.kind, token
		}
	}
	return 0, ""
}

// yaqlParser tracks what may follow.
type yaqlParser struct {
	open    []byte // the open brackets; f of a function
	operand bool   // one has just ended
	fresh   bool   // a bracket was just opened
	lost    bool   // the rest is not checked
}

func (y *yaqlParser) take(kind byte, token string) bool {
	if kind == 'w' {
		switch {
		case slices.Contains(yaqlBinary, token):
			kind = 'o'
		case token == "not":
			kind = 'n'
		default:
			kind = 'v'
		}
	}
	fresh := y.fresh
	if kind != ' ' {
		y.fresh = false
	}
	switch kind {
	case ' ':
	case 'v':
		return y.value()
	case 'f':
		return y.begin('f', !y.operand)
	case 'n': // a prefix
		return !y.operand
	case 'u':
		y.operand = false // after an operand it is binary, before one a prefix
	case 'o':
		return y.operator(token)
	case 'b':
		return y.bracket(token[0], fresh)
	}
	return true
}

func (y *yaqlParser) value() bool {
	was := y.operand
	y.operand = true
	return !was
}

func (y *yaqlParser) operator(token string) bool {
	was := y.operand
	y.operand = false
	return was && (token != "=>" || len(y.open) > 0 && y.top() != '(')
}

func (y *yaqlParser) top() byte {
	if len(y.open) == 0 {
		return 0
	}
	return y.open[len(y.open)-1]
}

func (y *yaqlParser) begin(bracket byte, may bool) bool {
	y.open, y.operand, y.fresh = append(y.open, bracket), false, true
	return may
}

func (y *yaqlParser) bracket(c byte, fresh bool) bool {
	switch c {
	case '(', '{':
		return y.begin(c, !y.operand)
	case '[': // an index, behind an operand
		return y.begin(c, true)
	case ',':
		if y.top() == 0 || y.top() == '(' {
			return false
		}
		y.lost = !y.operand // arguments may be left out
		y.operand = false
		return true
	}
	opening := y.top()
	matches := c == ')' && (opening == '(' || opening == 'f') || c == ']' && opening == '[' || c == '}' && opening == '{'
	if !matches || !y.operand && (!fresh || opening == '(') {
		return false
	}
	y.open, y.operand = y.open[:len(y.open)-1], true
	return true
}
