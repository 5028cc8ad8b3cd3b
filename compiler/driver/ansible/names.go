package ansible

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
)

// identifier is what Ansible accepts as a variable's name
// (ansible/utils/vars.py, isidentifier).
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are names that Ansible or Python reserve: a variable of such a name is
// invisible to playbooks, or an error.
var reserved = []string{"vars", "hostvars", "groups", "group_names", "inventory_hostname", "omit", "play_hosts", "playbook_dir",
	"role_names", "environment", "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
	"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
	"raise", "return", "try", "while", "with", "yield", "true", "false", "none"}

// names checks that inputs and outputs are named as variables, or parts of variables.
func (l *lowering) names() {
	seen := map[string]string{} // by path: an input itself, or a parent of inputs
	for _, in := range l.Role.Inputs {
		parts := l.path(in.Name, in.At, "input")
		for i := range parts {
			at := strings.Join(parts[:i+1], ".")
			kind := "has an input in it"
			if i == len(parts)-1 {
				kind = "is an input"
			}
			if other := seen[at]; other != "" && other != kind {
				l.WrongAt(in.At, "declare either the whole map or its parts", "%s cannot be an input and contain another input", at)
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

// path splits a name at its dots.
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
		l.WrongAt(at, "letters, digits and _", "%s %q is not a valid Ansible variable name", what, name)
	case slices.Contains(reserved, name):
		l.WrongAt(at, "", "%s %q is reserved by Ansible", what, name)
	}
}
