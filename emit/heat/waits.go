package heat

import (
	"maps"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
)

// With a relay Heat waits by software deployments, which no server ever sees: one for the whole
// deployment, one for each role that Heat reads from, and one in each group member that can wait
// for its own roles. A deployment's input values say what it waits for (contract.HeatWait): when
// Heat resolves them to other values, as for a replaced server, it waits again. The relay finds
// all of them in one request, since they all name the root stack as their server, and ends each
// by its id.

const (
	configType = "OS::Heat::SoftwareConfig"
	// outputWaits is a nested template's output that lists its servers with roles.
	outputWaits = "hotc_waits"
)

// tellsHeat reports whether anything signals to Heat.
func (s *stack) tellsHeat() bool { return s.options.Signal != contract.NobodySignals }

// inStack is where Heat has an output's value for the stack's outputs (storedAt).
func (s *stack) inStack(o *program.Output) []value.Value {
	name := contract.RoleValues
	if s.options.Signal == contract.RelaySignals {
		name = contract.StackValues
	}
	return []value.Value{s.valuesOf(ResourceCondition, ResourceValues), name, string(o.Role.Server.Path), o.Attribute}
}

// valuesOf is the resource that has roles' values: the wait itself, or what decodes a wait
// condition's data.
func (s *stack) valuesOf(wait, values string) string {
	if s.options.Signal == contract.RelaySignals {
		return wait
	}
	return values
}

// wait adds a software deployment that waits for the roles of servers, or for one role of each;
// values means that Heat reads what they wrote.
func (s *stack) wait(added *value.Dict, name, role string, servers []value.Value, values bool) {
	about := dict("format", int64(contract.HeatWaitFormat), "deployment", s.rootName(), "wait", name)
	switch {
	case !s.inRoot():
		about.Set("stack", parameter(ParameterPath))
	case role == "":
		about.Set("roles", s.built.Plan.Definitions())
	}
	if role != "" {
		about.Set("role", role)
	}
	properties := dict("server", s.rootID(), "signal_transport", "HEAT_SIGNAL",
		"input_values", dict("hotc", about, "servers", servers))
	if values {
		added.Set(ResourceConfig, resource(configType, dict("outputs", lists.Map([]string{contract.RoleValues, contract.StackValues}, func(name string) value.Value {
			return dict("name", name, "type", "Json")
		}))))
		properties.Set("config", id(ResourceConfig))
	}
	added.Set(name, resource(contract.WaitType, properties))
}

// servers lists the template's servers with roles, and those of nested stacks; only those below
// the named resources, if any.
func (s *stack) servers(only []string) []value.Value {
	list := []value.Value{}
	for _, r := range s.template.Resources {
		if only != nil && !slices.Contains(only, r.Name) {
			continue
		}
		x := s.serversAt(r)
		if x != nil && r.Condition != nil {
			x = dict("if", []value.Value{r.Condition.Value.Data(), x, nil})
		}
		if x != nil {
			list = append(list, x)
		}
	}
	return list
}

// serversAt lists those of one resource; nil if it has none.
func (s *stack) serversAt(r *hot.Resource) tree {
	for _, use := range s.stacks {
		if x := use.Server(r.Name); x != nil && len(x.Roles) > 0 {
			return s.waited(s.sites[slices.IndexFunc(s.sites, func(p site) bool { return p.resource == r.Name })], r.Name)
		}
		if n := use.StackResourceOf(r.Name); n != nil && n.HasRoles() {
			if n.Slots() {
				return attribute(r.Name, program.OutputsList, outputWaits)
			}
			return attribute(r.Name, outputWaits)
		}
	}
	return nil
}

// launchedAt is Nova's time of a server's last launch, in what Heat shows of it.
const launchedAt = "OS-SRV-USG:launched_at"

// waited is a server to wait for (contract.HeatServer), with the values of Heat that the relay
// carries to it: no secrets, which would be readable there.
func (s *stack) waited(p site, resource string) tree {
	w := dict("server", p.path, "id", id(resource), "launched", attribute(resource, "show", launchedAt))
	carried := maps.Clone(p.deploy)
	maps.DeleteFunc(carried, func(key string, _ *hot.Expr) bool { return !s.built.Carried[key] })
	if len(carried) > 0 {
		w.Set("values", namedValues(carried))
	}
	return w
}

// ownServers are a nested template's servers with roles.
func (s *stack) ownServers() []value.Value {
	if s.inMember {
		return []value.Value{s.waited(s.ownSite, memberServer)}
	}
	return s.servers(nil)
}

// waitOutput adds the output that lists a nested template's servers with roles.
func (s *stack) waitOutput(outputs *value.Dict) {
	if s.options.Signal != contract.RelaySignals || s.inRoot() {
		return
	}
	if servers := s.ownServers(); len(servers) > 0 {
		outputs.Set(outputWaits, dict("value", servers))
	}
}

// memberWait adds the wait of a group's member, in its own template.
func (s *stack) memberWait(added *value.Dict) {
	if s.options.Signal != contract.RelaySignals || s.inRoot() {
		return
	}
	servers := s.ownServers()
	switch {
	case len(servers) == 0:
	case s.waits():
		s.wait(added, ResourceCondition, "", servers, false)
	case s.isFollowed():
		about := dict("format", int64(contract.HeatWaitFormat), "deployment", s.rootName(), "stack", parameter(ParameterPath), "wait", ResourceHere, "here", true)
		added.Set(ResourceHere, resource(contract.WaitType, dict("server", s.rootID(), "signal_transport", "NO_SIGNAL", "input_values", dict("hotc", about, "servers", servers))))
	}
}

// isFollowed reports whether a use of the template is a member of a group whose membership a
// role follows.
func (s *stack) isFollowed() bool {
	followed := s.built.Plan.Groups()
	return slices.ContainsFunc(s.stacks, func(use *program.Stack) bool {
		if s.inMember {
			return followed[string(use.PathOf(s.group.Name))] != nil
		}
		return use.StackResource != nil && use.StackResource.Group() && followed[string(use.StackResource.OwnPath())] != nil
	})
}

// waits reports whether all uses of the template are members that wait for their roles.
func (s *stack) waits() bool {
	if s.inMember {
		return s.options.MembersWait[s.group]
	}
	return !slices.ContainsFunc(s.stacks, func(use *program.Stack) bool {
		return use.StackResource == nil || !s.options.MembersWait[use.StackResource.Resource]
	})
}
