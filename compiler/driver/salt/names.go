package salt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// keys splits a name into a path, at its colons, as in Salt, or otherwise at its dots
// (runtime/driver/salt does the same).
func keys(name string) []string {
	if strings.Contains(name, ":") {
		return strings.Split(name, ":")
	}
	return strings.Split(name, ".")
}

// changes separates a state's ID from the path in its changes.
const changes = ".changes."

// names checks the names of inputs and outputs.
func (l *lowering) names() {
	seen := map[string]string{} // by path: an input itself, or a parent of inputs
	for _, in := range l.Role.Inputs {
		path := keys(in.Name)
		if slices.Contains(path, "") {
			l.WrongName("input", in.Name, in.At, "the name has an empty part", nameHint)
			continue
		}
		for i := range path {
			at, kind := strings.Join(path[:i+1], ":"), "contains an input"
			if i == len(path)-1 {
				kind = "is an input"
			}
			if other := seen[at]; other != "" && (other != kind || kind == "is an input") {
				l.WrongName("input", in.Name, in.At, at+" "+other+" already: declare either the whole map or its parts", nameHint)
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
			l.WrongName("output", o.Name, o.At, "name a part of a state's changes as `ID.changes.stdout`", nameHint)
		case !isChange && slices.Contains(keys(o.Name), ""):
			l.WrongName("output", o.Name, o.At, "the name has an empty part", nameHint)
		}
	}
}

const nameHint = "an input is a path in the pillar, `db:url` or `db.url`; an output is a grain, `site:url`, a part of a state's changes, `ID.changes.stdout`, or has `resource:`"

// requisite matches a state as written in requisites.
var requisite = regexp.MustCompile(`^([a-z_][a-z0-9_]*): *(\S.*)$`)

// checkResource accepts a state's ID, or a state as written in requisites.
func checkResource(name string) error {
	switch module, function, is := strings.Cut(name, "["); {
	case strings.TrimSpace(name) == "" || strings.ContainsAny(name, "\r\n"):
		return fmt.Errorf("a Salt resource is a state's ID, or a state as in requisites: `service: nginx`")
	case is && strings.HasSuffix(function, "]") && !strings.ContainsAny(module, " :/"):
		return fmt.Errorf("write the state %q as in a requisite: \"%s: %s\"", name, module, strings.TrimSuffix(function, "]"))
	}
	if m := requisite.FindStringSubmatch(name); m == nil && strings.HasSuffix(strings.TrimSpace(name), ":") {
		return fmt.Errorf("%q does not name a state: write \"service: nginx\", or its ID", name)
	}
	return nil
}

// reference splits a state into its module, "" for any, and its ID.
func reference(text string) (state, id string) {
	if state, id, is := strings.Cut(text, ": "); is {
		return state, strings.TrimSpace(id)
	}
	return "", text
}
