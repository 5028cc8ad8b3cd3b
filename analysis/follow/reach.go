package follow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Change is something that can change in a deployment, and what that reaches (docs/json.md).
type Change struct {
	What string `json:"change"` // "role db.mysql", "server db", "parameter level"
	// Reaches are the roles that are updated, each after those before it that it follows;
	// Keeps are the reads that keep the old value.
	Reaches []Reached `json:"reaches"`
	Keeps   []Kept    `json:"keeps"`
	// Resources are those that Heat created with a role's output and does not update.
	Resources []KeptResource `json:"resources,omitempty"`
	// Preview is what runs, the start of the change included.
	Preview *preview.Preview `json:"preview"`
}

// Reached is a role that a change reaches.
type Reached struct {
	Role contract.RoleKey `json:"role"`
	How  How              `json:"how"`
	// After are the roles that it follows, among those that the change reaches, except the one
	// that changes.
	After []contract.RoleKey `json:"after,omitempty"`
}

// How is what brings a role up to date.
type How = preview.How

// The ways in which a change reaches a role.
const (
	Hook      = preview.Hook
	Again     = preview.Again
	Apply How = "apply" // when a folder compiled with the other value is applied
)

// Kept is a read that keeps the old value.
type Kept struct {
	Role  contract.RoleKey `json:"role"`
	Input string           `json:"input"`
	At    string           `json:"at"`
	Why   string           `json:"why"` // why its role is not updated
}

// KeptResource is a resource that Heat leaves as it created it.
type KeptResource struct {
	Resource contract.ServerPath `json:"resource"`
	Output   contract.CellName   `json:"output"` // the output that it reads
	Server   contract.ServerPath `json:"server"` // the output's server
	At       string              `json:"at"`
}

func keeps(in *program.Input, at source.Place, why string) Kept {
	return Kept{in.Role.Key(), in.Name, at.String(), why}
}

// reacher computes what changes reach.
type reacher struct {
	program   *program.Program
	analysis  *binding.Analysis
	heat      *HeatValues
	durations timeline.Durations
	graph     *preview.Graph
	roles     []*program.Role // in template order
	byKey     map[contract.RoleKey]*program.Role
	rewritten map[contract.CellName]contract.RoleKey // cells that update hooks write, with their roles
	readers   map[contract.CellName][]*program.Input
}

// Changes are all possible changes that roles read, in template order: of parameters, of
// attributes of resources, of servers that are replaced, of roles' outputs. No roles may
// follow each other in a cycle.
func Changes(p *program.Program, a *binding.Analysis, heat *HeatValues, d timeline.Durations) []Change {
	r := &reacher{program: p, analysis: a, heat: heat, durations: d, byKey: map[contract.RoleKey]*program.Role{}, readers: map[contract.CellName][]*program.Input{}}
	var nodes []preview.Role
	for role := range p.Roles {
		node := preview.Role{Key: role.Key(), Server: role.Server.Path, How: updatedBy(role), Writes: outputs(role)}
		for in, bound := range a.Bound(role) {
			for _, cell := range cellsOf(bound) {
				r.readers[cell] = append(r.readers[cell], in)
				if in.WatchAt.Known() {
					node.Follows = append(node.Follows, preview.Followed{Cell: cell, Input: in.Name, At: in.At.String()})
				}
			}
		}
		r.roles, r.byKey[node.Key], nodes = append(r.roles, role), role, append(nodes, node)
	}
	r.graph = preview.New(nodes)
	var all []Change
	add := func(c Change) {
		if len(c.Reaches)+len(c.Keeps)+len(c.Resources) > 0 {
			all = append(all, c)
		}
	}
	for _, parameter := range p.Template.Parameters {
		add(r.parameter(parameter))
	}
	for _, name := range r.resources() {
		add(r.fromOutside(name, readsOf(r.roles, a, func(in *program.Input, bound *binding.Bound) (source.Place, contract.Time, bool) {
			for _, ref := range bound.References {
				if ref.Needs == name {
					return ref.At, ref.Time, true
				}
			}
			return source.Place{}, "", false
		}), nil))
	}
	for _, s := range p.Servers {
		add(r.from("server "+string(s.Path), preview.Begin{Replaced: []contract.ServerPath{s.Path}, Cells: factCells(a, s.Path)}))
		for _, role := range s.Roles {
			add(r.from(fmt.Sprintf("role %s", role.Key()), preview.Begin{Roles: map[contract.RoleKey]How{role.Key(): updatedBy(role)}}))
		}
	}
	for _, g := range groups(a) {
		begin := preview.Begin{Cells: g.Cells}
		add(r.from("member joins "+g.Group(), begin))
		add(r.from("member leaves "+g.Group(), begin)) // with a relay
	}
	for _, s := range a.FactServers {
		add(r.from("server "+string(s.Path), preview.Begin{Cells: factCells(a, s.Path)}))
	}
	return all
}

// groups are those that roles read a list of, each with the cells read of one member.
func groups(a *binding.Analysis) []*binding.Gather {
	var all []*binding.Gather
	for _, g := range a.Gathers {
		i := slices.IndexFunc(all, func(x *binding.Gather) bool { return x.Group() == g.Group() })
		if i < 0 {
			one := *g
			all = append(all, &one)
			continue
		}
		for _, cell := range g.Cells {
			if !slices.Contains(all[i].Cells, cell) {
				all[i].Cells = append(all[i].Cells[:len(all[i].Cells):len(all[i].Cells)], cell)
			}
		}
	}
	return all
}

func factCells(a *binding.Analysis, server contract.ServerPath) []contract.CellName {
	return lists.Map(a.Facts[server], server.Fact)
}

// cellsOf are the cells that an input reads, each once.
func cellsOf(bound *binding.Bound) []contract.CellName {
	cells := bound.Expr.Cells()
	slices.Sort(cells)
	return slices.Compact(cells)
}

// from follows a change from its start.
func (r *reacher) from(what string, b preview.Begin) Change {
	return r.fromHeat(what, b, map[contract.ServerPath]bool{})
}

// fromHeat is from, where Heat supplies new values to some servers.
func (r *reacher) fromHeat(what string, b preview.Begin, heard map[contract.ServerPath]bool) Change {
	c := Change{What: what, Reaches: []Reached{}, Keeps: []Kept{}, Preview: r.graph.Of(b, r.durations)}
	runs := map[*program.Role]bool{}
	cells := slices.Clone(b.Cells)
	for _, s := range c.Preview.Runs {
		role := r.byKey[s.Role]
		runs[role] = true
		cells = append(cells, outputs(role)...)
		if b.Roles[s.Role] != "" || slices.Contains(b.Replaced, role.Server.Path) {
			continue
		}
		after := slices.DeleteFunc(slices.Clone(s.After), func(key contract.RoleKey) bool { return "role "+string(key) == what })
		c.Reaches = append(c.Reaches, Reached{s.Role, s.How, after})
	}
	for _, server := range b.Replaced {
		heard[server] = true
	}
	c.Resources = r.resourcesOf(cells, heard)
	kept := map[*program.Input]bool{}
	for _, cell := range cells {
		for _, in := range r.readers[cell] {
			if !runs[in.Role] && !kept[in] { // a role that runs reads the new value, too
				kept[in] = true
				c.Keeps = append(c.Keeps, keeps(in, in.At, "it does not set `watch: true`"+r.rewriteNote(cell)))
			}
		}
	}
	return c
}

// resourcesOf are the resources that read changed cells. Heat reads a role's outputs again if its
// server is replaced, or Heat supplies it with new values.
func (r *reacher) resourcesOf(cells []contract.CellName, read map[contract.ServerPath]bool) (all []KeptResource) {
	for _, p := range r.analysis.PropertyReads {
		if p.Bound == nil {
			continue
		}
		i := slices.IndexFunc(p.Outputs, func(o *program.Output) bool { return slices.Contains(cells, o.Cell()) && !read[o.Role.Server.Path] })
		if i >= 0 {
			all = append(all, KeptResource{p.In.PathOf(p.Resource), p.Outputs[i].Cell(), p.Outputs[i].Role.Server.Path, p.Template.Place(p.Call).String()})
		}
	}
	return all
}

// rewriteNote adds that a cell's role writes it again in its update hook: readers without `watch` do not
// learn of that.
func (r *reacher) rewriteNote(cell contract.CellName) string {
	if r.rewritten == nil {
		r.rewritten = rewritten(r.roles)
	}
	if key := r.rewritten[cell]; key != "" {
		return fmt.Sprintf(", although the hook `update` of %s writes a new value", key)
	}
	return ""
}

// rewritten are the cells that update hooks write, each with its role.
func rewritten(roles []*program.Role) map[contract.CellName]contract.RoleKey {
	by := map[contract.CellName]contract.RoleKey{}
	for _, role := range roles {
		hook := role.Update()
		if hook == nil || hook.Meaning == nil || hook.Meaning.Sequence == nil {
			continue
		}
		hook.Meaning.Sequence.Walk(func(s *program.Step) {
			for _, o := range role.Outputs {
				if s.Op == program.WriteOutput && s.Name == o.Name {
					by[o.Cell()] = role.Key()
				}
			}
		})
	}
	return by
}

// outputs are the cells that a role writes.
func outputs(role *program.Role) []contract.CellName {
	return lists.Map(lists.Only(role.Outputs, func(o *program.Output) bool { return o.Value == nil }), (*program.Output).Cell)
}

func updatedBy(role *program.Role) How {
	if role.Update() != nil {
		return Hook
	}
	return Again
}

// resources are those whose attributes Heat supplies to roles, sorted by name.
func (r *reacher) resources() []string {
	var all []string
	for _, role := range r.roles {
		for _, bound := range r.analysis.Bound(role) {
			for _, ref := range bound.References {
				if strings.HasPrefix(ref.Needs, "resource ") && ref.Time == contract.Deploy {
					all = append(all, ref.Needs)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// readFrom are those among some roles from which one reads: it waits for their new values.
func (r *reacher) readFrom(role *program.Role, among []*program.Role) []contract.RoleKey {
	var from []contract.RoleKey
	for _, bound := range r.analysis.Bound(role) {
		cells := cellsOf(bound)
		for _, w := range among {
			if !slices.Contains(from, w.Key()) && slices.ContainsFunc(outputs(w), func(cell contract.CellName) bool { return slices.Contains(cells, cell) }) {
				from = append(from, w.Key())
			}
		}
	}
	slices.Sort(from)
	return from
}
