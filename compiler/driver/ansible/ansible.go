// Package ansible is the compiler's half of the ansible driver: the source is a
// playbook's text, or a map that says where playbooks, roles and collections come
// from. docs/ansible.md lists its keys.
//
// An input is a variable, or with dots in its name a part of one; an output, too, or
// with `resource:` the success of a task or a handler.
package ansible

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Driver is the ansible driver.
type Driver struct{}

// Name is "ansible".
func (Driver) Name() string { return "ansible" }

// InstallsFrom implements driver.Installable.
func (Driver) InstallsFrom() []string { return []string{"packages", "url"} }

// CheckResource implements driver.Resources: a task's name is any text.
func (Driver) CheckResource(name string) error {
	if strings.TrimSpace(name) == "" {
		return fmt.Errorf("a resource of ansible is the name of a task or handler")
	}
	return nil
}

// defaultPlaybook is what is run of a folder where the source does not say.
const defaultPlaybook = "site.yml"

// sourceKeys are those of a source that is a map.
var sourceKeys = []string{"playbook", "playbooks", "roles", "collections", "host", "groups", "tags", "skip_tags", "vars"}

const sourceHint = "`source: {get_file: site.yml}`, or `source: {playbooks: ./ansible, playbook: site.yml}`; docs/ansible.md has all keys"

// Lower takes the playbooks along.
func (Driver) Lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	if role.NamesFile(diags) {
		return nil
	}
	l := &lowering{role: role, diags: diags, meaning: &program.Meaning{}, out: value.NewDict(), playbooks: []string{defaultPlaybook}, host: "localhost"}
	l.out.Set("host", "localhost")
	switch src := role.Source.(type) {
	case nil:
		diags.Error(source.BadSource, role.At, fmt.Sprintf("role %q has no source: the ansible driver needs a playbook", role.Name), sourceHint)
		return nil
	case string:
		l.text(src)
	case *value.Dict:
		l.source(src)
	default:
		l.bad(nil, sourceHint, "the source of role %q must be a playbook's text or a map, not %s", role.Name, value.TypeName(src))
	}
	l.names()
	if !l.failed {
		l.look()
	}
	if l.failed {
		return nil
	}
	l.meaning.Source = l.out
	return l.meaning
}

type lowering struct {
	role      driver.Role
	diags     *source.Diagnostics
	meaning   *program.Meaning
	out       *value.Dict
	playbooks []string // that are run, by name in their folder
	failed    bool

	// what the compiler can look into
	tree      *tree // nil if the playbooks are elsewhere
	roleTrees []*tree
	vars      []entry
	host      string
	groups    []string
	tagged    bool
}

func (l *lowering) bad(keys []string, hint, format string, args ...any) {
	l.failed = true
	l.diags.Error(source.BadSource, l.role.Locate(keys...), fmt.Sprintf(format, args...), hint)
}

// text takes a playbook that came as a text, under some keys of the source.
func (l *lowering) text(text string, keys ...string) {
	switch {
	case strings.TrimSpace(text) == "":
		l.bad(keys, "", "the playbook of role %q is empty", l.role.Name)
		return
	case !strings.Contains(text, "\n"):
		l.bad(keys, sourceHint, "%q is not the text of a playbook", text)
		return
	}
	name := "playbook.yml"
	if len(keys) == 0 && l.role.SourceFile != "" {
		name = path.Base(l.role.SourceFile)
	}
	file := driver.NewFile(name, []byte(text))
	l.meaning.Files = append(l.meaning.Files, file)
	l.playbooks = []string{name}
	travels := value.NewDict()
	travels.Set("file", file.Digest)
	travels.Set("name", name)
	l.out.Set("text", travels)
	l.set("playbook", l.playbooks)
	l.tree = &tree{files: oneFile{name, []byte(text)}, name: l.textName(keys), single: true}
	if len(keys) > 0 || l.role.SourceFile == "" {
		l.tree.within = l.role.Locate(keys...)
	}
}

func (l *lowering) set(key string, list []string) {
	values := make([]value.Value, len(list))
	for i, x := range list {
		values[i] = x
	}
	l.out.Set(key, values)
}

// source reads a source that is a map.
func (l *lowering) source(m *value.Dict) {
	for _, key := range m.Keys() {
		if !slices.Contains(sourceKeys, key) {
			l.bad([]string{key}, driver.KeyHint(key, sourceKeys), "the source of role %q has a key %q, which the ansible driver does not know", l.role.Name, key)
		}
	}
	l.whatToRun(m)
	if v, given := m.Get("host"); given {
		name, _ := v.(string)
		if !hostName.MatchString(name) {
			l.bad([]string{"host"}, "", "host must be what the playbooks call this server, not %s", yaml.FlowText(v))
		}
		l.out.Set("host", name)
		l.host = name
	}
	for _, key := range []string{"roles", "collections"} {
		l.trees(m, key)
	}
	for _, key := range []string{"groups", "tags", "skip_tags"} {
		if list, given := l.list(m, key); given {
			for _, name := range list {
				if !groupName.MatchString(name) || key == "groups" && (name == "all" || name == "ungrouped") {
					l.bad([]string{key}, "", "%s: %q cannot be such a name", key, name)
				}
			}
			l.set(key, list)
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
			l.bad([]string{"vars"}, "", "vars must be a map of variables, not %s", value.TypeName(v))
			return
		}
		for _, name := range vars.Keys() {
			l.variable(name, l.role.Locate("vars", name), "the variable")
		}
		l.out.Set("vars", vars)
		if p, err := parse(source.NewFile("vars of role "+l.role.Name, []byte(yaml.FlowText(vars)))); err == nil {
			l.vars = p.entries()
		}
	}
}

var (
	hostName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	groupName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
)

// whatToRun reads `playbook` and `playbooks`: a text, or names in a folder.
func (l *lowering) whatToRun(m *value.Dict) {
	v, given := m.Get("playbook")
	tree, hasTree := m.Get("playbooks")
	text, isText := v.(string)
	switch {
	case !hasTree && isText:
		l.text(text, "playbook")
		return
	case !hasTree:
		l.bad(nil, sourceHint, "the source of role %q names no playbooks", l.role.Name)
		return
	case isText && strings.Contains(text, "\n"):
		l.bad([]string{"playbook"}, "leave `playbooks` out, or name the playbook by its path in there", "playbook is a text, and playbooks are a folder")
		return
	case given:
		if list, _ := l.list(m, "playbook"); len(list) > 0 {
			l.playbooks = list
		}
	}
	for _, name := range l.playbooks {
		if !fs.ValidPath(name) || name == "." {
			l.bad([]string{"playbook"}, "", "%q does not lie in the folder of playbooks", name)
		}
	}
	l.set("playbook", l.playbooks)
	origin := l.role.Origin(tree, l.diags, "playbooks")
	if origin == nil {
		l.failed = true
		return
	}
	l.out.Set("playbooks", origin.Value)
	l.meaning.Files = append(l.meaning.Files, origin.Files...)
	l.tree = l.folder(tree)
}

// trees reads `roles` or `collections`: one origin or a list of them.
func (l *lowering) trees(m *value.Dict, key string) {
	v, given := m.Get(key)
	if !given {
		return
	}
	list, isList := v.([]value.Value)
	if !isList {
		list = []value.Value{v}
	}
	var all []value.Value
	for _, x := range list {
		origin := l.role.Origin(x, l.diags, key)
		if origin == nil {
			l.failed = true
			continue
		}
		all = append(all, origin.Value)
		if t := l.folder(x); t != nil && key == "roles" {
			l.roleTrees = append(l.roleTrees, t)
		}
		l.meaning.Files = append(l.meaning.Files, origin.Files...)
	}
	l.out.Set(key, all)
}

// list reads a name or a list of names.
func (l *lowering) list(m *value.Dict, key string) (names []string, given bool) {
	v, given := m.Get(key)
	if !given {
		return nil, false
	}
	items, isList := v.([]value.Value)
	if !isList {
		items = []value.Value{v}
	}
	for _, x := range items {
		name, ok := x.(string)
		if !ok || name == "" {
			l.bad([]string{key}, "", "%s must be a name or a list of names, not %s", key, yaml.FlowText(v))
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}
