package simulationtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// history is what the roles did and saw, and what violated the rules.
type history struct {
	world *world

	mu         sync.Mutex
	trace      []string
	violations []string
	counts     map[string]int
	starts     map[string]int               // MACHINE ROLE
	versions   map[string][]int             // what it ran as, and was updated to: MACHINE ROLE
	tried      map[string][]int             // as what it was started, or was to run, since it was last brought up to date, and that: MACHINE ROLE
	inputs     map[string]map[string]string // what it read last: MACHINE ROLE, input
	accesses   []*access
	states     map[string]string // with which it was last brought up to date: MACHINE ROLE
	mixes      map[string]bool   // two versions of one source that a role may have
	halves     map[string]bool   // first runs that read two versions of a source in mid-change
	newest     map[contract.RoleKey][]standsSince
	offered    map[contract.RoleKey]int // the version of the plan that an operator has begun to publish last
	runs       map[string]int           // of roles, by change
}

func newHistory(w *world) *history {
	return &history{world: w, counts: map[string]int{}, starts: map[string]int{}, versions: map[string][]int{}, tried: map[string][]int{}, inputs: map[string]map[string]string{}, states: map[string]string{}, mixes: map[string]bool{}, halves: map[string]bool{}, newest: map[contract.RoleKey][]standsSince{}, offered: map[contract.RoleKey]int{}, runs: map[string]int{}}
}

// access is one read or write of a role.
type access struct {
	history *history
	run     *run
	write   bool
	cells   []contract.CellName
	input   contract.Input
	called  time.Time
	seen    int // what the session's replica had shown before
	// The rest is set when it ended.
	returned time.Time
	value    string // written, or read as JSON
	err      error
}

func (h *history) note(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trace = append(h.trace, line)
}

func (h *history) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[what]++
}

// violate records a violation.
func (h *history) violate(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	h.world.trace("VIOLATION %s", text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, text)
}

// number is the incarnation as which a machine was enrolled; 0 is not yet.
func (h *history) number(m *machine) int {
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.numberOf(m)
}

func (c *cluster) numberOf(m *machine) int {
	path := deployment.Server(m.Server)
	number := 0
	for _, x := range c.nodes[path] {
		if x.machine == m && !c.commits[x.commit].lost {
			number = incarnation(x.data).Number
		}
	}
	return number
}

// held reports whether a cell once held a value of an incarnation.
func (h *history) held(cellName contract.CellName, server contract.ServerPath, number int, value string) bool {
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := contract.CellRef{Cell: cellName, Server: server}
	for _, x := range c.nodes[deployment.Cell(ref)] {
		r := c.plain(h.world, ref, x.commit+1)
		if r.State == protocol.Valued && (number == 0 || r.Incarnation == number) && (value == "" || string(r.Value) == value) {
			return true
		}
	}
	return false
}

// failed reports whether a cell was once marked as failed in an incarnation.
func (h *history) failed(cellName contract.CellName, server contract.ServerPath, number int) bool {
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.nodes[deployment.Cell(contract.CellRef{Cell: cellName, Server: server})] {
		if r := cell(x.data); r.State == protocol.Failed && r.Incarnation == number {
			return true
		}
	}
	return false
}

// started records that a role's tool was started.
func (h *history) started(p *process, r contract.Role, of made) {
	m := p.machine
	key := fmt.Sprintf("%v %s", m, r.Name)
	h.mu.Lock()
	h.starts[key]++
	again := h.starts[key] > 1
	h.versions[key] = append(h.versions[key], of.Version)
	h.mu.Unlock()
	h.world.trace("%v: %s starts", p, r.Name)
	h.count("starts")
	if again && !r.Idempotent {
		h.violate("%s of %v was started again, by %v", r.Name, m, p)
	}
	number := h.number(m)
	for _, s := range h.world.program.Plan.Servers {
		if s.Path != m.Server {
			continue
		}
		for _, earlier := range s.Roles {
			if earlier.Name == r.Name {
				break
			}
			if c := s.Path.Role(earlier.Name).Completion(); !h.held(c, s.Path, number, "null") {
				h.violate("%s of %v was started before %s was done", r.Name, p, earlier.Name)
			}
		}
	}
	for _, d := range r.DependsOn {
		if !h.held(d.Cell, h.serverOf(d.Cell), 0, "null") {
			h.violate("%s of %v was started before %s was done", r.Name, p, d.Cell)
		}
	}
}

func (h *history) serverOf(c contract.CellName) contract.ServerPath {
	for _, x := range h.world.program.Plan.Cells {
		if x.Name == c {
			return x.Server
		}
	}
	return ""
}

func (h *history) reads(r *run, input string) *access {
	in := r.input(input)
	if h.world.program.Joining != nil { // the cells of a list of members cannot be told from it
		return h.begin(&access{run: r, input: in})
	}
	return h.begin(&access{run: r, cells: in.Reads, input: in})
}

func (h *history) writes(r *run, c contract.CellName, value string) *access {
	text, _ := json.Marshal(value)
	return h.begin(&access{run: r, write: true, cells: []contract.CellName{c}, value: string(text)})
}

func (h *history) begin(a *access) *access {
	c := h.world.cluster
	c.mu.Lock()
	a.seen = a.run.process.session.seen
	c.mu.Unlock()
	a.history, a.called = h, time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accesses = append(h.accesses, a)
	return a
}

func (a *access) ended(value json.RawMessage, err error) {
	h := a.history
	h.mu.Lock()
	a.returned, a.err = time.Now(), err
	if !a.write {
		a.value = string(value)
	}
	h.mu.Unlock()
	if !a.write && err == nil && h.world.program.Joining != nil {
		h.world.joinedList(a.value)
	}
	what := "reads"
	if a.write {
		what = "writes"
	}
	outcome := a.value
	if err != nil {
		outcome = "error: " + err.Error()
	}
	h.world.trace("%v: %s %s %v: %s", a.run.process, a.run.key, what, a.cells, strings.ReplaceAll(outcome, "\n", " "))
	if a.write && err == nil {
		m := a.run.process.machine
		if number := h.number(m); !h.held(a.cells[0], m.Server, number, a.value) {
			h.violate("%v was told that %s is published, and it is not", a.run.process, a.cells[0])
		}
	}
}

// finish moves the records to the outcome.
func (h *history) finish(o *Outcome) {
	h.checkCells()
	h.checkIncarnations()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checkAdmissions()
	c := h.world.cluster
	c.mu.Lock()
	h.counts["stale answers"], h.counts["commits"] = c.stale, len(c.commits)
	c.mu.Unlock()
	o.Trace, o.Counts = append([]string(nil), h.trace...), maps.Clone(h.counts)
	o.Violations = append([]string(nil), h.violations...)
}

// checkIncarnations reports machines that were a server, were replaced, and were it again.
func (h *history) checkIncarnations() {
	c := h.world.cluster
	for _, s := range h.world.program.Plan.Servers {
		c.mu.Lock()
		changes := c.nodes[deployment.Server(s.Path)]
		c.mu.Unlock()
		var last protocol.IncarnationRecord
		were := map[string]bool{}
		for _, x := range changes {
			now := incarnation(x.data)
			if !x.exists || c.commits[x.commit].lost { // after a destruction it is another deployment; a loss brings back what was
				last, were = now, map[string]bool{}
				continue
			}
			if now.ID != last.ID && were[now.ID] && !h.world.wentBack(s.Path) {
				h.violate("machine %s of server %s is number %d and was the server before: it fenced number %d", now.Instance, s.Path, now.Number, last.Number)
			}
			were[now.ID], last = true, now
		}
	}
}

// wentBack reports whether Heat goes back from a machine of a server to the previous one.
func (w *world) wentBack(server contract.ServerPath) bool {
	return slices.ContainsFunc(w.Faults.Machines, func(m Machine) bool { return m.Server == server && m.Undone > 0 })
}
