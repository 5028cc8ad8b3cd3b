package ruby

import "slices"

// word reads a keyword, a method's name or an access to the node.
func (s *scanner) word(t token, begins bool) {
	last := s.peek(-1)
	method := last.is(".") || last.is("&.") || last.is("::")
	switch {
	case method && t.value == "node" && slices.Contains(havingNode, s.peek(-2).value):
		s.node()
		return
	case method:
		s.at++
		return
	}
	switch t.value {
	case "node", "@node":
		s.node()
		return
	case "if", "unless", "while", "until", "case", "for", "begin", "def", "class", "module":
		s.keyword(t.value, begins)
	case "rescue":
		if s.operand() && !begins {
			s.top().modifier = len(s.events)
		} else {
			s.top().perhaps = true
		}
	case "else", "elsif", "when", "in", "ensure":
		s.top().perhaps, s.top().begins = true, true
	case "then":
		s.top().head, s.top().begins = false, true
	case "and", "or":
		s.top().after = true
	case "return", "exit", "next", "break":
		s.stop(t)
	case "do":
		if f := s.top(); f.awaitsDo {
			f.awaitsDo, f.head, f.begins = false, false, true
		} else {
			s.do()
		}
	case "end":
		s.closeUntil("end")
		s.immediately()
	default:
		if begins || s.top().begins {
			s.statement(t)
		}
		if s.attributes && slices.Contains(levels, t.value) && s.peek(1).is("[") {
			s.level()
			return
		}
	}
	s.at++
}

// havingNode are the objects whose method `node` returns the converging node.
var havingNode = []string{"run_context", "@run_context", "self", "Chef"}

// keyword opens what `end` closes, or begins a trailing condition.
func (s *scanner) keyword(name string, begins bool) {
	if s.operand() && !begins && slices.Contains([]string{"if", "unless", "while", "until"}, name) {
		s.top().modifier = len(s.events)
		return
	}
	f := frame{closing: "end"}
	switch name {
	case "begin":
	case "def", "class", "module":
		f.phase, f.perhaps = AnyTime, true
		if name == "def" && s.endless() {
			return
		}
	case "while", "until", "for":
		f.awaitsDo = true
		fallthrough
	default:
		f.head, f.perhaps = true, true
	}
	s.open(f)
	s.top().begins = name == "begin"
}

// endless reports whether a definition has no `end`: def a = 1.
func (s *scanner) endless() bool {
	for i := 1; i < statement; i++ {
		t := s.peek(i)
		if t.kind == newline {
			return false
		}
		if before := s.peek(i - 1); t.is("=") && (before.is(")") || i == 2) {
			return true
		}
	}
	return false
}

// stop marks what follows as possibly unreached.
func (s *scanner) stop(t token) {
	if t.value == "next" || t.value == "break" {
		for i := len(s.frames) - 1; i >= 0; i-- {
			if s.frames[i].perhaps {
				return // out of a loop only
			}
		}
	}
	if s.top().phase == Compile {
		s.stopped = true
	}
}

// do opens the block of a method, usually of a resource.
func (s *scanner) do() {
	f := frame{closing: "end"}
	if !s.top().command {
		f = s.block(f)
	}
	if r := s.declared(); r >= 0 && !f.perhaps && f.phase == Compile {
		f.resource = r + 1
	}
	s.open(f)
}

// declared returns the resource that the statement has declared; -1 if none.
func (s *scanner) declared() int {
	for i := len(s.events) - 1; i >= max(s.top().first, len(s.events)-statement); i-- {
		if s.events[i].Op == Resource {
			return i
		}
	}
	return -1
}

// immediately marks a resource that acts while recipes are compiled:
// `end.run_action(:install)`.
func (s *scanner) immediately() {
	if !s.peek(1).is(".") || s.peek(2).value != "run_action" {
		return
	}
	r := s.declared()
	for i := max(r, 0); i < len(s.events) && r >= 0; i++ {
		if e := &s.events[i]; i == r || e.Resource == r {
			e.Phase, e.Perhaps = AnyTime, true
		}
	}
}

// statement adds what a statement declares: a resource, an inclusion or a resource's
// property.
func (s *scanner) statement(t token) {
	argument := s.peek(1)
	if argument.is("(") {
		argument = s.peek(2)
	}
	around := s.top().resource - 1 // the innermost resource
	switch {
	case t.value == "include_recipe":
		name := ""
		if argument.kind == text && argument.literal {
			name = argument.value
		}
		s.add(Event{Op: Include, Name: name, From: t.from, To: argument.to})
	case around >= 0:
		s.property(around, t, argument)
	case (argument.kind == text || argument.kind == word && argument.spaced && !keywords[argument.value] && argument.value != "do" || argument.is("::")) && s.opensBlock():
		s.declare(t, argument)
	case argument.kind == text && argument.spaced && lower(t.value):
		s.declare(t, argument)
	}
}

func lower(name string) bool { return name != "" && name[0] >= 'a' && name[0] <= 'z' }

// opensBlock reports whether the statement has a `do`.
func (s *scanner) opensBlock() bool {
	for i := 1; i < statement; i++ {
		switch t := s.peek(i); {
		case t.is("do"):
			return true
		case t.kind == newline:
			return false
		}
	}
	return false
}

func (s *scanner) declare(t, argument token) {
	e := Event{Op: Resource, Properties: map[string]string{}, From: t.from, To: argument.to}
	if argument.kind == text && argument.literal {
		e.Name = t.value + "[" + argument.value + "]"
	}
	e.Properties["type"] = t.value
	s.add(e)
	s.top().command = s.peek(1).spaced && !s.peek(1).is("(") && !slices.Contains(looping, t.value)
}

// property adds a property of a resource. The action :nothing means that it acts only
// when notified.
func (s *scanner) property(around int, t, argument token) {
	e := &s.events[around]
	value := ""
	if argument.kind == text && argument.literal {
		value = argument.value
	}
	e.Properties[t.value] = value
	if t.value == "action" {
		e.Waits = !s.acts(argument)
	}
}

// acts reports whether a resource's actions, from an argument on, are literal and more
// than :nothing.
func (s *scanner) acts(argument token) bool {
	if argument.kind == symbol || argument.kind == text && argument.literal {
		return argument.value != "nothing"
	}
	some := false
	for i := 2; argument.is("[") && i < statement; i++ {
		switch t := s.peek(i); {
		case t.kind == symbol && t.value != "nothing":
			some = true
		case t.is("]"):
			return some
		case !t.is(","):
			return false
		}
	}
	return false
}
