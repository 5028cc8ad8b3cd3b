package status

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/reconcile"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Kind says what blocks a role or a server.
type Kind string

// The kinds. The first four lead on to something else, the others are roots.
const (
	KindBlocked          Kind = "blocked"  // reads a value that is not there
	KindTurn             Kind = "turn"     // an earlier role of its server has not finished
	KindSkipped          Kind = "skipped"  // an earlier role of its server failed
	KindFailedDependency Kind = "poisoned" // failed because something else did
	KindRunning          Kind = "running"
	KindFailed           Kind = "failed"
	KindArrived          Kind = "arrived"   // the value is there; the agent is about to see it
	KindStarting         Kind = "starting"  // the agent has not started it yet
	KindAbsent           Kind = "absent"    // no agent ever joined
	KindMissing          Kind = "missing"   // Heat did not create the server
	KindLost             Kind = "lost"      // the agent joined and is gone
	KindLeft             Kind = "left"      // Heat has removed its machine from its group
	KindNotGiven         Kind = "not_given" // a secret that `hotc apply` has to supply
	KindRefused          Kind = "refused"   // its only machine waits for approval
	KindDone             Kind = "done"

	KindUpdating  Kind = "updating"    // done; its update hook runs, or is to run
	KindOutOfDate Kind = "out_of_date" // done; its hook update failed
)

// Finding is one role or server on the way to a root cause.
type Finding struct {
	Subject string              `json:"subject"` // SERVER.ROLE, or SERVER if it is about its agent
	Kind    Kind                `json:"kind"`
	Server  contract.ServerPath `json:"server"`
	Role    string              `json:"role,omitempty"`
	Since   time.Time           `json:"since,omitzero"`
	Message string              `json:"message,omitempty"`
	// On is what this waits for: a blocked role may wait for several values.
	On        []Dependence    `json:"on,omitempty"`
	Cause     *protocol.Cause `json:"cause,omitempty"`
	LastLines []string        `json:"last_lines,omitempty"`
	Perhaps   []string        `json:"perhaps,omitempty"`

	Secret string `json:"-"` // the name of a missing one
	Remedy string `json:"-"` // what to do
}

// Dependence leads from one finding to the next.
type Dependence struct {
	Subject string            `json:"subject"`
	Cell    contract.CellName `json:"cell,omitempty"`
	Input   string            `json:"input,omitempty"`
	At      contract.Position `json:"at,omitempty"`
	Since   time.Time         `json:"since,omitzero"`
}

// String is the awaited value, with its reader.
func (d Dependence) String() string {
	var of []string
	if d.Input != "" {
		of = append(of, "input "+d.Input)
	}
	if d.At != "" {
		of = append(of, string(d.At))
	}
	if len(of) == 0 {
		return string(d.Cell)
	}
	return string(d.Cell) + " (" + strings.Join(of, ", ") + ")"
}

// root reports whether a finding is a root cause.
func (f *Finding) root() bool { return len(f.On) == 0 && f.Kind != KindDone }

// Explanation follows waits to their root causes. Each role is visited once, so it also ends on
// cycles.
type Explanation struct {
	Status   *Status
	Found    map[string]*Finding
	Findings []*Finding // in the order visited, a cause after its effect
	Cycles   []Cycle    // that the waits lead to
}

// Explain explains what blocks roles.
func Explain(v *Status, roles []*Role) *Explanation {
	i := &Explanation{Status: v, Found: map[string]*Finding{}}
	for _, r := range roles {
		i.follow(subjectOf(r), r.Server, r)
	}
	i.Cycles = slices.DeleteFunc(slices.Clone(v.Cycles), func(c Cycle) bool { return i.Found[string(c[0].Role.Key())] == nil })
	return i
}

// subjectOf is the role itself or, if nothing is known of it because its agent is not there, its
// server.
func subjectOf(r *Role) string {
	if !r.Server.Came() || r.Server.Lost() || len(r.Server.AwaitingApproval) > 0 && !r.Server.Alive {
		return string(r.Server.Path)
	}
	return string(r.Key())
}

func (i *Explanation) follow(subject string, s *Server, r *Role) {
	if i.Found[subject] != nil {
		return
	}
	f := &Finding{Subject: subject, Server: s.Path}
	if r != nil && subject == string(r.Key()) {
		f.Role = r.Name
	}
	i.Found[subject] = f
	i.Findings = append(i.Findings, f)
	i.describe(f, s, r)
}

func (i *Explanation) describe(f *Finding, s *Server, r *Role) {
	var earlier []*Role
	if r != nil {
		earlier = s.Roles[:r.Index]
	}
	switch {
	case s.Missing != "":
		f.Kind, f.Message = KindMissing, s.Missing
	case s.Left:
		f.Kind = KindLeft
	case len(s.AwaitingApproval) > 0 && !s.Alive:
		f.Kind, f.Since = KindRefused, s.AwaitingApproval[0].Since
	case !s.Came():
		f.Kind = KindAbsent
	case s.Lost():
		f.Kind, f.Since, f.Message = KindLost, s.State.Since, s.State.Message
	case r == nil:
		f.Kind, f.Since, f.Message = KindStarting, s.State.Since, s.State.Message
	case r.Status == protocol.RoleDone:
		describeUpdate(f, r)
		if cell := r.Verdict.Waits; cell != "" && f.Kind == KindUpdating && r.Verdict.State != reconcile.Due {
			i.leadToCell(f, Dependence{Cell: cell}) // the missing part of the change
		} else if r.toUpdate() {
			i.leadTo(f, r.Server.Roles, func(e *Role) bool { return e.Status == protocol.RoleRunning }) // its turn comes then
		}
		if r.IsBlocked() {
			i.leadToWriters(f, r)
		}
	case r.Status == protocol.RoleFailed:
		i.describeFailure(f, r)
	case r.Status == protocol.RoleSkipped:
		f.Kind, f.Cause = KindSkipped, r.Cause
		i.leadTo(f, earlier, func(e *Role) bool { return e.Status == protocol.RoleFailed })
	case r.IsBlocked():
		f.Kind, f.Since = KindBlocked, r.Blocked[0].Since
		i.leadToWriters(f, r)
		if len(f.On) == 0 {
			f.Kind = KindArrived
		}
	case r.Status == protocol.RoleRunning:
		f.Kind, f.Since = KindRunning, r.Started
	default:
		if i.leadToCell(f, Dependence{Cell: r.Verdict.Waits}); len(f.On) > 0 {
			f.Kind = KindBlocked
			return
		}
		f.Kind = KindTurn
		i.leadTo(f, earlier, func(e *Role) bool { return e.Status != protocol.RoleDone })
		if len(f.On) == 0 { // one that waits for the rest of a change keeps those back that may wait for it
			i.leadTo(f, earlier, (*Role).waitsForRest)
		}
		if len(f.On) == 0 {
			f.Kind, f.Since, f.Message = KindStarting, s.State.Since, s.State.Message
		}
	}
}

func (i *Explanation) describeFailure(f *Finding, r *Role) {
	f.Kind, f.Since, f.Cause = KindFailed, r.Ended, r.Cause
	f.LastLines = lastLines(r.LastLines)
	if r.Cause == nil {
		return
	}
	first := r.Cause.Root()
	if first == r.Cause || first.Role == "" || first.Role == r.Key() {
		return
	}
	// If the server was rebuilt, or the role ran again, the failure is reported by itself, with its
	// causes.
	if culprit := i.Status.RoleOf(first.Role); culprit != nil && culprit.holdsUp() {
		f.Kind = KindFailedDependency
		f.LastLines = nil
		i.lead(f, Dependence{Subject: subjectOf(culprit)}, culprit.Server, culprit)
	}
}

// leadTo follows the first of some roles of the same server that matches.
func (i *Explanation) leadTo(f *Finding, roles []*Role, match func(*Role) bool) {
	if at := slices.IndexFunc(roles, match); at >= 0 {
		i.lead(f, Dependence{Subject: string(roles[at].Key())}, roles[at].Server, roles[at])
	}
}

// leadToWriters follows the reads that wait.
func (i *Explanation) leadToWriters(f *Finding, r *Role) {
	for _, w := range r.Blocked {
		i.leadToWriter(f, w)
	}
}

// leadToWriter follows a blocked read to the writer of the cell.
func (i *Explanation) leadToWriter(f *Finding, w protocol.Wait) {
	if secret, known := i.Status.Secrets[w.Cell]; known {
		i.leadToOperator(f, w, secret)
		return
	}
	if i.Status.Cell(w.Cell).State != protocol.Valued {
		i.leadToCell(f, Dependence{Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since})
	}
}

// leadToCell follows a dependency on a cell to its writer.
func (i *Explanation) leadToCell(f *Finding, d Dependence) {
	c := i.Status.Cells[d.Cell]
	s, r := i.Status.ByPath[c.Server], i.Status.Role(c.Server, c.Role)
	for seen := map[*Role]bool{}; r != nil && r.passes != "" && !seen[r]; {
		seen[r] = true
		c = i.Status.Cells[r.passes]
		s, r = i.Status.ByPath[c.Server], i.Status.Role(c.Server, c.Role)
	}
	if s == nil {
		return
	}
	d.Subject = string(c.Server)
	if r != nil {
		d.Subject = subjectOf(r)
	}
	i.lead(f, d, s, r)
}

// leadToOperator adds that a blocked read is for a secret that an operator has to supply.
func (i *Explanation) leadToOperator(f *Finding, w protocol.Wait, secret Secret) {
	if secret.SuppliedTo(f.Server) {
		return
	}
	d := Dependence{Subject: "the secret parameter " + secret.name, Cell: w.Cell, Input: w.Input, At: w.At, Since: w.Since}
	f.On = append(f.On, d)
	if i.Found[d.Subject] == nil {
		root := &Finding{Subject: d.Subject, Kind: KindNotGiven, Secret: secret.name}
		i.Found[d.Subject] = root
		i.Findings = append(i.Findings, root)
	}
}

func (i *Explanation) lead(f *Finding, d Dependence, s *Server, r *Role) {
	f.On = append(f.On, d)
	i.follow(d.Subject, s, r)
}

// RootCause is a root cause and the roles that it blocks, directly or not.
type RootCause struct {
	Subject string   `json:"subject"`
	Kind    Kind     `json:"kind"`
	Waiting []string `json:"waiting"`
}

// Failed reports whether any finding has failed, rather than waits.
func (i *Explanation) Failed() bool {
	return slices.ContainsFunc(i.Findings, func(f *Finding) bool {
		return f.Kind == KindFailed || f.Kind == KindFailedDependency || f.Kind == KindSkipped || f.Kind == KindOutOfDate
	})
}

// Roots are the root causes, those that block most first.
func (i *Explanation) Roots() []RootCause {
	readers := map[string][]string{}
	for _, f := range i.Findings {
		for _, d := range f.On {
			readers[d.Subject] = append(readers[d.Subject], f.Subject)
		}
	}
	roots := []RootCause{}
	for _, f := range i.Findings {
		if f.root() {
			roots = append(roots, RootCause{Subject: f.Subject, Kind: f.Kind, Waiting: upstream(f.Subject, readers)})
		}
	}
	slices.SortStableFunc(roots, func(a, b RootCause) int { return len(b.Waiting) - len(a.Waiting) })
	return roots
}

// upstream is everything that leads to a subject, the nearest first.
func upstream(subject string, readers map[string][]string) []string {
	seen := map[string]bool{subject: true}
	found := []string{subject}
	for at := 0; at < len(found); at++ {
		for _, r := range readers[found[at]] {
			if !seen[r] {
				seen[r], found = true, append(found, r)
			}
		}
	}
	return found[1:]
}

// mostLogs bounds the logs that are fetched for one explanation.
const mostLogs = 10

// ReadLogs adds the last lines of running and failed roles, which are in separate nodes.
func (i *Explanation) ReadLogs(ctx context.Context, store store.Session, d protocol.Deployment) error {
	fetched := 0
	for _, f := range i.Findings {
		if (f.Kind == KindRunning || f.Kind == KindFailed) && len(f.LastLines) == 0 && fetched < mostLogs {
			fetched++
			text, err := deploy.ReadLog(ctx, store, d, f.Server, f.Role)
			if err != nil {
				return err
			}
			f.LastLines = lastLines(string(text))
		}
	}
	return nil
}

// shownLines is how many of a role's last lines are shown.
const shownLines = 5

func lastLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		if line = strings.TrimRight(line, "\r"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-shownLines):]
}

// Text says what holds a subject up.
func (f *Finding) Text(now time.Time) string {
	switch f.Kind {
	case KindBlocked:
		parts := lists.Map(f.On, func(d Dependence) string { return d.String() + since(d.Since, now) })
		return f.Subject + " waits for " + strings.Join(parts, ", and for ")
	case KindTurn:
		return fmt.Sprintf("%s runs after %s on its server", f.Subject, f.On[0].Subject)
	case KindSkipped:
		if len(f.On) == 0 {
			return f.Subject + " is skipped: " + CauseText(f.Cause)
		}
		return fmt.Sprintf("%s is skipped, because %s on its server failed", f.Subject, f.On[0].Subject)
	case KindFailedDependency, KindFailed:
		return fmt.Sprintf("%s failed%s: %s", f.Subject, at(f.Since, now), CauseText(f.Cause))
	case KindRunning:
		return f.Subject + " has been running" + since(f.Since, now)
	case KindArrived:
		return f.Subject + " has just received what it waited for"
	case KindStarting:
		if f.Message != "" {
			return f.Subject + " has not started: " + f.Message
		}
		return f.Subject + " has not started; its agent has been there" + since(f.Since, now)
	case KindAbsent:
		return f.Subject + " never came: no agent of this server has reached the coordinator"
	case KindMissing:
		return f.Subject + " was not created by Heat: " + f.Message
	case KindLeft:
		return f.Subject + " has left its group: Heat has removed its machine"
	case KindLost:
		text := f.Subject + " is lost: its agent had joined, and has no session with the coordinator now; its last report" + at(f.Since, now)
		if f.Message != "" {
			text += ": " + f.Message
		}
		return text
	case KindNotGiven:
		return f.Subject + " is not supplied yet, or not since its reader was replaced; to supply it: " + f.Message
	case KindRefused:
		return f.Subject + " has not been admitted" + since(f.Since, now) + ": " + f.Message
	case KindDone:
		if f.Message != "" {
			return f.Subject + " is done" + since(f.Since, now) + ": " + f.Message
		}
		return f.Subject + " is done" + since(f.Since, now)
	case KindUpdating:
		return f.Subject + " is done, and is being updated" + since(f.Since, now) + ": " + f.Message
	case KindOutOfDate:
		return fmt.Sprintf("%s is done, but was not updated%s: %s", f.Subject, at(f.Since, now), f.Message)
	}
	return f.Subject
}

// short describes a root cause in two or three words.
var short = map[Kind]string{
	KindRunning: "still runs", KindFailed: "failed", KindFailedDependency: "failed", KindArrived: "has what it waited for",
	KindStarting: "has not started", KindAbsent: "never came", KindMissing: "was not created", KindLost: "is lost",
	KindLeft: "has left its group", KindNotGiven: "is not supplied", KindRefused: "is not admitted", KindDone: "is done",
	KindUpdating: "is being updated", KindOutOfDate: "is out of date",
	KindBlocked: "waits", KindTurn: "waits", KindSkipped: "waits",
}

// String is a root cause in a few words.
func (r RootCause) String() string { return r.Subject + " " + short[r.Kind] }
