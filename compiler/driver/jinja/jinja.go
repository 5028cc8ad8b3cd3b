// Package jinja splits Jinja templates, which Ansible and Salt use, as far as needed to
// find the variables they name. It evaluates nothing.
package jinja

import (
	"regexp"
	"strings"
)

// Part is an expression or a statement of a template.
type Part struct {
	// Statement is its name: "if", "endfor"; "" for an expression.
	Statement string
	// Text is what is evaluated: of a statement, what follows its name.
	Text string
	// Offset is Text's position in the template.
	Offset int
	// Depth counts the enclosing statements whose body may not be reached.
	Depth int
}

// partForm matches an expression, a statement or a comment.
var partForm = regexp.MustCompile(`(?s)\{\{[-+]?(.*?)[-+]?\}\}|\{%[-+]?(.*?)[-+]?%\}|\{#.*?#\}`)

// statement matches a statement's name; no space need follow: {% if(a) %}.
var statement = regexp.MustCompile(`^[A-Za-z_]*`)

// opens are block statements, whose body may not be reached.
var opens = map[string]bool{"if": true, "for": true, "macro": true, "call": true, "block": true, "raw": true}

// Parts returns the parts of a template, in order. The content of {% raw %} is plain text.
func Parts(text string) []Part {
	var all []Part
	depth, raw := 0, false
	for _, m := range partForm.FindAllStringSubmatchIndex(text, -1) {
		switch {
		case m[4] >= 0:
			inner := text[m[4]:m[5]]
			at := m[4] + len(inner) - len(strings.TrimLeft(inner, " \t\r\n"))
			inner = strings.TrimSpace(inner)
			name := statement.FindString(inner)
			rest := strings.TrimLeft(inner[len(name):], " \t\r\n")
			if raw {
				if raw = name != "endraw"; !raw {
					depth--
				}
				continue
			}
			all = append(all, Part{Statement: name, Text: rest, Offset: at + len(inner) - len(rest), Depth: depth})
			switch {
			case name == "raw":
				raw = true
				depth++
			case opens[name]:
				depth++
			case strings.HasPrefix(name, "end") && opens[strings.TrimPrefix(name, "end")]:
				depth = max(0, depth-1)
			}
		case m[2] >= 0 && !raw:
			all = append(all, Part{Text: text[m[2]:m[3]], Offset: m[2], Depth: depth})
		}
	}
	return all
}

// token matches a token of an expression. Numbers come first, so that 1.5 is one token.
var token = regexp.MustCompile(`\d+(?:\.\d+)?|[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|==|!=|<=|>=|//|\*\*|\S`)

// Tokens splits an expression.
func Tokens(expression string) []string { return token.FindAllString(expression, -1) }

// TokenPlaces returns where the tokens of an expression begin and end.
func TokenPlaces(expression string) [][]int { return token.FindAllStringIndex(expression, -1) }

// IsName reports whether a token is a name or a keyword.
func IsName(token string) bool {
	return token[0] == '_' || token[0]|0x20 >= 'a' && token[0]|0x20 <= 'z'
}

// Quoted returns the content of a quoted string; "" for other tokens.
func Quoted(token string) string {
	if len(token) < 2 || token[0] != '"' && token[0] != '\'' || token[len(token)-1] != token[0] {
		return ""
	}
	return token[1 : len(token)-1]
}

// Without returns a template with its parts blanked out.
func Without(text string) string { return partForm.ReplaceAllString(text, " ") }
