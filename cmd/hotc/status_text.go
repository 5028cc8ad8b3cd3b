package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/status"
)

func statusText(io streams, v *status.Status, of []*status.Server, removed []deploy.Removed, s *session, now time.Time) string {
	t := table{width: io.width(), columns: []column{{"SERVER", 0}, {"ROLE", 0}, {"STATUS", 0}, {"FOR", 0}, {"", narrowest}}}
	if io.color() {
		colors := map[string]string{
			"done": "32", "running": "36", "blocked": "33", "failed": "31", "unreadable": "31", "skipped": "31", "lost": "31", "gone": "33", "never came": "33",
			"to be updated": "33", "updating": "36", "superseded": "36", "not updated": "31", "not reached": "33", "STATUS": "1",
		}
		t.paint = func(column int, _, text string) string {
			if column == 2 {
				return io.outInk().Paint(colors[text], text)
			}
			return text
		}
	}
	for _, x := range v.Lines(of, removed) {
		t.add(string(x.Server), cmp.Or(x.Role, "-"), x.Status, x.For(now), x.Detail)
	}
	return v.Summary(s.target.stack) + "\n\n" + t.String() + cycleLines(v.Cycles) + approvalLines(s, of) + noticeLines(s, v, now)
}

// noticeLines say how the stack is, what Heat waits for, and what was not reported to it yet.
func noticeLines(s *session, v *status.Status, now time.Time) string {
	all, unrelayed := v.Notices(now)
	if unrelayed {
		all = append(all, "  start one where Heat and the coordinator can be reached: "+s.Command("relay"))
	}
	return under(all)
}

// under are lines below an empty one; nothing if there are none.
func under(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n" + strings.Join(lists.Map(lines, visibleLine), "")
}

// cycleLines report cycles. hotc ends none: whether a role may be ended is the operator's decision.
func cycleLines(cycles []status.Cycle) string {
	var b strings.Builder
	for _, c := range cycles {
		fmt.Fprintf(&b, "\nA dependency cycle: %s.\nAccording to their reads, none of them can continue. Change what one of them reads or when, end its process on its server (it fails, and the others because of it), then apply and retry.\n", terminal.Line(c.String()))
	}
	return b.String()
}
