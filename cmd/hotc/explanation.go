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
func explanationText(s *session, i *status.Explanation, now time.Time) string {
	var b strings.Builder
	for _, f := range i.Findings {
		b.WriteString(visibleLine(f.Text(now)))
		writeDetails(&b, s, i, f)
	}
	b.WriteString(cycleLines(i.Cycles) + unreadableLines(i.Status))
	writeAwaitingApproval(&b, s, i)
	if roots := i.Roots(); len(roots) > 0 && len(i.Findings) > 1 {
		names := lists.Map(roots, status.RootCause.String)
		b.WriteString("\nRoot causes: " + strings.Join(names, "; ") + ".\n")
	}
	return b.String()
}

// rootsText prints only the root causes, and what they hold up.
func rootsText(s *session, i *status.Explanation, now time.Time) string {
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
		b.WriteString(visibleLine(f.Text(now)))
		if f.Kind != status.KindAbsent {
			writeDetails(&b, s, i, f)
		}
		if n := len(r.Waiting); n > 0 {
			fmt.Fprintf(&b, "  %s: %s\n", heldUp(r.Kind, n), few(r.Waiting))
		}
		if f.Kind == status.KindAbsent {
			writeDetails(&b, s, i, f)
		}
	}
	if len(absent) > 1 {
		fmt.Fprintf(&b, "%s also never came: %s\n", source.Counted(len(absent)-1, "more server"), few(absent[1:]))
	}
	b.WriteString(cycleLines(i.Cycles) + unreadableLines(i.Status))
	writeAwaitingApproval(&b, s, i)
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

func visibleLine(text string) string { return terminal.Line(text) + "\n" }

func writeDetails(b *strings.Builder, s *session, i *status.Explanation, f *status.Finding) {
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
		if x := i.Status.ByPath[f.Server]; x != nil && !x.Alive {
			once = "once the cause is fixed, and the server's agent is there: "
		}
		b.WriteString("  " + once + s.Command("retry", f.Subject) + "\n")
	}
}

// writeAwaitingApproval lists machines that ask to be a server which is there: another machine
// has its token.
func writeAwaitingApproval(b *strings.Builder, s *session, i *status.Explanation) {
	b.WriteString(approvalLines(s, lists.Only(i.Status.Servers, func(s *status.Server) bool { return s.Alive })))
}
