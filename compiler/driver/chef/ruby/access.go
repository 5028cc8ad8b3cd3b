package ruby

import "slices"

// levels are the precedence levels of a node's attributes, used in writes.
var levels = []string{"default", "normal", "set", "override", "automatic", "force_default", "force_override", "role_default", "role_override",
	"env_default", "env_override", "default!", "normal!", "override!", "force_default!", "force_override!", "default_unless", "normal_unless",
	"set_unless", "override_unless"}

// presence are methods that do not read a value.
var presence = []string{"key?", "has_key?", "include?", "member?", "attribute?", "exist?", "keys", "size", "length", "empty?", "any?"}

// own are methods of the node itself, unrelated to attributes that a role can declare.
var own = []string{"name", "chef_environment", "environment", "run_list", "run_state", "run_context", "role?", "recipe?", "roles", "recipes", "tags", "tag",
	"save", "policy_name", "policy_group", "platform?", "platform_family?", "loaded_recipe?", "loaded_recipes", "cookbook_collection", "class", "debug_value",
	"key?", "attribute?", "exist?", "has_key?", "include?", "rm", "rm_default", "rm_normal", "rm_override", "consume_attributes", "from_file", "expand!"}

// node reads an access to the node: node['a']['b'], node.read('a', 'b'),
// node.default['a'] = 1.
func (s *scanner) node() {
	from := s.peek(0).from
	s.at++
	if s.peek(0).is("=") || s.peek(0).kind == label {
		return
	}
	if s.peek(0).is(".") || s.peek(0).is("&.") {
		name := s.peek(1).value
		switch {
		case slices.Contains(levels, name):
			s.at += 2
			s.write(from, nil)
			return
		case name == "write" || name == "write!":
			s.at += 2
			s.writeTo(from, nil)
			return
		case slices.Contains(own, name):
			s.at += 2
			return
		case name == "attributes":
			s.at += 2
		}
	}
	path, whole := s.path(nil)
	switch {
	case len(path) > 0:
		s.add(Event{Op: Read, Path: path, Presence: whole && slices.Contains(presence, s.peek(1).value), From: from, To: s.peek(-1).to})
	default:
		s.add(Event{Op: Whole, From: from, To: s.peek(-1).to})
	}
}

// level reads an access to a level in an attribute file: default['a'] = 1.
func (s *scanner) level() {
	from := s.peek(0).from
	s.at++
	s.write(from, nil)
}

// path reads the keys that follow. whole is set if a method without a key follows.
func (s *scanner) path(path []string) (keys []string, whole bool) {
	for {
		switch t := s.peek(0); {
		case t.is("[") && !t.spaced:
			key, ok := keyOf(s.peek(1))
			if !ok || !s.peek(2).is("]") {
				return path, false
			}
			path = append(path, key)
			s.at += 3
		case (t.is(".") || t.is("&.")) && slices.Contains([]string{"read", "read!", "dig", "fetch"}, s.peek(1).value) && s.peek(2).is("("):
			more, length := s.arguments(3)
			if s.peek(1).value == "fetch" && len(more) > 1 {
				more = more[:1] // the second is the default
			}
			if len(more) == 0 {
				return path, false
			}
			path = append(path, more...)
			s.at += length
		default:
			return path, t.is(".") || t.is("&.")
		}
	}
}

func keyOf(t token) (string, bool) {
	return t.value, t.kind == symbol || t.kind == text && t.literal
}

// arguments returns the keys in a list of arguments at a distance, up to the first that
// is not a key, and the number of tokens before the list's end.
func (s *scanner) arguments(distance int) (keys []string, length int) {
	known := true
	for i := distance; ; i++ {
		t := s.peek(i)
		switch {
		case t.is(")"):
			return keys, i + 1
		case t.kind == newline, t.is("("):
			return keys, i
		case t.is(","):
		default:
			key, ok := keyOf(t)
			if known = known && ok; known {
				keys = append(keys, key)
			}
		}
	}
}

// changing are methods that change a list or a map in place.
var changing = []string{"<<", "push", "append", "concat", "unshift", "insert", "merge!", "update", "store", "replace", "delete", "clear", "push!"}

// write reads a write to a level of the node.
func (s *scanner) write(from int, path []string) {
	path, whole := s.path(path)
	to := s.peek(-1).to
	switch t := s.peek(0); {
	case t.is("="):
		s.at++
		s.assign(Event{Op: Write, Path: path, From: from, To: to})
	case t.is("||=") || t.is("&&="):
		s.at++
		s.add(Event{Op: Write, Path: path, Perhaps: true, From: from, To: to})
	case t.is("["): // a computed key
		s.add(Event{Op: Write, Path: path, Grows: true, Perhaps: true, From: from, To: to})
	case t.is("<<") || t.is("+=") || whole && slices.Contains(changing, s.peek(1).value):
		s.add(Event{Op: Write, Path: path, Grows: true, From: from, To: to})
	case t.is("."):
		if s.peek(1).value == "write" {
			s.at += 2
			s.writeTo(from, path)
		}
	case len(path) > 0:
		// the level's mash, kept for a write later
		s.add(Event{Op: Write, Path: path, Grows: true, Perhaps: true, From: from, To: to})
	}
}

// writeTo reads node.write(:default, 'a', 'b', 1).
func (s *scanner) writeTo(from int, path []string) {
	if !s.peek(0).is("(") {
		return
	}
	keys, _ := s.arguments(1)
	if len(keys) > 0 && path == nil && slices.Contains(levels, keys[0]) {
		keys = keys[1:]
	}
	s.add(Event{Op: Write, Path: append(path, keys...), Grows: true, From: from, To: s.peek(0).to})
}

// assign adds an assignment after the reads of its value.
func (s *scanner) assign(e Event) {
	t, next := s.peek(0), s.peek(1)
	single := next.kind == newline || next.is("end") || next.is("}") || next.is("if") || next.is("unless")
	list := t.kind == text && s.text[t.from] == '%' && !t.literal
	e.Scalar = single && !list && (t.kind == text || t.kind == number || t.kind == symbol || t.is("true") || t.is("false"))
	e.Compound = list || t.is("[") || t.is("{") || t.is("lazy") || single && t.is("nil")
	frames, after := len(s.frames), s.top().after
	for s.at < len(s.tokens) && len(s.frames) >= frames {
		t := s.peek(0)
		if len(s.frames) == frames && (t.kind == newline || (t.is("if") || t.is("unless")) && s.operand() || t.is("end") || t.is("}") || t.is(")")) {
			break
		}
		s.step()
	}
	if len(s.frames) == frames {
		s.top().after = after // && within the value does not affect the assignment
	}
	s.add(e)
}
