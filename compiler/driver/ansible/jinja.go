package ansible

import (
	"regexp"
	"strings"
)

// mention is a variable that a template names.
type mention struct {
	// path is the variable and the keys below it that stand in the text.
	path []string
	// open says that a key that is computed, or a method, follows.
	open bool
	// certain says that the template reads it whatever else it finds.
	certain bool
	// any says that it cannot be told which variable is meant; there is no path.
	any bool
}

// jinjaToken is a piece of an expression. Numbers go first, so that 1.5 is one.
var jinjaToken = regexp.MustCompile(`\d+(?:\.\d+)?|[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|==|!=|<=|>=|//|\*\*|\S`)

// jinjaPart is an expression, a statement or a comment.
var jinjaPart = regexp.MustCompile(`(?s)\{\{[-+]?(.*?)[-+]?\}\}|\{%[-+]?(.*?)[-+]?%\}|\{#.*?#\}`)

// words are names in an expression that are no variables.
var words = map[string]bool{"if": true, "else": true, "and": true, "or": true, "not": true, "in": true, "is": true,
	"true": true, "false": true, "none": true, "True": true, "False": true, "None": true}

// opens are statements with an end of their own, in which a text may not be reached.
var opens = map[string]bool{"if": true, "for": true, "macro": true, "call": true, "filter": false, "block": true, "raw": true}

// mentions are the variables that a template's text names, in its order.
func mentions(text string) []mention {
	var all []mention
	depth, raw := 0, false
	for _, m := range jinjaPart.FindAllStringSubmatchIndex(text, -1) {
		switch {
		case m[4] >= 0: // a statement
			inner := strings.TrimSpace(text[m[4]:m[5]])
			name, rest, _ := strings.Cut(inner, " ")
			if raw {
				raw = name != "endraw"
				if !raw {
					depth--
				}
				continue
			}
			all = append(all, statement(name, rest, depth)...)
			switch {
			case name == "raw":
				raw = true
				depth++
			case opens[name]:
				depth++
			case strings.HasPrefix(name, "end") && opens[strings.TrimPrefix(name, "end")]:
				depth--
			}
		case m[2] >= 0 && !raw:
			all = append(all, lessCertain(expression(text[m[2]:m[3]]), depth > 0)...)
		}
	}
	return all
}

// statement are the mentions of a statement's own expression.
func statement(name, rest string, depth int) []mention {
	switch name {
	case "if", "set", "with":
		if _, value, is := strings.Cut(rest, "="); is && name != "if" {
			rest = value
		}
		return lessCertain(expression(rest), depth > 0)
	case "for":
		_, items, _ := strings.Cut(rest, " in ")
		return lessCertain(expression(items), depth > 0)
	case "include", "import", "from", "extends", "call":
		return []mention{{any: true}}
	}
	return lessCertain(expression(rest), true)
}

func lessCertain(all []mention, perhaps bool) []mention {
	if perhaps {
		for i := range all {
			all[i].certain = false
		}
	}
	return all
}

// harmless are lookups that read no variables but those in their arguments.
var harmless = map[string]bool{"env": true, "file": true, "pipe": true, "password": true, "url": true, "fileglob": true, "first_found": true,
	"items": true, "dict": true, "sequence": true, "csvfile": true, "ini": true, "lines": true, "random_choice": true, "together": true, "nested": true, "subelements": true, "flattened": true, "indexed_items": true}

// expression are the mentions of an expression. What stands behind `if`, `and` or
// `or`, or in front of an `if`, is perhaps not evaluated.
func expression(text string) []mention {
	tokens := jinjaToken.FindAllString(text, -1)
	var all []mention
	certain := true
	for _, t := range tokens {
		if t == "if" {
			certain = false
		}
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		before := ""
		if i > 0 {
			before = tokens[i-1]
		}
		switch {
		case t == "and" || t == "or":
			certain = false
		case !isName(t) || words[t] || before == "." || before == "|" || before == "is" || before == "not" && i > 1 && tokens[i-2] == "is":
		case i+1 < len(tokens) && tokens[i+1] == "=": // a keyword argument
		case (t == "lookup" || t == "query" || t == "q") && i+2 < len(tokens) && tokens[i+1] == "(":
			if !harmless[strings.TrimPrefix(quoted(tokens[i+2]), builtin)] {
				all = append(all, mention{any: true})
			}
		case t == "vars" || t == "hostvars":
			all = append(all, mention{any: true})
		default:
			path, next := chain(tokens, i)
			if !isPresence(tokens[next:]) {
				open := next < len(tokens) && (tokens[next] == "[" || tokens[next] == "(")
				all = append(all, mention{path: path, open: open, certain: certain})
			}
			i = next - 1
		}
	}
	return all
}

func isName(t string) bool { return t[0] == '_' || t[0]|0x20 >= 'a' && t[0]|0x20 <= 'z' }

// quoted is what a text in quotes says; "" for all else.
func quoted(t string) string {
	if len(t) < 2 || t[0] != '"' && t[0] != '\'' || t[len(t)-1] != t[0] {
		return ""
	}
	return t[1 : len(t)-1]
}

// chain is a variable with the keys behind it, and the number of the token after
// that. A key that is computed ends it.
func chain(tokens []string, at int) (path []string, next int) {
	path, next = []string{tokens[at]}, at+1
	for {
		switch {
		case next+1 < len(tokens) && tokens[next] == "." && isName(tokens[next+1]):
			if next+2 < len(tokens) && tokens[next+2] == "(" {
				return path, next + 2 // a method
			}
			path = append(path, tokens[next+1])
			next += 2
		case next+2 < len(tokens) && tokens[next] == "[" && tokens[next+2] == "]" && quoted(tokens[next+1]) != "":
			path = append(path, quoted(tokens[next+1]))
			next += 3
		default:
			return path, next
		}
	}
}

// isPresence says that an expression goes on with `is defined`, `is not defined` or
// the like.
func isPresence(rest []string) bool {
	if len(rest) > 1 && rest[0] == "is" {
		rest = rest[1:]
		if rest[0] == "not" {
			rest = rest[1:]
		}
		return len(rest) > 0 && (rest[0] == "defined" || rest[0] == "undefined")
	}
	return false
}
