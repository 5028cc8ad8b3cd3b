package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator"
)

// storyText tells an investigation from the question to the roots.
func storyText(i *investigation, now time.Time) string {
	var b strings.Builder
	for _, f := range i.order {
		b.WriteString(visibleLine(sentence(f, now)))
		writeDetails(&b, f)
	}
	b.WriteString(cycleLines(i.cycles) + unreadableLines(i.standing))
	writeKnocks(&b, i)
	if roots := i.roots(); len(roots) > 0 && len(i.order) > 1 {
		var names []string
		for _, r := range roots {
			names = append(names, r.Subject+" "+short(r.Kind))
		}
		b.WriteString("\nAt the root: " + strings.Join(names, "; ") + ".\n")
	}
	return b.String()
}

// rootsText tells only the roots, and whom they hold up.
func rootsText(i *investigation, now time.Time) string {
	var b strings.Builder
	absent := []string{}
	for _, r := range i.roots() {
		f := i.found[r.Subject]
		if f.Kind == findAbsent {
			absent = append(absent, r.Subject)
		}
		if f.Kind == findAbsent && len(absent) > 1 {
			continue
		}
		b.WriteString(visibleLine(sentence(f, now)))
		if f.Kind != findAbsent {
			writeDetails(&b, f)
		}
		if n := len(r.Waiting); n > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", heldUp(r.Kind, n), few(r.Waiting))
		}
		if f.Kind == findAbsent {
			writeDetails(&b, f)
		}
	}
	if len(absent) > 1 {
		fmt.Fprintf(&b, "%s never came either: %s\n", counted(len(absent)-1, "more server"), few(absent[1:]))
	}
	b.WriteString(cycleLines(i.cycles) + unreadableLines(i.standing))
	writeKnocks(&b, i)
	if b.Len() == 0 {
		b.WriteString("Nothing waits: every role is done.\n")
	}
	var gone []string
	for _, s := range i.standing.servers {
		if s.gone() && len(s.Knocks) == 0 {
			gone = append(gone, string(s.Path))
		}
	}
	if len(gone) > 0 {
		fmt.Fprintf(&b, "Gone, their roles ended before, no agent has a session with the coordinator now: %s\n", few(gone))
	}
	return b.String()
}

// heldUp says what a root means for n roles.
func heldUp(k findingKind, n int) string {
	switch {
	case k == findFailed:
		return "because of it"
	case n == 1:
		return "1 waits for it"
	default:
		return fmt.Sprintf("%d wait for it", n)
	}
}

// few names the first of many.
func few(names []string) string {
	const most = 6
	if over := len(names) - most; over > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", over)
	}
	return strings.Join(names, ", ")
}

func short(k findingKind) string {
	switch k {
	case findRunning:
		return "still runs"
	case findFailed, findPoisoned:
		return "failed"
	case findArrived:
		return "has what it waited for"
	case findStarting:
		return "has not started"
	case findAbsent:
		return "never came"
	case findMissing:
		return "was not made"
	case findLost:
		return "is lost"
	case findNotGiven:
		return "is not given"
	case findRefused:
		return "is not let in"
	case findDone:
		return "is done"
	case findUpdating:
		return "is being updated"
	case findOutOfDate:
		return "is out of date"
	case findBlocked, findTurn, findSkipped:
		return "waits"
	}
	return string(k)
}

// sentence says what holds a subject up.
func sentence(f *finding, now time.Time) string {
	switch f.Kind {
	case findBlocked:
		var parts []string
		for _, d := range f.On {
			parts = append(parts, dependenceText(d, now))
		}
		return f.Subject + " waits for " + strings.Join(parts, ", and for ")
	case findTurn:
		return fmt.Sprintf("%s comes after %s on its server", f.Subject, f.On[0].Subject)
	case findSkipped:
		if len(f.On) == 0 {
			return f.Subject + " is skipped: " + causeText(f.Cause)
		}
		return fmt.Sprintf("%s is skipped, because %s on its server failed", f.Subject, f.On[0].Subject)
	case findPoisoned:
		return fmt.Sprintf("%s failed%s: %s", f.Subject, at(f.Since, now), causeText(f.Cause))
	case findFailed:
		return fmt.Sprintf("%s failed%s: %s", f.Subject, at(f.Since, now), causeText(f.Cause))
	case findRunning:
		return f.Subject + " runs" + since(f.Since, now)
	case findArrived:
		return f.Subject + " has just got what it waited for"
	case findStarting:
		if f.Message != "" {
			return f.Subject + " has not started: " + f.Message
		}
		return f.Subject + " has not started, its agent is there" + since(f.Since, now)
	case findAbsent:
		return f.Subject + " never came: no agent of this server has reached the coordinator"
	case findMissing:
		return f.Subject + " was not made by Heat: " + f.Message
	case findLost:
		return f.Subject + " is lost: its agent came, and has no session with the coordinator now; its last report" + at(f.Since, now)
	case findNotGiven:
		return f.Subject + " is not given yet, or not since its reader was built anew: " + f.Message + " gives it"
	case findRefused:
		return f.Subject + " is not let in" + since(f.Since, now) + ": " + f.Message
	case findDone:
		return f.Subject + " is done" + since(f.Since, now)
	case findUpdating:
		return f.Subject + " is done, and is being updated" + since(f.Since, now) + ": " + f.Message
	case findOutOfDate:
		return fmt.Sprintf("%s is done, but its hook update failed%s: %s", f.Subject, at(f.Since, now), causeText(f.Cause))
	}
	return f.Subject
}

func dependenceText(d dependence, now time.Time) string {
	text := string(d.Cell)
	var of []string
	if d.Input != "" {
		of = append(of, "input "+d.Input)
	}
	if d.At != "" {
		of = append(of, string(d.At))
	}
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	return text + since(d.Since, now)
}

func causeText(c *coordinator.Cause) string {
	if c == nil {
		return "no reason was given"
	}
	text := c.Reason
	if c.At != "" {
		text += " (" + string(c.At) + ")"
	}
	return text
}

func since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s (%s)", clock(t, now), age(now.Sub(t)))
}

func at(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" at %s (%s ago)", clock(t, now), age(now.Sub(t)))
}

// clock writes a moment as people of now's place read it.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

func visibleLine(text string) string { return terminal.Line(text) + "\n" }

func writeDetails(b *strings.Builder, f *finding) {
	for _, line := range f.LastLines {
		b.WriteString("  | " + terminal.Line(line) + "\n")
	}
	if len(f.Perhaps) > 0 {
		b.WriteString("  perhaps:\n")
	}
	for _, p := range f.Perhaps {
		b.WriteString("  - " + terminal.Line(p) + "\n")
	}
}

// writeKnocks tells of machines that ask to be a server which is there: somebody has
// its token.
func writeKnocks(b *strings.Builder, i *investigation) {
	var there []*serverStanding
	for _, s := range i.standing.servers {
		if s.Alive {
			there = append(there, s)
		}
	}
	b.WriteString(knockLines(i.standing, there))
}
