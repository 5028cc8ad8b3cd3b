package ruby

import "slices"

// Recipe returns the events of a recipe, in order. ok is false if the text is too large
// or nested too deeply.
func Recipe(text string) (events []Event, ok bool) { return scan(text, Compile, false) }

// Attributes returns the events of an attribute file, in which default, normal and the
// other levels are the node's.
func Attributes(text string) (events []Event, ok bool) { return scan(text, Compile, true) }

// Library returns the events of code that others call: a library, a custom resource or a
// definition.
func Library(text string) (events []Event, ok bool) { return scan(text, AnyTime, false) }

// Template returns the events of an ERB template.
func Template(text string) (events []Event, ok bool) { return scan(codeOf(text), Converge, false) }

// Bounds of a text: bytes, and nesting of blocks and brackets.
const (
	largest   = 512 << 10
	mostOpen  = 500
	statement = 300 // tokens inspected around one
)

// frame is an open construct: a block, a condition or a bracket.
type frame struct {
	closing string // "end", "}", ")", "]"
	// head is the condition of an `if` or the like, up to the end of its line.
	head bool
	// perhaps is set if its content may not happen, or may be repeated.
	perhaps bool
	phase   Phase
	// resource is 1 + the index of the event that declares the resource whose block this
	// is; 0 for others.
	resource int
	// of the current statement
	first, modifier int
	after           bool // after && or the like
	begins          bool // the next token begins a statement
	command         bool // a resource without brackets, whose `do` follows its name
	awaitsDo        bool // the `do` of a loop
}

// scanner makes one pass over the tokens.
type scanner struct {
	text       string
	tokens     []token
	at         int
	attributes bool
	events     []Event
	frames     []frame
	stopped    bool
	lost       bool // nested too deeply
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

// inside scans the interpolations of a string.
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

// open pushes a frame, which inherits from the one on top.
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

// closeUntil closes the innermost frame that a token closes, and the frames in it.
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

// endStatement moves a statement's events behind its trailing condition, and marks them
// as possible.
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

// add adds an event, with the certainty and phase of the enclosing frames.
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

// operand reports whether a value ends right before the token.
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

// block sets the frame's phase and certainty by the method that takes the block.
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
	// deferring are methods whose block runs when a resource converges.
	deferring = []string{"lazy", "block", "only_if", "not_if", "verify", "action"}
	// stored are methods whose block runs at some time, or never.
	stored = []string{"proc", "lambda", "new", "define_method", "at_exit", "on", "converge_by"}
	// looping are methods whose block runs any number of times.
	looping = []string{"search", "loop", "find_resource", "find_resource!", "catch", "each"}
)

// method returns the name of the method whose block begins here, and whether it has a
// receiver.
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
