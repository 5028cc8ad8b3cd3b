package ruby

import "slices"

// Recipe finds the events of a recipe, in their order. ok is false if the text is
// too large, or nested too deep.
func Recipe(text string) (events []Event, ok bool) { return scan(text, Compile, false) }

// Attributes finds the events of an attribute file, in which default, normal and the
// other levels are the node's.
func Attributes(text string) (events []Event, ok bool) { return scan(text, Compile, true) }

// Library finds the events of a text that is called by others: a library, a custom
// resource, a definition.
func Library(text string) (events []Event, ok bool) { return scan(text, AnyTime, false) }

// Template finds the events of an ERB template.
func Template(text string) (events []Event, ok bool) { return scan(codeOf(text), Converge, false) }

// The bounds of a text: in bytes, and in blocks and brackets within each other.
const (
	largest   = 512 << 10
	mostOpen  = 500
	statement = 300 // tokens that are looked at around one
)

// frame is what is open: a block, a condition, a bracket.
type frame struct {
	closing string // "end", "}", ")", "]"
	// head is the condition of an `if` or its like, up to its line's end.
	head bool
	// perhaps says that what is inside need not happen, or may happen often.
	perhaps bool
	phase   Phase
	// resource is 1 and the number of the event that declares the resource whose block
	// it is; 0 for others.
	resource int
	// of the statement that is being read
	first, modifier int
	after           bool // after && or its like
	begins          bool // the next token begins a statement
	command         bool // it is a resource without brackets, whose `do` follows whatever its name is
	awaitsDo        bool // the `do` of a loop
}

// scanner goes over the tokens once.
type scanner struct {
	text       string
	tokens     []token
	at         int
	attributes bool
	events     []Event
	frames     []frame
	stopped    bool
	lost       bool // too deep
	depth      int
}

func scan(text string, phase Phase, attributes bool) (events []Event, ok bool) {
	if len(text) > largest {
		return nil, false
	}
	s := &scanner{text: text, tokens: lex(text, 0, len(text), 0), attributes: attributes}
	s.frames = []frame{{phase: phase, perhaps: phase == AnyTime, modifier: -1, begins: true}}
	s.run()
	return s.events, !s.lost
}

func (s *scanner) run() {
	for s.at < len(s.tokens) {
		s.step()
	}
	for i := len(s.frames) - 1; i >= 0; i-- {
		s.endStatement(&s.frames[i])
	}
}

func (s *scanner) top() *frame { return &s.frames[len(s.frames)-1] }

func (s *scanner) peek(distance int) token {
	if i := s.at + distance; i >= 0 && i < len(s.tokens) {
		return s.tokens[i]
	}
	return token{kind: newline}
}

// step reads one token, or an access to the node.
func (s *scanner) step() {
	t, f := s.peek(0), s.top()
	begins := f.begins
	f.begins = false
	switch t.kind {
	case newline:
		s.endStatement(f)
		f.head, f.awaitsDo, f.begins = false, false, true
		if f.closing == ")" || f.closing == "]" {
			f.begins = false
		}
	case text:
		s.inside(t)
	case word:
		s.word(t, begins)
		return
	case mark:
		s.mark(t)
	case symbol, number, label:
	}
	s.at++
}

// inside looks at what a text computes.
func (s *scanner) inside(t token) {
	if len(t.inner) == 0 || s.depth >= deepest {
		return
	}
	outer, at := s.tokens, s.at
	s.tokens, s.at = t.inner, 0
	s.depth++
	base := len(s.frames)
	s.open(frame{closing: "#{"})
	for s.at < len(s.tokens) {
		s.step()
	}
	for len(s.frames) > base {
		s.close()
	}
	s.depth--
	s.tokens, s.at = outer, at
}

// open opens a frame in the one on top; what is given adds to that.
func (s *scanner) open(f frame) {
	if len(s.frames) >= mostOpen {
		s.lost = true
		s.at = len(s.tokens)
		return
	}
	if above := s.top(); f.phase == Compile || above.phase == AnyTime {
		f.phase = above.phase
	}
	f.first, f.modifier, f.begins = len(s.events), -1, true
	if f.closing == ")" || f.closing == "]" {
		f.begins = false
	}
	s.frames = append(s.frames, f)
}

func (s *scanner) close() {
	s.endStatement(s.top())
	if len(s.frames) > 1 {
		s.frames = s.frames[:len(s.frames)-1]
	}
}

// closeUntil closes the innermost frame that a token closes, and what was left open
// in it.
func (s *scanner) closeUntil(closing string) {
	for i := len(s.frames) - 1; i > 0 && s.frames[i].closing != "#{"; i-- {
		if s.frames[i].closing == closing {
			for len(s.frames) > i {
				s.close()
			}
			return
		}
	}
}

// endStatement puts a statement's events behind the condition that stands after it,
// and says that they need not happen.
func (s *scanner) endStatement(f *frame) {
	if m := f.modifier; m >= 0 && m <= len(s.events) && f.first <= m {
		for i := f.first; i < m; i++ {
			s.events[i].Perhaps = true
		}
		condition := slices.Clone(s.events[m:])
		for i := f.first; i < m; i++ {
			if s.events[i].Resource >= f.first {
				s.events[i].Resource += len(condition)
			}
		}
		copy(s.events[f.first+len(condition):], s.events[f.first:m])
		copy(s.events[f.first:], condition)
	}
	f.first, f.modifier, f.after, f.command = len(s.events), -1, false, false
}

// add notes an event, as likely and as late as the frames around it say.
func (s *scanner) add(e Event) {
	e.Phase, e.Resource = s.top().phase, -1
	e.Perhaps = e.Perhaps || s.stopped
	for _, f := range s.frames {
		e.Perhaps = e.Perhaps || f.perhaps && !f.head || f.after
		if f.resource > 0 {
			e.Resource = f.resource - 1
		}
	}
	s.events = append(s.events, e)
}

// operand says that a value ends right before the token.
func (s *scanner) operand() bool {
	switch last := s.peek(-1); last.kind {
	case text, symbol, number:
		return true
	case word:
		return !keywords[last.value] && last.value != "begin"
	case mark:
		return last.value == ")" || last.value == "]" || last.value == "}"
	}
	return false
}

func (s *scanner) mark(t token) {
	switch t.value {
	case "(", "[":
		s.open(frame{closing: map[string]string{"(": ")", "[": "]"}[t.value]})
	case ")", "]", "}":
		s.closeUntil(t.value)
	case "{":
		s.brace()
	case "&&", "||", "?", "||=", "&&=":
		s.top().after = true
	case ",":
		if c := s.top().closing; c == ")" || c == "]" {
			s.top().after = false
		}
	}
}

// brace opens a block, or a map.
func (s *scanner) brace() {
	f := frame{closing: "}"}
	switch last := s.peek(-1); {
	case last.is("->"):
		f.phase, f.perhaps = AnyTime, true
	case s.operand():
		f = s.block(frame{closing: "}"})
	}
	s.open(f)
}

// block is what the method does with its block that stands before it.
func (s *scanner) block(f frame) frame {
	name, receiver := s.method()
	switch {
	case slices.Contains(deferring, name) && !receiver:
		f.phase = Converge
		if name == "action" {
			f.phase, f.perhaps = AnyTime, true
		}
	case slices.Contains(stored, name):
		f.phase, f.perhaps = AnyTime, true
	case receiver || slices.Contains(looping, name):
		f.perhaps = true
	}
	return f
}

var (
	// deferring are methods whose block is called when a resource converges.
	deferring = []string{"lazy", "block", "only_if", "not_if", "verify", "action"}
	// stored are methods whose block is called at some time, or never.
	stored = []string{"proc", "lambda", "new", "define_method", "at_exit", "on", "converge_by"}
	// looping are methods whose block is called any number of times.
	looping = []string{"search", "loop", "find_resource", "find_resource!", "catch", "each"}
)

// method is the name of the method whose block begins here, and whether it is some
// object's.
func (s *scanner) method() (name string, receiver bool) {
	level := 0
	for i := -1; s.at+i >= 0 && i > -statement; i-- {
		t := s.peek(i)
		switch {
		case t.kind == mark && (t.value == ")" || t.value == "]" || t.value == "}"):
			level++
		case t.kind == mark && (t.value == "(" || t.value == "[" || t.value == "{"):
			if level--; level < 0 {
				return name, receiver
			}
			if level == 0 && s.peek(i-1).is("->") {
				return "lambda", false
			}
		case level > 0:
		case t.kind == newline, t.kind == mark && (t.value == "=" || t.value == "," && name == "" || t.value == "=>" || t.value == "|"):
			if t.kind != mark || t.value != "," {
				return name, receiver
			}
		case t.kind == word && !keywords[t.value]:
			name = t.value
			if before := s.peek(i - 1); before.is(".") || before.is("&.") || before.is("::") {
				return name, true
			}
			if t.from == s.peek(-1).from {
				return name, false // right before the block: lazy {
			}
		}
	}
	return name, receiver
}
