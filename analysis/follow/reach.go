package follow

import (
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Change is something that can change in a deployment, and whom that reaches.
type Change struct {
	What string // "role db.mysql", "server db", "parameter level"
	// Reaches are the roles that are brought up to date, each after those before it that it
	// follows; Keeps those that read something of it and stay as they are.
	Reaches []Reached
	Keeps   []Kept
}

// Reached is a role that a change reaches.
type Reached struct {
	Role *program.Role
	How  How
	// After are the roles that it follows, of those that the change reaches or begins with.
	After []*program.Role
}

// How is what brings a role up to date.
type How string

// The ways in which a change reaches a role.
const (
	Hook  How = "hook"  // its hook update runs
	Again How = "again" // it runs again
	Apply How = "apply" // when a folder compiled with the other value is applied
)

// Kept is a read that goes on with the value before.
type Kept struct {
	Input *program.Input
	At    source.Place
	// Why is why nothing brings its role up to date.
	Why string
}

// reacher works out what changes reach.
type reacher struct {
	analysis *binding.Analysis
	roles    []*program.Role // those that follow others after these
	place    map[*program.Role]int
	writers  map[string]*program.Role    // by cell
	readers  map[string][]*program.Input // by cell
}

// Changes are all that can change and that roles read of, in the order of the text:
// parameters, servers that are built anew, roles that write another value. No roles follow
// each other in a cycle.
func Changes(p *program.Program, a *binding.Analysis) []Change {
	r := &reacher{analysis: a, place: map[*program.Role]int{}, writers: map[string]*program.Role{}, readers: map[string][]*program.Input{}}
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			for _, o := range role.Outputs {
				r.writers[o.Cell()] = role
			}
			for _, in := range role.Inputs {
				for _, cell := range r.cells(in) {
					r.readers[cell] = append(r.readers[cell], in)
				}
			}
		}
	}
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			r.sort(role)
		}
	}
	var all []Change
	add := func(c Change) {
		if len(c.Reaches)+len(c.Keeps) > 0 {
			all = append(all, c)
		}
	}
	for _, parameter := range p.Template.Parameters {
		add(r.parameter(parameter.Name))
	}
	for _, s := range p.Servers {
		add(r.reach("server "+s.Path, s.Roles, factCells(a, s.Path)))
		for _, role := range s.Roles {
			add(r.reach("role "+role.Key(), []*program.Role{role}, nil))
		}
	}
	for _, s := range a.FactServers {
		add(r.reach("server "+s.Path, nil, factCells(a, s.Path)))
	}
	return all
}

func factCells(a *binding.Analysis, server string) []string {
	var cells []string
	for _, fact := range a.Facts[server] {
		cells = append(cells, program.FactCell(server, fact))
	}
	return cells
}

// cells are those that an input reads, each once.
func (r *reacher) cells(in *program.Input) []string {
	bound := r.analysis.Inputs[in]
	if bound == nil {
		return nil
	}
	cells := slices.Clone(bound.Expr.Cells())
	slices.Sort(cells)
	return slices.Compact(cells)
}

// sort puts a role behind those that it follows.
func (r *reacher) sort(role *program.Role) {
	if _, known := r.place[role]; known {
		return
	}
	r.place[role] = -1
	for _, in := range role.Inputs {
		if in.WatchAt.Known() {
			for _, cell := range r.cells(in) {
				if w := r.writers[cell]; w != nil {
					r.sort(w)
				}
			}
		}
	}
	r.place[role] = len(r.roles)
	r.roles = append(r.roles, role)
}

// reach follows what roles write anew, and facts that change with it.
func (r *reacher) reach(what string, begin []*program.Role, cells []string) Change {
	c := Change{What: what}
	reached := map[*program.Role][]*program.Role{} // after whom
	kept := map[*program.Input]bool{}
	var keeps []*program.Input
	for _, role := range begin {
		cells = append(cells, outputs(role)...)
	}
	for ; len(cells) > 0; cells = cells[1:] {
		writer := r.writers[cells[0]]
		for _, in := range r.readers[cells[0]] {
			after, known := reached[in.Role]
			switch {
			case slices.Contains(begin, in.Role):
			case !in.WatchAt.Known():
				if !kept[in] {
					kept[in] = true
					keeps = append(keeps, in)
				}
			default:
				if writer != nil && !slices.Contains(after, writer) {
					after = append(after, writer)
				}
				if reached[in.Role] = after; !known {
					cells = append(cells, outputs(in.Role)...)
				}
			}
		}
	}
	for role, after := range reached {
		c.Reaches = append(c.Reaches, Reached{Role: role, How: brings(role), After: after})
	}
	slices.SortFunc(c.Reaches, func(a, b Reached) int { return r.place[a.Role] - r.place[b.Role] })
	for _, in := range keeps {
		if _, runs := reached[in.Role]; !runs { // else it reads the value anew, too
			c.Keeps = append(c.Keeps, Kept{Input: in, At: in.At, Why: "it does not watch"})
		}
	}
	return c
}

// outputs are the cells that a role writes.
func outputs(role *program.Role) []string {
	var cells []string
	for _, o := range role.Outputs {
		if o.Value == nil {
			cells = append(cells, o.Cell())
		}
	}
	return cells
}

func brings(role *program.Role) How {
	if role.Update() != nil {
		return Hook
	}
	return Again
}

// parameter says whom another value of a parameter reaches.
func (r *reacher) parameter(name string) Change {
	c := Change{What: "parameter " + name}
	for _, role := range r.roles {
		for _, in := range role.Inputs {
			bound := r.analysis.Inputs[in]
			if bound == nil {
				continue
			}
			i := slices.IndexFunc(bound.References, func(ref binding.Reference) bool {
				return strings.HasPrefix(ref.Text, "{get_param: "+name+"}") || strings.HasPrefix(ref.Text, "{get_param: ["+name+",")
			})
			if i < 0 {
				continue
			}
			switch ref := bound.References[i]; {
			case ref.Time == binding.Deploy:
				c.Keeps = append(c.Keeps, Kept{in, ref.At, "Heat gives it when it makes the server"})
			case ref.Time == binding.Run:
				c.Keeps = append(c.Keeps, Kept{in, ref.At, "`hotc apply` gives it, and the role does not watch"})
			case role.Update() == nil && !role.Idempotent:
				c.Keeps = append(c.Keeps, Kept{in, ref.At, "it has no hook update, and is not idempotent: `hotc apply` refuses the change once it has run"})
			default:
				c.Reaches = append(c.Reaches, Reached{Role: role, How: Apply})
			}
		}
	}
	var changed []*program.Role
	for _, x := range c.Reaches {
		changed = append(changed, x.Role)
	}
	then := r.reach("", changed, nil)
	c.Reaches, c.Keeps = append(c.Reaches, then.Reaches...), append(c.Keeps, then.Keeps...)
	return c
}
