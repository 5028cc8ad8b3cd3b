package heat

import (
	"maps"
	"path"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	emitplan "github.com/hotc-dev/hotc/emit/plan"
)

// Template is a template that is emitted.
type Template struct {
	*hot.Template
	Target string // path below the output folder
	// Moved are scalars that name files, with their names in the output folder.
	Moved map[*yaml.Node]string
}

// site is a server with an agent, as written in a template: one server of the deployment, or one
// for each use of the template.
type site struct {
	resource string
	path     value.Value // of the server: a string, or how Heat computes it
	longest  int         // bytes of the path, at least
	roles    bool
	// deploy are the values that Heat puts into the boot file, of all uses.
	deploy map[string]*hot.Expr
}

// sitesOf finds the servers with agents of each template, in plan order. Servers defined by a
// group are not included: see member.go.
func sitesOf(p *program.Program, a *binding.Analysis, b *emitplan.Built) map[*hot.Template][]site {
	out := map[*hot.Template][]site{}
	type place struct {
		template *hot.Template
		resource string
	}
	known := map[place]int{}
	add := func(s *program.Stack, resource string, serverPath contract.ServerPath, roles bool) {
		at := place{s.Template, resource}
		if i, have := known[at]; have {
			merge(&out[s.Template][i], b.Deploy[serverPath])
			return
		}
		x := site{resource: resource, path: string(serverPath), longest: len(serverPath), roles: roles, deploy: b.Deploy[serverPath]}
		if s.StackResource != nil {
			known[at] = len(out[s.Template]) // the root has only one use
			x.path = join("/", parameter(ParameterPath), resource)
			x.deploy = maps.Clone(x.deploy)
		}
		out[s.Template] = append(out[s.Template], x)
	}
	for _, s := range p.Servers {
		if s.StackResource == nil {
			add(s.Stack, s.Resource.Name, s.Path, len(s.Roles) > 0)
		}
	}
	for _, s := range a.FactServers {
		add(s.Stack, s.Resource.Name, s.Path, false)
	}
	return out
}

func merge(s *site, deploy map[string]*hot.Expr) {
	for key, e := range deploy {
		if s.deploy == nil {
			s.deploy = map[string]*hot.Expr{}
		}
		s.deploy[key] = e
	}
}

func (s *stack) isRoot() bool { return s.template == s.program.Template }

// withRoles returns the root's resources that wait conditions depend on, and the number of
// servers with roles in the whole tree.
func (s *stack) withRoles() (names []value.Value, count int) {
	seen := map[string]bool{}
	for _, p := range s.built.Plan.Servers {
		if len(p.Roles) == 0 {
			continue
		}
		count++
		name, _, _ := strings.Cut(string(p.Path), "/")
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, count
}

// nestsDeeper records that hotc nests so many levels of stacks in the template's.
func (s *stack) nestsDeeper(levels int) {
	for _, use := range s.stacks {
		depth := levels
		for n := use.StackResource; n != nil; n = n.In.StackResource {
			if depth++; n.Group() {
				depth++ // the group's own stack
			}
		}
		s.out.Depth = max(s.out.Depth, depth)
	}
}

// beside returns the path of an output file relative to the template's own.
func (s *stack) beside(target string) string { return Beside(s.files.Target, target) }

// Beside returns the path of an output file relative to the file from.
func Beside(from, target string) string {
	dir := path.Dir(from)
	if dir == "." {
		return target
	}
	parts, to := strings.Split(dir, "/"), strings.Split(target, "/")
	for len(parts) > 0 && len(to) > 1 && parts[0] == to[0] {
		parts, to = parts[1:], to[1:]
	}
	return strings.Repeat("../", len(parts)) + strings.Join(to, "/")
}

// The root stack's name and id, and the credentials of its wait condition's signal: nested
// stacks get them as parameters.

func (s *stack) rootName() tree { return s.ofRoot(parameter(hot.StackName), ParameterStackName) }
func (s *stack) rootID() tree   { return s.ofRoot(parameter(hot.StackID), ParameterStackID) }
func (s *stack) signal() tree   { return s.ofRoot(attribute(ResourceHandle, "signal"), ParameterSignal) }

func (s *stack) ofRoot(there tree, handed string) tree {
	if s.inRoot() {
		return there
	}
	return parameter(handed)
}

// inRoot reports whether the text being written is part of the root stack.
func (s *stack) inRoot() bool { return s.isRoot() && !s.inMember }

// fromValues is an expression with the values that roles wrote, as Heat has them after the whole
// deployment.
func (s *stack) fromValues(e *hot.Expr) value.Value {
	return s.withValues(e, s.inStack)
}

// withValues is an expression with roles' outputs replaced by where they are stored: a path as of
// storedAt.
func (s *stack) withValues(e *hot.Expr, stored func(o *program.Output) []value.Value) tree {
	return e.AsValue(func(call *hot.Expr) (value.Value, bool) {
		if r := call.Ref(); r.Kind == hot.ToCell {
			if o := s.analysis.Cells[r.Cell()].Output; o != nil {
				return storedAt(append(stored(o), r.Path...)), true
			}
		}
		v, done := s.ifPresent(call, stored)
		if !done && !s.template.Functions.Has(call.Func) {
			s.notHere(call)
		}
		return v, done
	})
}
