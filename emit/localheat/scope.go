package localheat

import (
	"fmt"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// scope answers as Heat would in one stack: pseudo parameters, made-up facts, --fact, and values
// passed between stacks.
type scope struct {
	heat  *Heat
	stack *program.Stack
	// server is the group member whose own expressions are evaluated; nil for others.
	server *program.Server
}

// scopeOf is the scope of a server's deploy-time values.
func (h *Heat) scopeOf(path contract.ServerPath) *scope {
	if s := h.program.Server(path); s != nil {
		if s.StackResource != nil {
			return &scope{h, s.Stack, s}
		}
		return &scope{h, s.Stack, nil}
	}
	for _, f := range h.analysis.FactServers {
		if f.Path == path {
			return &scope{h, f.Stack, nil}
		}
	}
	return &scope{h, h.program.Root, nil}
}

// answer implements hot.Resolve.
func (s *scope) answer(call *hot.Expr) (*hot.Expr, error) {
	ref := call.Ref()
	switch {
	case ref.Computed:
		return call, nil
	case ref.Kind == hot.ToParameter:
		return s.parameter(call, ref.Name, ref.Path)
	}
	resource, attribute, path := ref.Name, ref.Attribute, ref.Path
	if ref.Kind == hot.ToResource {
		attribute = string(contract.FactID) // a resource's own id counts as its attribute
	}
	where := s.stack.PathOf(resource)
	if v, ok := s.heat.madeUp()[where][contract.Fact(attribute)]; ok {
		return hot.Constant(hot.Select(v, path), call.At), nil
	}
	if f, ok := s.heat.facts[string(where)][attribute]; ok {
		return hot.Constant(hot.Select(f, path), call.At), nil
	}
	if e, err := s.nested(call, resource, attribute, path); e != nil || err != nil {
		return e, err
	}
	if e, err := s.computed(call, resource, attribute, path); e != nil || err != nil {
		return e, err
	}
	if e, err := s.invented(call, resource, attribute, path); e != nil || err != nil {
		return e, err
	}
	if err := s.written(call, resource, attribute); err != nil {
		return nil, err
	}
	return nil, &source.Diagnostic{Code: source.MissingFact, At: call.At, Message: fmt.Sprintf("only Heat knows %s.%s", where, attribute),
		Hint: fmt.Sprintf("set it with --fact %s.%s=VALUE", where, attribute)}
}

func (s *scope) parameter(call *hot.Expr, name string, path []value.Value) (*hot.Expr, error) {
	own := s.heat.identity(s.stack)
	pseudo := map[string]string{hot.StackName: own.name, hot.StackID: own.id, "OS::project_id": s.heat.root.id,
		hot.CFNStackName: own.name, hot.CFNRegion: "ap-southeast-1", // heat/engine/cfn/parameters.py
		hot.CFNStackID: fmt.Sprintf("arn:openstack:heat::%s:stacks/%s/%s", s.heat.root.id, own.name, own.id)}
	if v, ok := pseudo[name]; ok {
		return hot.Constant(v, call.At), nil
	}
	if name == binding.DeployParameter && len(path) == 1 {
		if e, err := s.argument(path[0]); e != nil || err != nil {
			return e, err
		}
	}
	if v, ok := s.stack.Supplied.Parameters[name]; ok {
		return hot.Constant(hot.SelectParam(v, path), call.At), nil
	}
	if a := s.stack.Arguments[name]; a != nil {
		e, err := hot.Fold(a, (&scope{heat: s.heat, stack: s.stack.Around()}).answer)
		if err != nil || !e.IsValue() {
			return e, err
		}
		v := s.stack.StackResource.Indexed(e, s.stack.Member().Name).Value
		if p := s.stack.Template.Parameter(name); p != nil {
			if v, err = p.Cast(v); err != nil {
				return nil, err
			}
		}
		return hot.Constant(hot.SelectParam(v, path), call.At), nil
	}
	hint := fmt.Sprintf("set it with -P %s=VALUE", name)
	switch p := s.stack.Template.Parameter(name); {
	case s.stack.Path != "":
		hint = fmt.Sprintf("pass it to %q as a property", s.stack.Path)
	case p != nil && p.Hidden: // a secret does not belong on a command line
		hint = fmt.Sprintf("supply it with --secret-param %s=FILE", name)
	}
	return nil, &source.Diagnostic{Code: source.MissingFact, At: call.At, Message: fmt.Sprintf("parameter %q has no value", name), Hint: hint}
}

// argument returns a value of the parent stack that only Heat would know.
func (s *scope) argument(key value.Value) (*hot.Expr, error) {
	nest, member := s.stack.StackResource, ""
	around := s.stack.Around()
	if s.server != nil {
		nest, member, around = s.server.StackResource, s.server.Member.Name, s.stack
	} else if nest != nil {
		member = s.stack.Member().Name
	}
	name, _ := key.(string)
	argument := s.heat.analysis.DeployArguments[nest][name]
	if argument == nil {
		return nil, nil
	}
	e, err := hot.Fold(argument, (&scope{heat: s.heat, stack: around}).answer)
	if err != nil {
		return nil, err
	}
	return nest.Indexed(e, member), nil
}

// nested returns an output of a nested stack, declared by the user or added by hotc. It is nil
// for anything else.
func (s *scope) nested(call *hot.Expr, resource, attribute string, path []value.Value) (*hot.Expr, error) {
	nest := s.stack.StackResourceOf(resource)
	if nest == nil {
		return nil, nil
	}
	if nest.Scales() && attribute == "current_size" && nest.Size >= 0 {
		return hot.Constant(int64(nest.Size), call.At), nil
	}
	sel := nest.Select(attribute, path, false)
	switch {
	case sel.Attribute == "" || nest.Most() == 0:
		return nil, nil
	case sel.Gives == program.OfOne && sel.Name != "":
		if sel.Member = nest.Member(sel.Name); sel.Member == nil {
			return nil, nil
		}
		fallthrough
	case sel.Gives == program.OfOne:
		return s.ofMember(call, nest, sel.Member, sel.Attribute, sel.Path)
	}
	e, err := s.ofMembers(call, nest, sel)
	if err != nil || e == nil {
		return e, err
	}
	return hot.Constant(hot.Select(e.Value, sel.Then), call.At), nil
}

// ofMembers returns the value of each group member under a name: a list, or a map by member name
// (heat/engine/resources/openstack/heat: resource_group.py and autoscaling_group.py,
// get_attribute).
func (s *scope) ofMembers(call *hot.Expr, nest *program.StackResource, sel program.Selection) (*hot.Expr, error) {
	var list []value.Value
	named := value.NewDict()
	for m := range nest.Members {
		e, err := s.ofMember(call, nest, m, sel.Attribute, sel.Path)
		if err != nil || e == nil {
			return nil, err
		}
		list = append(list, e.Value)
		named.Set(s.heat.memberName(nest, m), e.Value)
	}
	if sel.Gives == program.MapOfAll {
		return hot.Constant(named, call.At), nil
	}
	return hot.Constant(list, call.At), nil
}

func (s *scope) ofMember(call *hot.Expr, nest *program.StackResource, m *program.Member, attribute string, path []value.Value) (*hot.Expr, error) {
	if m.Stack == nil {
		if v, ok := s.heat.madeUp()[nest.Path(m)][contract.Fact(attribute)]; ok {
			return hot.Constant(hot.Select(v, path), call.At), nil
		}
		return nil, nil
	}
	var e *hot.Expr
	if o := m.Stack.Template.Output(attribute); o != nil {
		e = m.Stack.Template.Expr(o.Value)
	}
	if exported := s.heat.analysis.Exports[m.Stack][attribute]; exported != nil {
		e = exported
	}
	if e == nil {
		return nil, nil
	}
	v, err := hot.Fold(e, (&scope{heat: s.heat, stack: m.Stack}).answer)
	if err != nil || !v.IsValue() {
		return v, err
	}
	return hot.Constant(hot.Select(v.Value, path), call.At), nil
}
