package main

import (
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// findingKind says what holds a role or a server up.
type findingKind string

// The kinds. The first four lead on to something else, the others are roots.
const (
	findBlocked  findingKind = "blocked"  // reads a value that is not there
	findTurn     findingKind = "turn"     // an earlier role of its server has not finished
	findSkipped  findingKind = "skipped"  // an earlier role of its server failed
	findPoisoned findingKind = "poisoned" // failed because something else did
	findRunning  findingKind = "running"
	findFailed   findingKind = "failed"
	findArrived  findingKind = "arrived"   // the value is there; the agent is about to see it
	findStarting findingKind = "starting"  // the agent has not begun with it yet
	findAbsent   findingKind = "absent"    // no agent ever came
	findMissing  findingKind = "missing"   // Heat did not make the server
	findLost     findingKind = "lost"      // the agent came and is gone
	findNotGiven findingKind = "not_given" // a secret that `hotc apply` has to give
	findRefused  findingKind = "refused"   // no machine is there but one whose token was used before
	findDone     findingKind = "done"

	findUpdating  findingKind = "updating"    // done; its hook update runs, or is to run
	findOutOfDate findingKind = "out_of_date" // done; its hook update failed
)

// finding is one role or server on the way from a question to its root.
type finding struct {
	Subject string          `json:"subject"` // SERVER.ROLE, or SERVER where its agent is the matter
	Kind    findingKind     `json:"kind"`
	Server  plan.ServerPath `json:"server"`
	Role    string          `json:"role,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Message string          `json:"message,omitempty"`
	// On is what this waits for: a blocked role may wait for several values.
	On        []dependence       `json:"on,omitempty"`
	Cause     *coordinator.Cause `json:"cause,omitempty"`
	LastLines []string           `json:"last_lines,omitempty"`
	Perhaps   []string           `json:"perhaps,omitempty"`
}

// dependence leads from a finding to the next.
type dependence struct {
	Subject string        `json:"subject"`
	Cell    plan.CellName `json:"cell,omitempty"`
	Input   string        `json:"input,omitempty"`
	At      plan.Position `json:"at,omitempty"`
	Since   time.Time     `json:"since,omitzero"`
}

// root says that a finding leads no further.
func (f *finding) root() bool { return len(f.On) == 0 && f.Kind != findDone }

// investigation follows waits to their roots. Each role is looked at once, so
// that it ends however the waits run.
type investigation struct {
	standing *standing
	found    map[string]*finding
	order    []*finding // as they were reached, a cause after its effect
	cycles   []cycle    // that the question leads to
}

func investigate(v *standing, roles []*roleStanding) *investigation {
	i := &investigation{standing: v, found: map[string]*finding{}}
	for _, r := range roles {
		i.follow(subjectOf(r), r.server, r)
	}
	i.cycles = slices.DeleteFunc(slices.Clone(v.cycles), func(c cycle) bool { return i.found[string(c[0].role.key())] == nil })
	return i
}

// subjectOf is the role itself or, where nothing can be said of it because its
// agent is not there, its server.
func subjectOf(r *roleStanding) string {
	if !r.server.came() || r.server.lost() || len(r.server.Knocks) > 0 && !r.server.Alive {
		return string(r.server.Path)
	}
	return string(r.key())
}

func (i *investigation) follow(subject string, s *serverStanding, r *roleStanding) {
	if i.found[subject] != nil {
		return
	}
	f := &finding{Subject: subject, Server: s.Path}
	if r != nil && subject == string(r.key()) {
		f.Role = r.Name
	}
	i.found[subject] = f
	i.order = append(i.order, f)
	i.describe(f, s, r)
}

func (i *investigation) describe(f *finding, s *serverStanding, r *roleStanding) {
	switch {
	case s.missing != "":
		f.Kind, f.Message = findMissing, s.missing
	case len(s.Knocks) > 0 && !s.Alive:
		f.Kind, f.Since = findRefused, s.Knocks[0].Since
		var texts []string
		for _, k := range s.Knocks {
			texts = append(texts, knockText(i.standing, s.Path, k))
		}
		f.Message = strings.Join(texts, "; ")
	case !s.came():
		f.Kind = findAbsent
	case s.lost():
		f.Kind, f.Since = findLost, s.State.Since
	case r == nil:
		f.Kind, f.Since, f.Message = findStarting, s.State.Since, s.State.Message
	case r.Status == coordinator.RoleDone:
		describeUpdate(f, r)
	case r.Status == coordinator.RoleFailed:
		i.describeFailure(f, r)
	case r.Status == coordinator.RoleSkipped:
		f.Kind, f.Cause = findSkipped, r.Cause
		i.leadToEarlier(f, r, func(e *roleStanding) bool { return e.Status == coordinator.RoleFailed })
	case r.blocked():
		f.Kind, f.Since = findBlocked, r.Blocked[0].Since
		for _, w := range r.Blocked {
			i.leadToWriter(f, w)
		}
		if len(f.On) == 0 {
			f.Kind = findArrived
		}
	case r.Status == coordinator.RoleRunning:
		f.Kind, f.Since = findRunning, r.Started
	default:
		f.Kind = findTurn
		i.leadToEarlier(f, r, func(e *roleStanding) bool { return e.Status != coordinator.RoleDone })
		if len(f.On) == 0 {
			f.Kind, f.Since, f.Message = findStarting, s.State.Since, s.State.Message
		}
	}
}

func (i *investigation) describeFailure(f *finding, r *roleStanding) {
	f.Kind, f.Since, f.Cause = findFailed, r.Ended, r.Cause
	f.LastLines = lastLines(r.LastLines)
	if r.Cause == nil {
		return
	}
	first := r.Cause.Root()
	if first == r.Cause || first.Role == "" || first.Role == r.key() {
		return
	}
	server, role, err := serverAndRole(string(first.Role))
	// A server that was built anew, or a role that ran again, tells no more of it: the
	// failure stands for itself, with its causes.
	if culprit := i.standing.role(plan.ServerPath(server), role); err == nil && culprit != nil && culprit.holdsUp() {
		f.Kind = findPoisoned
		f.LastLines = nil
		i.lead(f, dependence{Subject: subjectOf(culprit)}, culprit.server, culprit)
	}
}

// leadToEarlier follows the first role before r on its server that matches.
func (i *investigation) leadToEarlier(f *finding, r *roleStanding, match func(*roleStanding) bool) {
	for n := range r.index {
		if e := &r.server.roles[n]; match(e) {
			i.lead(f, dependence{Subject: string(e.key())}, r.server, e)
			return
		}
	}
}

// leadToWriter follows a blocked read to who has to write the cell.
func (i *investigation) leadToWriter(f *finding, w coordinator.Wait) {
	if secret, known := i.standing.secrets[w.Cell]; known {
		i.leadToOperator(f, w, secret)
		return
	}
	c := i.standing.cells[w.Cell]
	s := i.standing.byPath[c.Server]
	if s == nil || i.standing.cell(w.Cell).State == coordinator.Valued {
		return
	}
	d := dependence{Subject: string(c.Server), Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since}
	r := i.standing.role(c.Server, c.Role)
	if r != nil {
		d.Subject = subjectOf(r)
	}
	i.lead(f, d, s, r)
}

// leadToOperator says that a blocked read is for a secret that an operator has to give.
func (i *investigation) leadToOperator(f *finding, w coordinator.Wait, secret secretStanding) {
	if secret.givenTo(f.Server) {
		return
	}
	d := dependence{Subject: "the secret parameter " + secret.name, Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since}
	f.On = append(f.On, d)
	if i.found[d.Subject] == nil {
		root := &finding{Subject: d.Subject, Kind: findNotGiven, Message: i.standing.target.command("apply", "DIR") + giftFlags(secret.name)}
		i.found[d.Subject] = root
		i.order = append(i.order, root)
	}
}

func (i *investigation) lead(f *finding, d dependence, s *serverStanding, r *roleStanding) {
	f.On = append(f.On, d)
	i.follow(d.Subject, s, r)
}

// rootCause is a root and the roles that it holds up, directly or not.
type rootCause struct {
	Subject string      `json:"subject"`
	Kind    findingKind `json:"kind"`
	Waiting []string    `json:"waiting"`
}

// failed says that anything on the way has failed, and not only waits.
func (i *investigation) failed() bool {
	return slices.ContainsFunc(i.order, func(f *finding) bool {
		return f.Kind == findFailed || f.Kind == findPoisoned || f.Kind == findSkipped || f.Kind == findOutOfDate
	})
}

// roots are the findings that lead no further, those that hold up most first.
func (i *investigation) roots() []rootCause {
	readers := map[string][]string{}
	for _, f := range i.order {
		for _, d := range f.On {
			readers[d.Subject] = append(readers[d.Subject], f.Subject)
		}
	}
	roots := []rootCause{}
	for _, f := range i.order {
		if f.root() {
			roots = append(roots, rootCause{Subject: f.Subject, Kind: f.Kind, Waiting: upstream(f.Subject, readers)})
		}
	}
	slices.SortStableFunc(roots, func(a, b rootCause) int { return len(b.Waiting) - len(a.Waiting) })
	return roots
}

// upstream is everything that leads to a subject, the nearest first.
func upstream(subject string, readers map[string][]string) []string {
	seen := map[string]bool{subject: true}
	found := []string{}
	next := []string{subject}
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		for _, r := range readers[s] {
			if !seen[r] {
				seen[r] = true
				found = append(found, r)
				next = append(next, r)
			}
		}
	}
	return found
}
