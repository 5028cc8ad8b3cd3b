package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Line is what a status says of a server, or of one of its roles.
type Line struct {
	Server               contract.ServerPath
	Role, Status, Detail string
	// Since is when that began, zero if it is unknown; Until is when it ended, zero if it goes on.
	Since, Until time.Time
}

// For is how long that has been so, or was.
func (x Line) For(now time.Time) string {
	if x.Until.IsZero() {
		return AgeOf(x.Since, now)
	}
	return AgeOf(x.Since, x.Until)
}

// manyMachines is more than the usual number of replacements: an operator should investigate.
const manyMachines = 10

// Lines describe some servers, their roles, and servers that were removed.
func (v *Status) Lines(of []*Server, removed []deploy.Removed) (all []Line) {
	for _, s := range of {
		add := func(what string, since time.Time, detail string) {
			all = append(all, Line{Server: s.Path, Status: what, Since: since, Detail: detail})
		}
		if len(s.Unreadable) > 0 {
			add("unreadable", time.Time{}, s.UnreadableText())
		}
		if n := s.Incarnation.Number; n >= manyMachines { // each one takes over, whoever started it
			add(fmt.Sprint("machine ", n), s.Incarnation.Since, fmt.Sprintf("%d machines have joined under this name, and readers followed each of them; if Heat has not created them, someone else has its token", n))
		}
		word, more := v.absence(s)
		switch phase := s.State.Phase; {
		case word != "":
			if add(word, time.Time{}, more); word != "lost" && word != "gone" {
				continue
			}
		case len(s.Roles) == 0:
			add(string(phase), s.State.Since, s.State.Message)
			continue
		case phase == "", phase == protocol.PhaseUp, phase == protocol.PhaseWaiting, phase == protocol.PhaseInstalling, s.State.Message != "":
			add(string(cmp.Or(phase, protocol.PhaseUp)), s.State.Since, s.State.Message)
		}
		if s.State.Going != nil {
			add("leaves", s.State.Going.Since, "Heat is removing its machine"+s.goingText())
		}
		for _, r := range s.Roles {
			all = append(all, v.roleLine(r))
		}
	}
	for _, x := range removed {
		all = append(all, Line{Server: x.Path, Status: "removed", Since: x.Since, Detail: "it was removed from the deployment; its token is no longer valid"})
	}
	return all
}

// absence is a word for why a server's agent is not there, with details.
func (v *Status) absence(s *Server) (word, more string) {
	switch {
	case s.Missing != "":
		return "not created", s.Missing
	case s.Left:
		return "left", "Heat has removed its machine from its group" + s.goingText()
	case s.Perhaps != "":
		return "never came", "Heat has not created it if " + s.Perhaps
	case !s.Came() && v.Restored:
		return "never came", "since the deployment was restored; a server that was there before rejoins by itself"
	case !s.Came():
		return "never came", ""
	case s.Lost():
		word, more = "lost", "its agent has no session with the coordinator"
	case s.Gone():
		word, more = "gone", "its roles have ended; its agent has no session with the coordinator now"
	}
	if word != "" && s.State.Message != "" {
		more += "; its last message: " + s.State.Message
	}
	return word, more
}

// goingText is the state of the delete hooks of a machine that Heat removes.
func (s *Server) goingText() string {
	switch is := s.State.Going; {
	case is == nil:
		return ""
	case is.Ended.IsZero():
		return "; its delete hooks are running"
	case len(is.Failed) > 0:
		return "; the delete hook of " + is.Failed[0].String() + ", and Heat went on"
	}
	return "; its delete hooks have run"
}

// UnreadableText names a server's invalid records.
func (s *Server) UnreadableText() string {
	text := s.Unreadable[0]
	if more := len(s.Unreadable) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// roleLine says how a role is, and what it waits for or why it failed.
func (v *Status) roleLine(r *Role) Line {
	x := Line{Server: r.Server.Path, Role: r.Name, Status: r.Shown(), Since: r.Started, Until: r.Ended}
	switch {
	case r.IsBlocked():
		x.Since, x.Until = r.Blocked[0].Since, time.Time{}
		x.Detail = "on " + lists.Join(lists.Map(r.Blocked, func(w protocol.Wait) string {
			return fmt.Sprintf("%s (%s)", w.Cell, v.producerText(r.Server.Path, w.Cell))
		}))
	case r.Cause != nil && r.Status == protocol.RoleFailed:
		x.Detail = r.Cause.Reason
		if root := r.Cause.Root(); root != r.Cause && root.Role != "" {
			x.Detail += ", because " + string(root.Role) + " failed"
		}
	default:
		x.Detail = UpdateDetail(r)
	}
	return x
}

// producerText is the state of a cell's writer.
func (v *Status) producerText(reader contract.ServerPath, cell contract.CellName) string {
	c, known := v.Cells[cell]
	secret, isSecret := v.Secrets[cell]
	s, r := v.ByPath[c.Server], v.Role(c.Server, c.Role)
	switch {
	case isSecret && !secret.SuppliedTo(reader):
		return "not supplied"
	case !isSecret && (!known || s == nil):
		return "not in the plan"
	case isSecret, v.Cell(cell).State == protocol.Valued:
		return "has just arrived"
	case s.Missing != "":
		return "Heat did not create " + string(c.Server) + ": " + s.Missing
	case !s.Came():
		return string(c.Server) + " never came"
	case s.Left:
		return string(c.Server) + " has left its group"
	case s.Lost():
		return string(c.Server) + " is lost"
	case r != nil:
		return string(r.Key()) + " " + r.Shown()
	}
	return string(c.Server) + " is alive"
}

// Summary is the deployment in one line; Counts has its roles.
func (v *Status) Summary(stack string) string {
	words, servers, roles := map[string]int{}, 0, 0
	for _, s := range v.Servers {
		word, _ := v.absence(s)
		if words[word]++; !s.Absent() {
			servers, roles = servers+1, roles+len(s.Roles)
		}
	}
	text := fmt.Sprintf("%s: %s, %s", stack, source.Counted(servers, "server"), source.Counted(roles, "role"))
	parts := v.Counts()
	for _, w := range []string{"never came", "not created", "left", "lost", "gone"} {
		if words[w] > 0 {
			parts = append(parts, source.Counted(words[w], "server")+" "+w)
		}
	}
	if v.Plan.Signal == contract.RelaySignals && v.Relays == 0 && roles > 0 {
		parts = append(parts, "no relay")
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if v.Restored {
		text += " (restored after the coordinator had lost it)"
	}
	if !v.Ready {
		text += " (apply has not finished)"
	}
	return text
}

// Counts are how many roles are in which state.
func (v *Status) Counts() (parts []string) {
	words := map[string]int{}
	for r := range v.Roles() {
		if !r.Server.Absent() {
			words[r.Shown()]++
		}
	}
	for _, w := range []string{"done", "to be updated", "updating", "superseded", "not updated", "not reached", "running", "blocked", "pending", "failed", "skipped"} {
		if words[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", words[w], w))
		}
	}
	return parts
}
