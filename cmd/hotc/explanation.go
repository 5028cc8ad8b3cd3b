package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// explanationText prints an explanation from the question to the root causes.
func explanationText(t *target, i *status.Explanation, now time.Time) string {
	var b strings.Builder
	for _, f := range i.Findings {
		b.WriteString(visibleLine(sentence(f, now)))
		writeDetails(&b, t, i, f)
	}
	b.WriteString(cycleLines(i.Cycles) + unreadableLines(i.Status))
	writeAwaitingApproval(&b, t, i)
	if roots := i.Roots(); len(roots) > 0 && len(i.Findings) > 1 {
		names := lists.Map(roots, func(r status.RootCause) string { return r.Subject + " " + short[r.Kind] })
		b.WriteString("\nRoot causes: " + strings.Join(names, "; ") + ".\n")
	}
	return b.String()
}

// rootsText prints only the root causes, and what they hold up.
func rootsText(t *target, i *status.Explanation, now time.Time) string {
	var b strings.Builder
	absent := []string{}
	for _, r := range i.Roots() {
		f := i.Found[r.Subject]
		if f.Kind == status.KindAbsent {
			absent = append(absent, r.Subject)
		}
		if f.Kind == status.KindAbsent && len(absent) > 1 {
			continue
		}
		b.WriteString(visibleLine(sentence(f, now)))
		if f.Kind != status.KindAbsent {
			writeDetails(&b, t, i, f)
		}
		if n := len(r.Waiting); n > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", heldUp(r.Kind, n), few(r.Waiting))
		}
		if f.Kind == status.KindAbsent {
			writeDetails(&b, t, i, f)
		}
	}
	if len(absent) > 1 {
		fmt.Fprintf(&b, "%s also never came: %s\n", source.Counted(len(absent)-1, "more server"), few(absent[1:]))
	}
	b.WriteString(cycleLines(i.Cycles) + unreadableLines(i.Status))
	writeAwaitingApproval(&b, t, i)
	if b.Len() == 0 {
		text := "Nothing is waiting: every role is done.\n"
		if i.Status.Stack.InProgress() {
			text = "No role waits: every role is done. But Heat is at work on the stack, and may change what they have run with.\n"
		}
		b.WriteString(text)
	}
	gone := lists.Only(i.Status.Servers, func(s *status.Server) bool { return s.Gone() && len(s.AwaitingApproval) == 0 })
	if len(gone) > 0 {
		names := lists.Map(gone, func(s *status.Server) contract.ServerPath { return s.Path })
		fmt.Fprintf(&b, "Gone (their roles had ended, and their agents have no session with the coordinator now): %s\n", few(names))
	}
	return b.String()
}

// heldUp says what a root cause means for n roles.
func heldUp(k status.Kind, n int) string {
	switch {
	case k == status.KindFailed:
		return "because of it"
	case n == 1:
		return "1 waits for it"
	default:
		return fmt.Sprintf("%d wait for it", n)
	}
}

// few lists the first names of many.
func few[T ~string](names []T) string {
	const most = 6
	if over := len(names) - most; over > 0 {
		return lists.Join(names[:most]) + fmt.Sprintf(" and %d more", over)
	}
	return lists.Join(names)
}

// short describes a root cause in two or three words.
var short = map[status.Kind]string{
	status.KindRunning: "still runs", status.KindFailed: "failed", status.KindFailedDependency: "failed", status.KindArrived: "has what it waited for",
	status.KindStarting: "has not started", status.KindAbsent: "never came", status.KindMissing: "was not created", status.KindLost: "is lost",
	status.KindLeft: "has left its group", status.KindNotGiven: "is not supplied", status.KindRefused: "is not admitted", status.KindDone: "is done",
	status.KindUpdating: "is being updated", status.KindOutOfDate: "is out of date",
	status.KindBlocked: "waits", status.KindTurn: "waits", status.KindSkipped: "waits",
}

// sentence says what holds a subject up.
func sentence(f *status.Finding, now time.Time) string {
	switch f.Kind {
	case status.KindBlocked:
		parts := lists.Map(f.On, func(d status.Dependence) string { return d.String() + since(d.Since, now) })
		return f.Subject + " waits for " + strings.Join(parts, ", and for ")
	case status.KindTurn:
		return fmt.Sprintf("%s runs after %s on its server", f.Subject, f.On[0].Subject)
	case status.KindSkipped:
		if len(f.On) == 0 {
			return f.Subject + " is skipped: " + status.CauseText(f.Cause)
		}
		return fmt.Sprintf("%s is skipped, because %s on its server failed", f.Subject, f.On[0].Subject)
	case status.KindFailedDependency, status.KindFailed:
		return fmt.Sprintf("%s failed%s: %s", f.Subject, at(f.Since, now), status.CauseText(f.Cause))
	case status.KindRunning:
		return f.Subject + " has been running" + since(f.Since, now)
	case status.KindArrived:
		return f.Subject + " has just received what it waited for"
	case status.KindStarting:
		if f.Message != "" {
			return f.Subject + " has not started: " + f.Message
		}
		return f.Subject + " has not started; its agent has been there" + since(f.Since, now)
	case status.KindAbsent:
		return f.Subject + " never came: no agent of this server has reached the coordinator"
	case status.KindMissing:
		return f.Subject + " was not created by Heat: " + f.Message
	case status.KindLeft:
		return f.Subject + " has left its group: Heat has removed its machine"
	case status.KindLost:
		text := f.Subject + " is lost: its agent had joined, and has no session with the coordinator now; its last report" + at(f.Since, now)
		if f.Message != "" {
			text += ": " + f.Message
		}
		return text
	case status.KindNotGiven:
		return f.Subject + " is not supplied yet, or not since its reader was replaced; to supply it: " + f.Message
	case status.KindRefused:
		return f.Subject + " has not been admitted" + since(f.Since, now) + ": " + f.Message
	case status.KindDone:
		if f.Message != "" {
			return f.Subject + " is done" + since(f.Since, now) + ": " + f.Message
		}
		return f.Subject + " is done" + since(f.Since, now)
	case status.KindUpdating:
		return f.Subject + " is done, and is being updated" + since(f.Since, now) + ": " + f.Message
	case status.KindOutOfDate:
		return fmt.Sprintf("%s is done, but was not updated%s: %s", f.Subject, at(f.Since, now), f.Message)
	}
	return f.Subject
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

// clock formats a time in now's time zone.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

func visibleLine(text string) string { return terminal.Line(text) + "\n" }

func writeDetails(b *strings.Builder, t *target, i *status.Explanation, f *status.Finding) {
	for _, line := range f.LastLines {
		b.WriteString("  | " + terminal.Line(line) + "\n")
	}
	if len(f.Perhaps) > 0 {
		b.WriteString("  perhaps:\n")
	}
	for _, p := range f.Perhaps {
		b.WriteString("  - " + terminal.Line(p) + "\n")
	}
	if f.Kind == status.KindFailed || f.Kind == status.KindOutOfDate && !f.Since.IsZero() { // by itself
		once := "once the cause is fixed: "
		if s := i.Status.ByPath[f.Server]; s != nil && !s.Alive {
			once = "once the cause is fixed, and the server's agent is there: "
		}
		b.WriteString("  " + once + t.command("retry", f.Subject) + "\n")
	}
}

// writeAwaitingApproval lists machines that ask to be a server which is there: another machine
// has its token.
func writeAwaitingApproval(b *strings.Builder, t *target, i *status.Explanation) {
	b.WriteString(approvalLines(t, lists.Only(i.Status.Servers, func(s *status.Server) bool { return s.Alive })))
}
