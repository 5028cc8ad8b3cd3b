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
		writeDetails(&b, f)
	}
	b.WriteString(besides(s, i))
	if roots := i.Roots(); len(roots) > 0 && len(i.Findings) > 1 {
		b.WriteString("\nRoot causes: " + strings.Join(lists.Map(roots, status.RootCause.String), "; ") + ".\n")
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
			writeDetails(&b, f)
		}
		if n := len(r.Waiting); n > 0 {
			what := fmt.Sprintf("%d wait for it", n)
			if r.Kind == status.KindFailed {
				what = "because of it"
			} else if n == 1 {
				what = "1 waits for it"
			}
			fmt.Fprintf(&b, "  %s: %s\n", what, few(r.Waiting))
		}
		if f.Kind == status.KindAbsent {
			writeDetails(&b, f)
		}
	}
	if len(absent) > 1 {
		fmt.Fprintf(&b, "%s also never came: %s\n", source.Counted(len(absent)-1, "more server"), few(absent[1:]))
	}
	b.WriteString(besides(s, i))
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

// few lists the first names of many.
func few[T ~string](names []T) string {
	const most = 6
	if over := len(names) - most; over > 0 {
		return lists.Join(names[:most]) + fmt.Sprintf(" and %d more", over)
	}
	return lists.Join(names)
}

func visibleLine(text string) string { return terminal.Line(text) + "\n" }

func writeDetails(b *strings.Builder, f *status.Finding) {
	for _, line := range f.LastLines {
		b.WriteString("  | " + terminal.Line(line) + "\n")
	}
	if len(f.Perhaps) > 0 {
		b.WriteString("  perhaps:\n")
	}
	for _, p := range f.Perhaps {
		b.WriteString("  - " + terminal.Line(p) + "\n")
	}
	if f.Remedy != "" {
		b.WriteString("  " + f.Remedy + "\n")
	}
}

// besides is what there is to know beside the findings. Of machines that ask to be a server which is
// there, another one has its token.
func besides(s *session, i *status.Explanation) string {
	var b strings.Builder
	for _, x := range i.Status.Servers {
		if len(x.Unreadable) > 0 {
			fmt.Fprintf(&b, "Records of server %s cannot be read: %s\n", x.Path, x.UnreadableText())
		}
	}
	return cycleLines(i.Cycles) + b.String() + approvalLines(s, lists.Only(i.Status.Servers, func(x *status.Server) bool { return x.Alive }))
}
