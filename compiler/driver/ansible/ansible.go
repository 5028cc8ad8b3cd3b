// Package ansible is the compiler's half of the ansible driver: the source is a
// playbook's text, or a map that says where playbooks, roles and collections come
// from. docs/ansible.md lists its keys.
//
// An input or output is a variable or, with dots in its name, a part of one; an output
// with `resource:` is the success of a task or a handler.
package ansible

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Driver is the ansible driver.
var Driver = driver.Driver{Name: "ansible", InstallsFrom: []string{"packages", "url"}, CheckResource: checkResource, Lower: lower}

// checkResource accepts any non-empty string: task names are free-form.
func checkResource(name string) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf("an Ansible resource is named by a task or a handler")
	}
	return nil
}

// defaultPlaybook is run when the source names a folder but no playbook.
const defaultPlaybook = "site.yml"

var form = driver.Form{Driver: "ansible", Needs: "a playbook", Takes: "a playbook's text or a map",
	Keys: []string{"playbook", "playbooks", "roles", "collections", "host", "groups", "tags", "skip_tags", "vars"},
	Hint: "`source: {get_file: site.yml}`, or `source: {playbooks: ./ansible, playbook: site.yml}`; docs/ansible.md has all keys"}

// lower checks the source and packs the playbooks.
func lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	l := &lowering{Reading: driver.NewReading(role, diags), playbooks: []string{defaultPlaybook}, host: "localhost"}
	l.Out.Set("host", "localhost")
	l.Open(&form, func(text string) { l.text(text) }, l.source)
	l.names()
	meaning := &program.Meaning{Source: l.Out}
	if !l.Failed {
		meaning.Sequence = l.look()
	}
	if l.Failed {
		return nil
	}
	meaning.Files = l.Files
	return meaning
}

type lowering struct {
	driver.Reading
	playbooks []string // to run, relative to their folder

	// what the compiler can inspect
	tree      *tree // nil if the playbooks are elsewhere
	roleTrees []*tree
	vars      []entry
	host      string
	groups    []string
	tagged    bool // tags select the tasks to run
}

// text reads an inline playbook found under the given keys of the source.
func (l *lowering) text(text string, keys ...string) {
	switch {
	case strings.TrimSpace(text) == "":
		l.Wrong(keys, "", "the playbook of role %q is empty", l.Role.Name)
		return
	case !strings.Contains(text, "\n"):
		l.Wrong(keys, form.Hint, "%q is not the text of a playbook", text)
		return
	}
	name := "playbook.yml"
	if len(keys) == 0 && l.Role.SourceFile != "" {
		name = path.Base(l.Role.SourceFile)
	}
	l.playbooks = []string{name}
	l.SetText("text", "file", name, name, text)
	l.SetTexts("playbook", l.playbooks)
	file := source.NewFile(l.textName(keys), []byte(text))
	if len(keys) > 0 || l.Role.SourceFile == "" {
		file.Within = l.Role.Locate(keys...)
	}
	l.tree = &tree{name: file.Name, known: map[string]*document{name: {file: file}}}
}

// source reads a source that is a map.
func (l *lowering) source(m *value.Dict) {
	l.whatToRun(m)
	if v, given := m.Get("host"); given {
		name, _ := v.(string)
		if !hostName.MatchString(name) {
			l.Wrong([]string{"host"}, "", "host must be the server's name in the inventory, not %s", yaml.FlowText(v))
		}
		l.Out.Set("host", name)
		l.host = name
	}
	for _, key := range []string{"roles", "collections"} {
		if v, given := m.Get(key); given {
			l.Trees(key, v, func(v value.Value) {
				if t := l.folder(v); t != nil && key == "roles" {
					l.roleTrees = append(l.roleTrees, t)
				}
			})
		}
	}
	for _, key := range []string{"groups", "tags", "skip_tags"} {
		if list, given := l.list(m, key); given {
			for _, name := range list {
				if !groupName.MatchString(name) || key == "groups" && (name == "all" || name == "ungrouped") {
					l.Wrong([]string{key}, "", "%s: %q is not a valid name", key, name)
				}
			}
			l.SetTexts(key, list)
			if key == "groups" {
				l.groups = list
			} else {
				l.tagged = true
			}
		}
	}
	if v, given := m.Get("vars"); given {
		vars, ok := v.(*value.Dict)
		if !ok {
			l.Wrong([]string{"vars"}, "", "vars must be a map of variables, not %s", value.TypeName(v))
			return
		}
		for _, name := range vars.Keys() {
			l.variable(name, l.Role.Locate("vars", name), "the variable")
		}
		l.Out.Set("vars", vars)
		if p, err := parse(source.NewFile("vars of role "+l.Role.Name, []byte(yaml.FlowText(vars)))); err == nil {
			l.vars = p.entries()
		}
	}
}

var (
	hostName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	groupName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
)

// whatToRun reads `playbook` and `playbooks`: inline text, or names in a folder.
func (l *lowering) whatToRun(m *value.Dict) {
	v, given := m.Get("playbook")
	tree, hasTree := m.Get("playbooks")
	text, isText := v.(string)
	switch {
	case !hasTree && isText:
		l.text(text, "playbook")
		return
	case !hasTree:
		l.Wrong(nil, form.Hint, "the source of role %q names no playbooks", l.Role.Name)
		return
	case isText && strings.Contains(text, "\n"):
		l.Wrong([]string{"playbook"}, "remove `playbooks`, or name the playbook by its path in that folder", "playbook is inline text, but playbooks names a folder")
		return
	case given:
		if list, _ := l.list(m, "playbook"); len(list) > 0 {
			l.playbooks = list
		}
	}
	for _, name := range l.playbooks {
		if !fs.ValidPath(name) || name == "." {
			l.Wrong([]string{"playbook"}, "", "%q is outside the playbooks folder", name)
		}
	}
	l.SetTexts("playbook", l.playbooks)
	if origin := l.Tree(tree, "playbooks"); origin != nil {
		l.Out.Set("playbooks", origin.Value)
		l.tree = l.folder(tree)
	}
}

// list reads a name or a list of names.
func (l *lowering) list(m *value.Dict, key string) (names []string, given bool) {
	v, given := m.Get(key)
	if !given {
		return nil, false
	}
	for _, x := range driver.OneOrMore(v) {
		name, ok := x.(string)
		if !ok || name == "" {
			l.Wrong([]string{key}, "", "%s must be a name or a list of names, not %s", key, yaml.FlowText(v))
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}
