package salt

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver/jinja"
)

// mention is a read of the pillar.
type mention struct {
	path     []string
	from, to int
	// any is set if the path is computed or the whole pillar.
	any bool
	// inside is set if only the keys of the map at the path are read.
	inside bool
	// certain is set if every rendering of the template reads it.
	certain bool
}

// expressions returns the mentions in an expression at an offset of a text.
func expressions(text string, offset int, certain bool) []mention {
	e := expression{text: text, places: jinja.TokenPlaces(text), offset: offset}
	e.match()
	for i := range e.places {
		if e.at(i) == "if" {
			certain = false
		}
	}
	var all []mention
	for i := 0; i < len(e.places); i++ {
		t := e.at(i)
		if t == "and" || t == "or" {
			certain = false
			continue
		}
		if !jinja.IsName(t) || e.at(i-1) == "." {
			continue
		}
		m, next := e.mention(i)
		if next == 0 {
			continue
		}
		m.certain = certain && !m.any
		all = append(all, m)
		i = next - 1
	}
	return all
}

// expression is a tokenized expression.
type expression struct {
	text   string
	places [][]int
	offset int
	closes map[int]int // tokens of closing brackets, by their opening ones
}

// match pairs the brackets.
func (e *expression) match() {
	e.closes = map[int]int{}
	var open []int
	for i := range e.places {
		switch e.at(i) {
		case "(":
			open = append(open, i)
		case ")":
			if last := len(open) - 1; last >= 0 {
				e.closes[open[last]], open = i, open[:last]
			}
		}
	}
}

// at returns a token; "" outside the expression.
func (e expression) at(i int) string {
	if i < 0 || i >= len(e.places) {
		return ""
	}
	return e.text[e.places[i][0]:e.places[i][1]]
}

// mention returns the mention that begins at a token, and the index of the token to
// continue at; 0 if the pillar is not read there.
func (e expression) mention(i int) (m mention, next int) {
	switch name := strings.Trim(e.at(i), "_"); name {
	case "pillar":
		if e.at(i+1) == "=" || e.at(i+1) == "(" {
			return mention{}, 0
		}
		m, next = e.chain(i + 1)
	case "opts":
		switch {
		case e.at(i+1) == "[" && jinja.Quoted(e.at(i+2)) == "pillar" && e.at(i+3) == "]":
			m, next = e.chain(i + 4)
		case e.at(i+1) == "." && e.at(i+2) == "pillar":
			m, next = e.chain(i + 3)
		default:
			return mention{}, 0
		}
	case "salt":
		m, next = e.call(i + 1)
	default:
		return mention{}, 0
	}
	if next == 0 {
		return mention{}, 0
	}
	if e.at(i-1) == "in" {
		m.inside = true // for its keys
	}
	m.from, m.to = e.offset+e.places[i][0], e.offset+e.places[min(next, len(e.places))-1][1]
	return m, next
}

// chain returns the path that follows a map. next is inside the arguments of a method,
// which may contain more reads.
func (e expression) chain(i int) (m mention, next int) {
	inside := 0 // where the first method's arguments continue
	for {
		switch {
		case e.at(i) == "." && e.at(i+2) == "(":
			literal := jinja.Quoted(e.at(i + 3))
			switch e.at(i + 1) {
			case "get", "pop", "setdefault":
				if literal == "" || e.at(i+4) != ")" && e.at(i+4) != "," {
					return m, max(inside, i+3) // a computed key: all below
				}
			case "keys", "copy":
				m.inside = true
				return m, max(inside, i+3)
			default:
				return m, max(inside, i+3)
			}
			m.path = append(m.path, literal)
			if inside == 0 {
				inside = i + 4
			}
			i = e.closing(i+2) + 1
		case e.at(i) == "." && e.at(i+1) != "" && jinja.IsName(e.at(i+1)):
			m.path = append(m.path, e.at(i+1))
			i += 2
		case e.at(i) == "[" && e.at(i+2) == "]" && jinja.Quoted(e.at(i+1)) != "":
			m.path = append(m.path, jinja.Quoted(e.at(i+1)))
			i += 3
		case inside > 0:
			return m, inside
		default:
			return m, i
		}
	}
}

// closing returns the bracket that closes the one at a token; the end if none does.
func (e expression) closing(i int) int {
	if end, closed := e.closes[i]; closed {
		return end
	}
	return len(e.places)
}

// readers are functions that read the pillar at the path in their first argument;
// wholes read all of it, or an unknown part.
var (
	readers = map[string]bool{"pillar.get": true, "pillar.item": true, "pillar.raw": true, "pillar.fetch": true, "pillar.keys": true,
		"config.get": true, "config.option": true}
	wholes = map[string]bool{"pillar.items": true, "pillar.data": true, "pillar.ext": true, "pillar.obfuscate": true, "pillar.filter_by": true,
		"config.merge": true, "config.items": true, "defaults.get": true}
)

// call returns the mention of a function call that follows `salt`.
func (e expression) call(i int) (m mention, next int) {
	function := ""
	switch {
	case e.at(i) == "[" && e.at(i+2) == "]" && e.at(i+3) == "(":
		function, i = jinja.Quoted(e.at(i+1)), i+4
	case e.at(i) == "." && e.at(i+2) == "." && e.at(i+4) == "(":
		function, i = e.at(i+1)+"."+e.at(i+3), i+5
	case e.at(i) == "[":
		return mention{any: true}, i + 1 // a computed function
	default:
		return mention{}, 0
	}
	switch literal := jinja.Quoted(e.at(i)); {
	case wholes[function]:
		return mention{any: true}, i
	case !readers[function]:
		return mention{}, 0
	case literal == "" || e.at(i+1) != ")" && e.at(i+1) != ",":
		return mention{any: true}, i
	default:
		return mention{path: strings.Split(literal, ":"), inside: function == "pillar.keys"}, i + 1
	}
}
