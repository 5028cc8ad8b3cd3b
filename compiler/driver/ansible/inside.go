package ansible

import (
	"fmt"
	"path"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// look checks the playbooks that the compiler can see, and finds the order of their
// reads and writes.
func (l *lowering) look() {
	if l.tree == nil {
		return
	}
	w := newWalker(l)
	for _, name := range l.playbooks {
		file := l.tree.read(name)
		if file == nil {
			l.bad([]string{"playbook"}, "", "there is no playbook %s in %s", name, l.tree.name)
			return
		}
		if !l.isPlaybook(file) {
			return
		}
	}
	l.meaning.Sequence = w.sequence(l.playbooks)
}

// isPlaybook checks that a file is a list of plays.
func (l *lowering) isPlaybook(file *source.File) bool {
	plays, err := parse(file)
	if err != nil {
		message, at := syntaxError(file, err)
		l.wrong(at, "%s of role %q is not valid YAML: %s", file.Name, l.role.Name, message)
		return false
	}
	items := plays.items()
	if len(items) == 0 {
		l.wrong(plays.place(), "%s of role %q is not a playbook: a playbook is a list of plays", file.Name, l.role.Name)
		return false
	}
	for _, play := range items {
		if !play.get("hosts").there() && !play.get("import_playbook").there() && !play.get("ansible.builtin.import_playbook").there() {
			l.wrong(play.place(), "%s of role %q is not a playbook: here should be a play with hosts", file.Name, l.role.Name)
			return false
		}
	}
	return true
}

func (l *lowering) wrong(at source.Place, format string, args ...any) {
	l.failed = true
	d := l.diags.Error(source.BadSource, at, fmt.Sprintf(format, args...), "")
	if l.role.SourceAt.Known() {
		d.Notes = append(d.Notes, source.Note{At: l.role.SourceAt, Message: "the role's source"})
	}
}

// textName is what people call a playbook that came as a text.
func (l *lowering) textName(keys []string) string {
	at := l.role.Locate(keys...)
	switch {
	case len(keys) == 0 && l.role.SourceFile != "":
		return l.beside(l.role.SourceFile)
	case at.File == nil:
		return "playbook of role " + l.role.Name
	}
	line, _ := at.File.Position(at.Span.Start)
	return fmt.Sprintf("playbook in line %d of %s", line, at.File.Name)
}

// beside is the name of a file as the user finds it: from where the template is named.
func (l *lowering) beside(name string) string {
	if l.role.SourceAt.File == nil || path.IsAbs(name) || strings.Contains(name, "://") {
		return name
	}
	return path.Join(path.Dir(l.role.SourceAt.File.Name), name)
}

type treeKey struct{}

// folder opens the part of a tree that is meant, if it lies beside the template; nil
// if the compiler cannot look into it.
func (l *lowering) folder(v value.Value) *tree {
	files, name := l.role.Beside(v)
	if files == nil {
		return nil
	}
	return driver.OnceBeside(l.role, name, treeKey{}, func() *tree { return &tree{files: files, name: l.beside(name)} })
}
