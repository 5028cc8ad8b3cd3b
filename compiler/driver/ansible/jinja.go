package ansible

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver/jinja"
)

// mention is a variable that a template names.
type mention struct {
	// path is the variable and its literal keys.
	path []string
	// open is set if a computed key or a method follows.
	open bool
	// certain is set if every evaluation of the template reads it.
	certain bool
	// any is set if the variable's name is computed; there is no path.
	any bool
}

// words are names in an expression that are not variables.
var words = map[string]bool{"if": true, "else": true, "and": true, "or": true, "not": true, "in": true, "is": true,
	"true": true, "false": true, "none": true, "True": true, "False": true, "None": true}

// mentions returns the variables that a template names, in order.
func mentions(text string) []mention {
	var all []mention
	for _, p := range jinja.Parts(text) {
		if p.Statement != "" {
			all = append(all, statement(p.Statement, p.Text, p.Depth)...)
			continue
		}
		all = append(all, lessCertain(expression(p.Text), p.Depth > 0)...)
	}
	return all
}

// statement returns the mentions in a statement's own expression.
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

// harmless are lookups that read no variables other than those in their arguments.
var harmless = map[string]bool{"env": true, "file": true, "pipe": true, "password": true, "url": true, "fileglob": true, "first_found": true,
	"items": true, "dict": true, "sequence": true, "csvfile": true, "ini": true, "lines": true, "random_choice": true, "together": true, "nested": true, "subelements": true, "flattened": true, "indexed_items": true}

// expression returns the mentions in an expression. What follows `if`, `and` or `or`,
// or precedes an `if`, may not be evaluated.
func expression(text string) []mention {
	tokens := jinja.Tokens(text)
	var all []mention
	certain := !slices.Contains(tokens, "if")
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		before := ""
		if i > 0 {
			before = tokens[i-1]
		}
		switch {
		case t == "and" || t == "or":
			certain = false
		case !jinja.IsName(t) || words[t] || before == "." || before == "|" || before == "is" || before == "not" && i > 1 && tokens[i-2] == "is":
		case i+1 < len(tokens) && tokens[i+1] == "=": // a keyword argument
		case (t == "lookup" || t == "query" || t == "q") && i+2 < len(tokens) && tokens[i+1] == "(":
			if !harmless[strings.TrimPrefix(jinja.Quoted(tokens[i+2]), builtin)] {
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

// chain returns a variable with the keys that follow it, and the index of the next token.
// A computed key ends it.
func chain(tokens []string, at int) (path []string, next int) {
	path, next = []string{tokens[at]}, at+1
	for {
		switch {
		case next+1 < len(tokens) && tokens[next] == "." && jinja.IsName(tokens[next+1]):
			if next+2 < len(tokens) && tokens[next+2] == "(" {
				return path, next + 2 // a method
			}
			path = append(path, tokens[next+1])
			next += 2
		case next+2 < len(tokens) && tokens[next] == "[" && tokens[next+2] == "]" && jinja.Quoted(tokens[next+1]) != "":
			path = append(path, jinja.Quoted(tokens[next+1]))
			next += 3
		default:
			return path, next
		}
	}
}

// isPresence reports whether an expression continues with `is defined`, `is not defined`
// or the like.
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
