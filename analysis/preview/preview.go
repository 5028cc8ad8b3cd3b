// Package preview computes what a change triggers: which roles run again, in which order,
// and how long that takes (docs/updates.md). `hotc apply --dry-run`, `hotc up` and
// `hotc explain --changes` all show this result.
//
// A change begins with roles that it affects directly, with new values, and with servers
// that are replaced. From there it propagates: a role that follows a role that runs, runs
// after it, once. The duration is that of a net (analysis/waits) in which each role that
// runs waits for those before it, and each server does one thing at a time.
package preview

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
)

// How says what runs of a role.
type How string

// The ways in which a role takes part in a change.
const (
	Hook  How = "hook"  // its update hook runs
	Again How = "again" // it runs again
	Run   How = "run"   // it runs as for the first time: it has not run, has failed, or its server is replaced
)

// Role is a node of the graph.
type Role struct {
	Key     contract.RoleKey
	Server  contract.ServerPath
	Follows []Followed // cells whose new versions update it
	Writes  []contract.CellName
	How     How // what updates it
}

// Followed is a cell that a role follows through one of its inputs.
type Followed struct {
	Cell  contract.CellName
	Input string
	At    string // where the input reads it
}

// Graph is who follows whom.
type Graph struct {
	roles     []Role
	index     map[contract.RoleKey]int
	writers   map[contract.CellName]int
	followers map[contract.CellName][]int
	order     []int // each after those that it follows
}

// New builds the graph of all roles, those of a server in the order in which they run.
func New(roles []Role) *Graph {
	g := &Graph{roles: roles, index: map[contract.RoleKey]int{}, writers: map[contract.CellName]int{}, followers: map[contract.CellName][]int{}}
	for i, r := range roles {
		g.index[r.Key] = i
		for _, cell := range r.Writes {
			g.writers[cell] = i
		}
		for _, f := range r.Follows {
			g.followers[f.Cell] = append(g.followers[f.Cell], i)
		}
	}
	seen := make([]bool, len(roles))
	for i := range roles {
		g.sort(i, seen)
	}
	return g
}

// sort puts a role after those that it follows.
func (g *Graph) sort(i int, seen []bool) {
	if seen[i] {
		return
	}
	seen[i] = true
	for _, w := range g.followed(i) {
		g.sort(w, seen)
	}
	g.order = append(g.order, i)
}

// followed are the roles that a role follows, each once.
func (g *Graph) followed(i int) (all []int) {
	for _, f := range g.roles[i].Follows {
		if w, is := g.writers[f.Cell]; is && w != i && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// UpdatedBy is what updates a role of a plan that can be updated.
func UpdatedBy(r *contract.Role) How {
	if contract.FindTask(r.Hooks, contract.HookUpdate) != nil {
		return Hook
	}
	return Again
}

// OfPlan is the graph of a plan.
func OfPlan(p *contract.Plan) *Graph {
	var roles []Role
	for i := range p.Servers {
		s := &p.Servers[i]
		for k := range s.Roles {
			r := &s.Roles[k]
			role := Role{Key: s.Path.Role(r.Name), Server: s.Path, How: UpdatedBy(r), Writes: lists.Map(r.Outputs, func(o contract.Output) contract.CellName { return o.Cell })}
			for _, f := range r.Follows {
				if f.Watch {
					role.Follows = append(role.Follows, followed(r, f.Cell))
				}
			}
			roles = append(roles, role)
		}
	}
	return New(roles)
}

// followed is a cell with the first input that reads it.
func followed(r *contract.Role, cell contract.CellName) Followed {
	for _, in := range r.Inputs {
		if slices.Contains(in.Reads, cell) {
			return Followed{cell, in.Name, string(in.At[""])}
		}
	}
	return Followed{Cell: cell}
}

// Begin is what a change affects directly.
type Begin struct {
	Roles map[contract.RoleKey]How
	// Why says, for Roles, what has changed, as a clause.
	Why map[contract.RoleKey]string
	// Joins are those of Roles for which all that changes is that members join: they run then.
	Joins    []contract.RoleKey
	Cells    []contract.CellName   // cells with new values
	Replaced []contract.ServerPath // servers that are replaced
	// After are roles that these wait for without following them: those that they read from,
	// where the change is one of Heat's.
	After map[contract.RoleKey][]contract.RoleKey
}

// Preview is what a change triggers (docs/json.md).
type Preview struct {
	// Runs are the roles that run, each after those before it that it follows.
	Runs []Step `json:"runs"`
	// Seconds is the total duration; -1 if unknown.
	Seconds  float64  `json:"seconds"`
	Critical []string `json:"critical_path"`
}

// Step is a role that runs.
type Step struct {
	Role contract.RoleKey `json:"role"`
	How  How              `json:"how"`
	// After are the roles that it follows, among those that run.
	After []contract.RoleKey `json:"after,omitempty"`
	// Each says that several of these run on new machines, which join one by one: it runs for each of
	// them, or for some at once.
	Each bool `json:"each,omitempty"`
	// Why is a clause in English: what has changed.
	Why   string  `json:"why,omitempty"`
	Start float64 `json:"start"` // -1 if unknown, as is End
	End   float64 `json:"end"`

	role int
}

// Of is what a change triggers, given the durations of roles and boots.
func (g *Graph) Of(b Begin, d timeline.Durations) *Preview {
	how, cells := g.reach(b)
	p := &Preview{Runs: []Step{}}
	for _, i := range g.order {
		if how[i] == "" {
			continue
		}
		s := Step{Role: g.roles[i].Key, How: how[i], Start: -1, End: -1, role: i}
		joining := 0
		for _, w := range g.followed(i) {
			if how[w] == Run || how[w] != "" && how[i] != Run { // a first run reads the existing values
				s.After = append(s.After, g.roles[w].Key)
			}
			if how[w] == Run {
				joining++
			}
		}
		_, begins := b.Roles[s.Role]
		s.Each = how[i] != Run && (joining > 1 || joining > 0 && begins && !slices.Contains(b.Joins, s.Role))
		for _, key := range b.After[s.Role] {
			if !slices.Contains(s.After, key) {
				s.After = append(s.After, key)
			}
		}
		slices.Sort(s.After)
		s.Why = g.why(i, b, cells)
		p.Runs = append(p.Runs, s)
	}
	g.predict(p, b, d)
	slices.SortStableFunc(p.Runs, func(x, y Step) int { return cmp.Compare(x.Start, y.Start) })
	return p
}

// why explains why a role runs, if some cells get new values.
func (g *Graph) why(i int, b Begin, cells []contract.CellName) string {
	r := &g.roles[i]
	if slices.Contains(b.Replaced, r.Server) {
		return "its machine is new"
	}
	if _, is := b.Roles[r.Key]; is {
		return b.Why[r.Key]
	}
	return Changes(lists.Only(r.Follows, func(f Followed) bool { return f.Input != "" && slices.Contains(cells, f.Cell) }))
}

// maxInputs bounds how many inputs of a role are named.
const maxInputs = 3

// Changes says, as a clause, that some of a role's inputs change.
func Changes(follows []Followed) string {
	var names []string
	for _, f := range follows {
		if name := f.Input + " (" + f.At + ")"; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	kind := "its input "
	if len(names) > 1 {
		kind = "its inputs "
	}
	if over := len(names) - maxInputs; over > 0 {
		names = append(names[:maxInputs], fmt.Sprintf("%d more", over))
	}
	if len(names) == 0 {
		return ""
	}
	return kind + Change(names)
}

// Change says, as a clause, that the named ones change.
func Change(names []string) string {
	if len(names) == 1 {
		return names[0] + " changes"
	}
	return Listed(names) + " change"
}

// Listed is one or more names, as in "a, b and c".
func Listed[T ~string](names []T) string {
	last := len(names) - 1
	if last == 0 {
		return string(names[0])
	}
	return lists.Join(names[:last]) + " and " + string(names[last])
}

// reach finds what runs, by role, and the cells that get new values.
func (g *Graph) reach(b Begin) (how map[int]How, cells []contract.CellName) {
	how, cells = map[int]How{}, slices.Clone(b.Cells)
	begin := func(i int, as How) {
		if how[i] == "" {
			cells = append(cells, g.roles[i].Writes...)
		}
		how[i] = as
	}
	for i, r := range g.roles {
		switch as, is := b.Roles[r.Key]; {
		case slices.Contains(b.Replaced, r.Server):
			begin(i, Run)
		case is:
			begin(i, as)
		}
	}
	for next := 0; next < len(cells); next++ {
		for _, i := range g.followers[cells[next]] {
			if how[i] == "" {
				begin(i, g.roles[i].How)
			}
		}
	}
	return how, cells
}

// predict computes when each step runs.
func (g *Graph) predict(p *Preview, b Begin, d timeline.Durations) {
	net := &waits.Net{}
	done := map[contract.RoleKey]waits.CellID{}
	for _, s := range p.Runs {
		done[s.Role] = net.AddCell(string(s.Role))
	}
	var servers []contract.ServerPath
	of := map[contract.ServerPath][]Step{}
	for _, s := range p.Runs {
		server := g.roles[s.role].Server
		if of[server] == nil {
			servers = append(servers, server)
		}
		of[server] = append(of[server], s)
	}
	place := map[contract.RoleKey][2]int{} // its process and task
	for n, server := range servers {
		process := waits.Process{Name: string(server), Server: true}
		if slices.Contains(b.Replaced, server) { // it runs its roles as they are listed
			process.Tasks = append(process.Tasks, waits.Task{Name: string(server), Heat: true, Completion: -1})
			slices.SortFunc(of[server], func(x, y Step) int { return x.role - y.role })
		}
		for _, s := range of[server] {
			cell := done[s.Role]
			task := waits.Task{Name: string(s.Role[len(server)+1:]), Completion: cell, Owns: []waits.CellID{cell}}
			for _, after := range s.After {
				task.Body = append(task.Body, waits.Step{Op: waits.Read, Cell: done[after], What: "role " + string(after), Start: true})
			}
			task.Body = append(task.Body, waits.Step{Op: waits.Write, Cell: cell, What: "completion", Progress: 1})
			place[s.Role] = [2]int{n, len(process.Tasks)}
			process.Tasks = append(process.Tasks, task)
		}
		net.Processes = append(net.Processes, process)
	}
	run := timeline.Simulate(net, d)
	p.Seconds, p.Critical = run.Makespan, lists.Map(run.Critical, func(l timeline.Link) string { return l.Task })
	if run.Hung {
		return
	}
	for i := range p.Runs {
		s := &p.Runs[i]
		t := run.Processes[place[s.Role][0]].Tasks[place[s.Role][1]]
		s.Start, s.End = t.Start+t.Blocked, t.End
	}
}
