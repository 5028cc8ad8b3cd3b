package heat

import (
	"bytes"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
)

// DeleteHooksFile is the environment that makes Heat wait before it deletes servers whose roles
// have a delete hook.
const DeleteHooksFile = "hotc/delete-hooks.yaml"

// DeleteHooks is its text; nil if there is nothing to wait for. Heat waits whenever the stack
// with the server is deleted: for the root, only when everything is; for a group's member, or a
// nested stack's server, also in an update and by a scaling policy. In that case only a relay
// can have the hooks run and let Heat continue.
func DeleteHooks(p *program.Program, signal contract.Signalling) []byte {
	resources := map[string]any{}
	for _, s := range p.Servers {
		if !hasDeleteHook(s) || nested(s) && signal != contract.RelaySignals {
			continue
		}
		at := resources
		for _, name := range resourcePath(s) {
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
	text.WriteString("# Heat waits before it deletes these servers, until their roles' delete hooks have run:\n# hotc down, hotc destroy --run-hooks, or a relay\n")
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := e.Encode(map[string]any{"resource_registry": map[string]any{"resources": resources}}); err != nil {
		panic("heat: " + err.Error()) // only maps of strings
	}
	return text.Bytes()
}

// nested reports whether a server is outside the root's own stack.
func nested(s *program.Server) bool { return s.StackResource != nil || s.Stack.StackResource != nil }

// resourcePath is the path of a server's resource from the root (heat/engine/environment.py,
// matches_hook and remove_resources_except). Members named by Heat share one pattern.
func resourcePath(s *program.Server) []string {
	path := []string{s.Resource.Name}
	if s.StackResource != nil {
		path = append(memberPath(s.StackResource, s.Member), memberServer)
	}
	for in := s.Stack; in.StackResource != nil; in = in.StackResource.In {
		path = append(memberPath(in.StackResource, in.Member()), path...)
	}
	return path
}

func memberPath(n *program.StackResource, m *program.Member) []string {
	switch {
	case n.Scales():
		return []string{n.Resource.Name, "*"}
	case m.Name == "":
		return []string{n.Resource.Name}
	}
	return []string{n.Resource.Name, m.Name}
}

func hasDeleteHook(s *program.Server) bool {
	return slices.ContainsFunc(s.Roles, func(r *program.Role) bool {
		return slices.ContainsFunc(r.Hooks, func(t *program.Task) bool { return t.Name == contract.HookDelete })
	})
}
