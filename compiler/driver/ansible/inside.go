package ansible

import (
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// look checks the playbooks that are available to the compiler and returns the order of
// their reads and writes; nil if there are none.
func (l *lowering) look() *program.Sequence {
	if l.tree == nil {
		return nil
	}
	w := newWalker(l)
	for _, name := range l.playbooks {
		file := l.tree.read(name)
		if file == nil {
			l.Wrong([]string{"playbook"}, "", "there is no playbook %s in %s", name, l.tree.name)
			return nil
		}
		if !l.isPlaybook(file) {
			return nil
		}
	}
	return w.sequence(l.playbooks)
}

// isPlaybook checks that a file is a list of plays.
func (l *lowering) isPlaybook(file *source.File) bool {
	plays, err := parse(file)
	if err != nil {
		message, at := syntaxError(file, err)
		l.wrong(at, "%s of role %q is not valid YAML: %s", file.Name, l.Role.Name, message)
		return false
	}
	items := plays.items()
	if len(items) == 0 {
		l.wrong(plays.place(), "%s of role %q is not a playbook: a playbook is a list of plays", file.Name, l.Role.Name)
		return false
	}
	for _, play := range items {
		if !play.get("hosts").there() && !play.get("import_playbook").there() && !play.get("ansible.builtin.import_playbook").there() {
			l.wrong(play.place(), "%s of role %q is not a playbook: expected a play with hosts", file.Name, l.Role.Name)
			return false
		}
	}
	return true
}

func (l *lowering) wrong(at source.Place, format string, args ...any) {
	d := l.WrongAt(at, "", format, args...)
	if l.Role.SourceAt.Known() {
		d.Note(l.Role.SourceAt, "the role's source")
	}
}

// textName describes an inline playbook in diagnostics.
func (l *lowering) textName(keys []string) string {
	at, file, what := l.Role.Locate(keys...), "", "playbook"
	if len(keys) == 0 {
		file = l.Role.SourceFile
	}
	if at.File == nil {
		what += " of role " + l.Role.Name
	}
	return driver.TextName(at, file, what)
}

type treeKey struct{}

// folder opens the folder that v names, if it is beside the template; nil if the compiler
// cannot read it.
func (l *lowering) folder(v value.Value) *tree {
	files, name := l.Role.Beside(v)
	if files == nil {
		return nil
	}
	return driver.OnceBeside(l.Role, name, treeKey{}, func() *tree { return &tree{files: files, name: l.Role.Shown(name)} })
}
