package roles

import (
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// hookCreate is the hook that is a part of the role, hookUpdate the one that may rewrite
// its outputs.
const (
	hookCreate = "create"
	hookUpdate = "update"
)

// tasks reads a role's actions and hooks.
func (l *lowering) tasks(role *program.Role, tool *driver.Driver, n *yaml.Node) {
	role.Actions = lists.Map(n.Get("actions").All(), func(e yaml.Entry) *program.Task { return l.task(role, tool, e, nil) })
	for _, e := range n.Get("hooks").All() {
		var t *program.Task
		switch e.Name {
		case hookCreate: // a part of the role, right after its own source
			t = l.task(role, tool, e, written(role))
			if role.Meaning != nil && t.Meaning != nil {
				role.Meaning.Sequence = role.Meaning.Sequence.Then(t.Meaning.Sequence)
			}
		case hookUpdate: // what it writes is the next version of the role's outputs
			t = l.task(role, tool, e, written(role))
		default:
			t = l.task(role, tool, e, nil)
		}
		role.Hooks = append(role.Hooks, t)
	}
}

func (l *lowering) task(role *program.Role, tool *driver.Driver, e yaml.Entry, outputs []*program.Output) *program.Task {
	t := &program.Task{Name: e.Name, At: l.template.Place(e.Key)}
	t.Meaning = l.meaning(driver.Role{Name: role.Name, At: t.At, Inputs: role.Inputs, Outputs: outputs}, tool, e.Value)
	return t
}
