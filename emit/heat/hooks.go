package heat

import (
	"bytes"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
)

// DeleteHooksFile is the environment that makes Heat wait before it deletes servers
// whose roles have a delete hook.
const DeleteHooksFile = "hotc/delete-hooks.yaml"

// DeleteHooks is its text; nil if no role has such a hook. A server's path is the way
// to its resource, or to the one that stands for it in a group
// (heat/engine/environment.py, matches_hook and get_child_environment).
func DeleteHooks(p *program.Program) []byte {
	resources := map[string]any{}
	for _, s := range p.Servers {
		if !hasDeleteHook(s) {
			continue
		}
		at := resources
		for _, name := range strings.Split(s.Path, "/") {
			inner, known := at[name].(map[string]any)
			if !known {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at["hooks"] = "pre-delete"
	}
	if len(resources) == 0 {
		return nil
	}
	var text bytes.Buffer
	text.WriteString("# The stack's deletion waits at these servers until their roles' delete hooks have run:\n# hotc destroy --run-hooks\n")
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(map[string]any{"resource_registry": map[string]any{"resources": resources}}); err != nil {
		panic("heat: " + err.Error()) // maps of strings
	}
	return text.Bytes()
}

func hasDeleteHook(s *program.Server) bool {
	return slices.ContainsFunc(s.Roles, func(r *program.Role) bool {
		return slices.ContainsFunc(r.Hooks, func(t *program.Task) bool { return t.Name == contract.HookDelete })
	})
}
