package salt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// keys is a name's path: at its colons, as Salt writes it, else at its dots
// (runtime/driver/salt takes it apart in the same way).
func keys(name string) []string {
	if strings.Contains(name, ":") {
		return strings.Split(name, ":")
	}
	return strings.Split(name, ".")
}

// changes stands between a state's ID and the path in its changes.
const changes = ".changes."

// names checks the names of inputs and outputs.
func (l *lowering) names() {
	seen := map[string]string{} // what is an input as a whole, and what has parts that are
	for _, in := range l.Role.Inputs {
		path := keys(in.Name)
		if slices.Contains(path, "") {
			l.WrongName("input", in.Name, in.At, "has an empty part", nameHint)
			continue
		}
		for i := range path {
			at, kind := strings.Join(path[:i+1], ":"), "has an input in it"
			if i == len(path)-1 {
				kind = "is an input"
			}
			if other := seen[at]; other != "" && (other != kind || kind == "is an input") {
				l.WrongName("input", in.Name, in.At, at+" "+other+" already: give one map, or its parts", nameHint)
				break
			}
			seen[at] = kind
		}
	}
	for _, o := range l.Role.Outputs {
		if o.Resource != "" {
			continue
		}
		state, path, isChange := strings.Cut(o.Name, changes)
		switch {
		case isChange && (state == "" || slices.Contains(keys(path), "")):
			l.WrongName("output", o.Name, o.At, "a part of a state's changes is named `ID.changes.stdout`", nameHint)
		case !isChange && slices.Contains(keys(o.Name), ""):
			l.WrongName("output", o.Name, o.At, "has an empty part", nameHint)
		}
	}
}

const nameHint = "an input is a path in the pillar, `db:url` or `db.url`; an output is a grain, `site:url`, a part of a state's changes, `ID.changes.stdout`, or has `resource:`"

// requisite is a state as requisites name it.
var requisite = regexp.MustCompile(`^([a-z_][a-z0-9_]*): *(\S.*)$`)

// checkResource takes a state's ID, or one as requisites name it.
func checkResource(name string) error {
	switch module, function, is := strings.Cut(name, "["); {
	case strings.TrimSpace(name) == "" || strings.ContainsAny(name, "\r\n"):
		return fmt.Errorf("a resource of salt is a state's ID, or one as requisites name it: `service: nginx`")
	case is && strings.HasSuffix(function, "]") && !strings.ContainsAny(module, " :/"):
		return fmt.Errorf("Salt writes the state %q as in a requisite: \"%s: %s\"", name, module, strings.TrimSuffix(function, "]"))
	}
	if m := requisite.FindStringSubmatch(name); m == nil && strings.HasSuffix(strings.TrimSpace(name), ":") {
		return fmt.Errorf("%q names no state: \"service: nginx\", or its ID", name)
	}
	return nil
}

// reference is a state's module, "" for any, and its ID.
func reference(text string) (state, id string) {
	if state, id, is := strings.Cut(text, ": "); is {
		return state, strings.TrimSpace(id)
	}
	return "", text
}
