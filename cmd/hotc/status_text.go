package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/plan"
)

// statusText is the status for people.
func statusText(io streams, v *standing, of []*serverStanding, stack string, now time.Time) string {
	t := table{width: io.width(), columns: []column{{"SERVER", 0}, {"ROLE", 0}, {"STATUS", 0}, {"FOR", 0}, {"", narrowest}}}
	if io.color() {
		t.paint = func(column int, _, text string) string {
			if column == 2 {
				return io.outInk().Paint(statusColor(text), text)
			}
			return text
		}
	}
	for _, s := range of {
		statusRows(&t, v, s, now)
	}
	return summary(v, stack) + "\n" + t.String() + cycleLines(v.cycles) + knockLines(v, of)
}

func statusRows(t *table, v *standing, s *serverStanding, now time.Time) {
	path := string(s.Path)
	if len(s.Unreadable) > 0 {
		t.add(path, "-", "unreadable", "", unreadableText(s))
	}
	switch {
	case s.missing != "":
		t.add(path, "-", "not made", "", s.missing)
		return
	case s.perhaps != "":
		t.add(path, "-", "never came", "", "Heat may not have made it: it has not, if "+s.perhaps)
		return
	case !s.came():
		t.add(path, "-", "never came", "", "")
		return
	case s.lost():
		t.add(path, "-", "lost", "", "its agent has no session with the coordinator")
	case s.gone():
		t.add(path, "-", "gone", "", "its roles have ended; its agent has no session with the coordinator now")
	case len(s.roles) == 0:
		t.add(path, "-", string(s.State.Phase), ageOf(s.State.Since, now), s.State.Message)
		return
	case s.State.Phase == "" || s.State.Phase == coordinator.PhaseUp || s.State.Phase == coordinator.PhaseWaiting || s.State.Phase == coordinator.PhaseInstalling:
		word := string(s.State.Phase)
		if word == "" {
			word = "up"
		}
		t.add(path, "-", word, ageOf(s.State.Since, now), s.State.Message)
	case s.State.Message != "":
		t.add(path, "-", string(s.State.Phase), ageOf(s.State.Since, now), s.State.Message)
	}
	for i := range s.roles {
		r := &s.roles[i]
		t.add(path, r.Name, r.shown(), roleAge(r, now), roleDetail(v, r))
	}
}

// unreadableText says which records of a server are none.
func unreadableText(s *serverStanding) string {
	text := s.Unreadable[0]
	if more := len(s.Unreadable) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// unreadableLines says it of all servers, for `hotc why`.
func unreadableLines(v *standing) string {
	var b strings.Builder
	for _, s := range v.servers {
		if len(s.Unreadable) > 0 {
			fmt.Fprintf(&b, "Of server %s not everything is known: %s\n", s.Path, unreadableText(s))
		}
	}
	return b.String()
}

// roleAge is how long a role has been what it is.
func roleAge(r *roleStanding, now time.Time) string {
	switch {
	case r.blocked():
		return ageOf(r.Blocked[0].Since, now)
	case !r.Ended.IsZero() && r.Started.IsZero():
		return "" // it failed before its tool was started
	case !r.Ended.IsZero():
		return age(r.Ended.Sub(r.Started))
	default:
		return ageOf(r.Started, now)
	}
}

// roleDetail says what a role waits for or failed of.
func roleDetail(v *standing, r *roleStanding) string {
	switch {
	case r.blocked():
		var waits []string
		for _, w := range r.Blocked {
			waits = append(waits, fmt.Sprintf("%s (%s)", w.Cell, producerText(v, r.server.Path, w.Cell)))
		}
		return "on " + strings.Join(waits, ", ")
	case r.Cause != nil && r.Status == coordinator.RoleFailed:
		text := r.Cause.Reason
		if root := r.Cause.Root(); root != r.Cause && root.Role != "" {
			text += ", because " + string(root.Role) + " failed"
		}
		return text
	default:
		return updateDetail(r)
	}
}

// producerText says how the writer of a cell stands.
func producerText(v *standing, reader plan.ServerPath, cell plan.CellName) string {
	if secret, known := v.secrets[cell]; known {
		if secret.givenTo(reader) {
			return "has just arrived"
		}
		return "not given"
	}
	c, known := v.cells[cell]
	s := v.byPath[c.Server]
	switch {
	case !known || s == nil:
		return "not in the plan"
	case v.cell(cell).State == coordinator.Valued:
		return "has just arrived"
	case s.missing != "":
		return "Heat did not make " + string(c.Server) + ": " + s.missing
	case !s.came():
		return string(c.Server) + " never came"
	case s.lost():
		return string(c.Server) + " is lost"
	}
	if r := v.role(c.Server, c.Role); r != nil {
		return string(r.key()) + " " + r.word()
	}
	return string(c.Server) + " is alive"
}

// summary is the deployment in one line.
func summary(v *standing, stack string) string {
	words := map[string]int{}
	servers, missing, absent, lost, gone, roles := 0, 0, 0, 0, 0, 0
	for _, s := range v.servers {
		if s.missing != "" {
			missing++
			continue
		}
		servers++
		roles += len(s.roles)
		if !s.came() {
			absent++
		}
		if s.lost() {
			lost++
		}
		if s.gone() {
			gone++
		}
		for i := range s.roles {
			words[s.roles[i].shown()]++
		}
	}
	text := fmt.Sprintf("%s: %s, %s", stack, counted(servers, "server"), counted(roles, "role"))
	var parts []string
	for _, w := range []string{"done", "to be updated", "updating", "not updated", "running", "blocked", "pending", "failed", "skipped"} {
		if words[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", words[w], w))
		}
	}
	if absent > 0 {
		parts = append(parts, counted(absent, "server")+" never came")
	}
	if missing > 0 {
		parts = append(parts, counted(missing, "server")+" not made")
	}
	if lost > 0 {
		parts = append(parts, counted(lost, "server")+" lost")
	}
	if gone > 0 {
		parts = append(parts, counted(gone, "server")+" gone")
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if !v.ready {
		text += " (apply has not come to its end)"
	}
	return text + "\n"
}

func statusColor(word string) string {
	return map[string]string{
		"done": "32", "running": "36", "blocked": "33", "failed": "31", "unreadable": "31", "skipped": "31", "lost": "31", "gone": "33", "never came": "33",
		"to be updated": "33", "updating": "36", "not updated": "31", "STATUS": "1",
	}[word]
}
