package salt

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver/jinja"
)

// mention is a place in a text that reads the pillar.
type mention struct {
	path     []string
	from, to int
	// any says that it cannot be told what is read; there is no path.
	any bool
	// inside says that only the map at the path is asked, for its keys: nothing below it
	// is read.
	inside bool
	// certain says that the template reads it whatever else it finds.
	certain bool
}

// expressions are the mentions of an expression that stands at an offset of a text.
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

// expression is one that is taken apart.
type expression struct {
	text   string
	places [][]int
	offset int
	closes map[int]int // the brackets that close those at tokens
}

// match finds which brackets belong together.
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

// at is a token; "" outside of the expression.
func (e expression) at(i int) string {
	if i < 0 || i >= len(e.places) {
		return ""
	}
	return e.text[e.places[i][0]:e.places[i][1]]
}

// mention is what begins at a token, and the number of the one at which to go on; 0 if
// the pillar is not read there.
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

// chain is the path that stands behind a map. It goes on inside of the arguments of a
// method, which may read more.
func (e expression) chain(i int) (m mention, next int) {
	inside := 0 // where the first method's arguments go on
	for {
		switch {
		case e.at(i) == "." && e.at(i+2) == "(":
			literal := jinja.Quoted(e.at(i + 3))
			switch e.at(i + 1) {
			case "get", "pop", "setdefault":
				if literal == "" || e.at(i+4) != ")" && e.at(i+4) != "," {
					return m, max(inside, i+3) // a key that is computed: all below
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

// closing is the bracket that closes the one at a token; the end if none does.
func (e expression) closing(i int) int {
	if end, closed := e.closes[i]; closed {
		return end
	}
	return len(e.places)
}

// readers are the functions that read the pillar at the path that is their first
// argument, and wholes those that read it as a whole, or nobody can tell where.
var (
	readers = map[string]bool{"pillar.get": true, "pillar.item": true, "pillar.raw": true, "pillar.fetch": true, "pillar.keys": true,
		"config.get": true, "config.option": true}
	wholes = map[string]bool{"pillar.items": true, "pillar.data": true, "pillar.ext": true, "pillar.obfuscate": true, "pillar.filter_by": true,
		"config.merge": true, "config.items": true, "defaults.get": true}
)

// call is the call of a function, behind `salt`.
func (e expression) call(i int) (m mention, next int) {
	function := ""
	switch {
	case e.at(i) == "[" && e.at(i+2) == "]" && e.at(i+3) == "(":
		function, i = jinja.Quoted(e.at(i+1)), i+4
	case e.at(i) == "." && e.at(i+2) == "." && e.at(i+4) == "(":
		function, i = e.at(i+1)+"."+e.at(i+3), i+5
	case e.at(i) == "[":
		return mention{any: true}, i + 1 // a function that is computed
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
