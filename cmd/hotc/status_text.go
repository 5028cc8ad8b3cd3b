package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
)

func statusText(io streams, v *status.Status, of []*status.Server, removed []deploy.Removed, to *target, now time.Time) string {
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
	for _, x := range removed {
		t.add(string(x.Path), "-", "removed", ageOf(x.Since, now), "it was removed from the deployment; its token is no longer valid")
	}
	return summary(v, to.stack) + "\n" + t.String() + cycleLines(v.Cycles) + approvalLines(to, of) + untoldLines(v, to, now)
}

// untoldLines say how the stack is, what Heat waits for, and what was not reported to it yet.
func untoldLines(v *status.Status, to *target, now time.Time) string {
	var b strings.Builder
	b.WriteString(heatLine(v, now))
	for _, text := range v.Hooks() {
		fmt.Fprintf(&b, "%s\n", terminal.Visible(text))
	}
	next, unrelayed := v.Next(now)
	for _, text := range next {
		fmt.Fprintf(&b, "%s\n", terminal.Visible(text))
	}
	all := v.Untold()
	for _, u := range all {
		fmt.Fprintf(&b, "%s\n", terminal.Visible(u.String()))
	}
	relay := func(u status.Untold) bool { return v.Plan.Signal == contract.RelaySignals || u.Server == "" }
	if unrelayed || slices.ContainsFunc(all, relay) && v.Relays == 0 {
		fmt.Fprintf(&b, "  start one where Heat and the coordinator can be reached: %s\n", to.command("relay"))
	}
	if b.Len() > 0 {
		return "\n" + b.String()
	}
	return ""
}

func statusRows(t *table, v *status.Status, s *status.Server, now time.Time) {
	path := string(s.Path)
	if len(s.Unreadable) > 0 {
		t.add(path, "-", "unreadable", "", unreadableText(s))
	}
	if n := s.Machines(); n > 0 {
		t.add(path, "-", fmt.Sprint("machine ", n), ageOf(s.Incarnation.Since, now), fmt.Sprintf("%d machines have joined under this name, and readers followed each of them; if Heat has not created them, someone else has its token", n))
	}
	word, more := absence(v, s)
	switch phase := s.State.Phase; {
	case word == "lost", word == "gone":
		t.add(path, "-", word, "", more)
	case word != "":
		t.add(path, "-", word, "", more)
		return
	case len(s.Roles) == 0:
		t.add(path, "-", string(phase), ageOf(s.State.Since, now), s.State.Message)
		return
	case phase == "", phase == protocol.PhaseUp, phase == protocol.PhaseWaiting, phase == protocol.PhaseInstalling, s.State.Message != "":
		t.add(path, "-", string(cmp.Or(phase, protocol.PhaseUp)), ageOf(s.State.Since, now), s.State.Message)
	}
	if s.State.Going != nil {
		t.add(path, "-", "leaves", ageOf(s.State.Going.Since, now), "Heat is removing its machine"+goingText(s))
	}
	for _, r := range s.Roles {
		t.add(path, r.Name, r.Shown(), roleAge(r, now), roleDetail(v, r))
	}
}

// absence is a word for why a server's agent is not there, with details.
func absence(v *status.Status, s *status.Server) (word, more string) {
	switch {
	case s.Missing != "":
		return "not created", s.Missing
	case s.Left:
		return "left", "Heat has removed its machine from its group" + goingText(s)
	case s.Perhaps != "":
		return "never came", "Heat has not created it if " + s.Perhaps
	case !s.Came() && v.Restored:
		return "never came", "since the deployment was restored; a server that was there before rejoins by itself"
	case !s.Came():
		return "never came", ""
	case s.Lost():
		return "lost", withMessage("its agent has no session with the coordinator", s)
	case s.Gone():
		return "gone", withMessage("its roles have ended; its agent has no session with the coordinator now", s)
	}
	return "", ""
}

// goingText is the state of the delete hooks of a machine that Heat removes.
func goingText(s *status.Server) string {
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

// withMessage appends the last message of an agent that has no session.
func withMessage(text string, s *status.Server) string {
	if s.State.Message != "" {
		text += "; its last message: " + s.State.Message
	}
	return text
}

// unreadableText names a server's invalid records.
func unreadableText(s *status.Server) string {
	text := s.Unreadable[0]
	if more := len(s.Unreadable) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// unreadableLines lists them for all servers, for `hotc why`.
func unreadableLines(v *status.Status) string {
	var b strings.Builder
	for _, s := range v.Servers {
		if len(s.Unreadable) > 0 {
			fmt.Fprintf(&b, "Records of server %s cannot be read: %s\n", s.Path, unreadableText(s))
		}
	}
	return b.String()
}

// roleAge is how long a role has been in its state.
func roleAge(r *status.Role, now time.Time) string {
	switch {
	case r.IsBlocked():
		return ageOf(r.Blocked[0].Since, now)
	case !r.Ended.IsZero() && r.Started.IsZero():
		return "" // it failed before its tool started
	case !r.Ended.IsZero():
		return age(r.Ended.Sub(r.Started))
	default:
		return ageOf(r.Started, now)
	}
}

// roleDetail says what a role waits for, or why it failed.
func roleDetail(v *status.Status, r *status.Role) string {
	switch {
	case r.IsBlocked():
		return "on " + lists.Join(lists.Map(r.Blocked, func(w protocol.Wait) string {
			return fmt.Sprintf("%s (%s)", w.Cell, producerText(v, r.Server.Path, w.Cell))
		}))
	case r.Cause != nil && r.Status == protocol.RoleFailed:
		text := r.Cause.Reason
		if root := r.Cause.Root(); root != r.Cause && root.Role != "" {
			text += ", because " + string(root.Role) + " failed"
		}
		return text
	default:
		return status.UpdateDetail(r)
	}
}

// producerText is the state of a cell's writer.
func producerText(v *status.Status, reader contract.ServerPath, cell contract.CellName) string {
	if secret, known := v.Secrets[cell]; known {
		if secret.SuppliedTo(reader) {
			return "has just arrived"
		}
		return "not supplied"
	}
	c, known := v.Cells[cell]
	s := v.ByPath[c.Server]
	switch {
	case !known || s == nil:
		return "not in the plan"
	case v.Cell(cell).State == protocol.Valued:
		return "has just arrived"
	case s.Missing != "":
		return "Heat did not create " + string(c.Server) + ": " + s.Missing
	case !s.Came():
		return string(c.Server) + " never came"
	case s.Left:
		return string(c.Server) + " has left its group"
	case s.Lost():
		return string(c.Server) + " is lost"
	}
	if r := v.Role(c.Server, c.Role); r != nil {
		return string(r.Key()) + " " + r.Shown()
	}
	return string(c.Server) + " is alive"
}

// summary is the deployment in one line.
func summary(v *status.Status, stack string) string {
	words, servers, roles := map[string]int{}, 0, 0
	for _, s := range v.Servers {
		word, _ := absence(v, s)
		words[word]++
		if s.Absent() {
			continue
		}
		servers++
		roles += len(s.Roles)
		for _, r := range s.Roles {
			words[r.Shown()]++
		}
	}
	text := fmt.Sprintf("%s: %s, %s", stack, source.Counted(servers, "server"), source.Counted(roles, "role"))
	var parts []string
	for _, w := range []string{"done", "to be updated", "updating", "superseded", "not updated", "not reached", "running", "blocked", "pending", "failed", "skipped"} {
		if words[w] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", words[w], w))
		}
	}
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
	return text + "\n"
}

func statusColor(word string) string {
	return map[string]string{
		"done": "32", "running": "36", "blocked": "33", "failed": "31", "unreadable": "31", "skipped": "31", "lost": "31", "gone": "33", "never came": "33",
		"to be updated": "33", "updating": "36", "superseded": "36", "not updated": "31", "not reached": "33", "STATUS": "1",
	}[word]
}

// cycleLines report cycles. hotc ends none: whether a role may be ended is the operator's decision.
func cycleLines(cycles []status.Cycle) string {
	var b strings.Builder
	for _, c := range cycles {
		fmt.Fprintf(&b, "\nA dependency cycle: %s.\nAccording to their reads, none of them can continue. Change what one of them reads or when, end its process on its server (it fails, and the others because of it), then apply and retry.\n", terminal.Line(c.String()))
	}
	return b.String()
}
