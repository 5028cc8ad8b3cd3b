package ansible

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// identifier is what Ansible takes as a variable's name
// (ansible/utils/vars.py, isidentifier).
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are names that Ansible or Python keep for themselves: a variable that is
// called so is not seen by playbooks, or is an error.
var reserved = []string{"vars", "hostvars", "groups", "group_names", "inventory_hostname", "omit", "play_hosts", "playbook_dir",
	"role_names", "environment", "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
	"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
	"raise", "return", "try", "while", "with", "yield", "true", "false", "none"}

// names checks that the names of inputs and outputs are variables, or parts of such.
func (l *lowering) names() {
	seen := map[string]string{} // what is an input as a whole, and what has parts that are
	for _, in := range l.Role.Inputs {
		parts := l.path(in.Name, in.At, "input")
		for i := range parts {
			at := strings.Join(parts[:i+1], ".")
			kind := "has an input in it"
			if i == len(parts)-1 {
				kind = "is an input"
			}
			if other := seen[at]; other != "" && other != kind {
				l.WrongAt(in.At, "give one map, or its parts", "%s cannot be an input and have an input in it", at)
			}
			seen[at] = kind
		}
	}
	for _, out := range l.Role.Outputs {
		if out.Resource == "" {
			l.path(out.Name, out.At, "output")
		}
	}
}

// path is a name at its dots.
func (l *lowering) path(name string, at source.Place, kind string) []string {
	parts := strings.Split(name, ".")
	l.variable(parts[0], at, kind+" "+fmt.Sprintf("%q:", name))
	if slices.Contains(parts[1:], "") {
		l.WrongAt(at, "", "%s %q has an empty part between its dots", kind, name)
	}
	return parts
}

func (l *lowering) variable(name string, at source.Place, what string) {
	switch {
	case !identifier.MatchString(name):
		l.WrongAt(at, "letters, digits and _", "%s %q is not a name of a variable in Ansible", what, name)
	case slices.Contains(reserved, name):
		l.WrongAt(at, "", "%s %q is a name that Ansible keeps for itself", what, name)
	}
}
