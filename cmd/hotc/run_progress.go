package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/status"
)

// longestRole is the width of the longest role's key.
func longestRole(p *contract.Plan) int {
	width := 0
	for _, s := range p.Servers {
		for _, role := range s.Roles {
			width = max(width, len(s.Path.Role(role.Name)))
		}
	}
	return width
}

// say prints what there is to say of a role, in a line.
func (r *localRun) say(role contract.RoleKey, what string) {
	if !r.asJSON {
		fmt.Fprintf(r.out, "%7s  %-*s  %s\n", age(time.Since(r.started)), r.width, role, what)
	}
}

// printed shows a line that a role prints, behind the role's name.
func (r *localRun) printed(role contract.RoleKey, line []byte) {
	to := r.out
	if r.asJSON {
		to = r.err
	}
	fmt.Fprintf(to, "%7s  %-*s  | %s\n", "", r.width, role, line)
}

func (r *localRun) beside(role contract.RoleKey, c status.Cycle) {
	r.say(role, "goes on beside its read, in a dependency cycle that only it can end: "+c.String())
}

// changed prints what is new about a role.
func (r *localRun) changed(role contract.RoleKey, old, now coordinator.RoleState) {
	for _, what := range progress(old, now, true) {
		r.say(role, what)
	}
}

// progress is what is new about a role; waited says how long one that is done has waited, too.
func progress(old, now coordinator.RoleState, waited bool) (news []string) {
	if old.Status != now.Status || !old.Ended.Equal(now.Ended) && !updated(old, now) { // it may have run from one look to the next
		switch now.Status {
		case coordinator.RoleRunning:
			news = append(news, "runs")
		case coordinator.RoleDone:
			text := "done in " + age(now.Ended.Sub(now.Started))
			if waited && now.BlockedSeconds >= 0.05 {
				text += ", of which it waited " + age(time.Duration(now.BlockedSeconds*float64(time.Second)))
			}
			news = append(news, text)
		case coordinator.RoleFailed:
			news = append(news, "failed: "+firstLine(reasonOf(now)))
		case coordinator.RoleSkipped:
			news = append(news, "skipped: an earlier role of the server failed")
		}
	}
	for _, w := range now.Blocked {
		if !isBlockedOn(old, w.Cell) {
			news = append(news, "waits for "+string(w.Cell))
		}
	}
	return news
}

// updated says that an update of the role has begun or ended.
func updated(old, now coordinator.RoleState) bool {
	return now.Update != nil && (old.Update == nil || old.Update.Status != now.Update.Status || !old.Update.Ended.Equal(now.Update.Ended))
}

func isBlockedOn(r coordinator.RoleState, cell contract.CellName) bool {
	return slices.ContainsFunc(r.Blocked, func(w coordinator.Wait) bool { return w.Cell == cell })
}

func reasonOf(r coordinator.RoleState) string {
	if r.Cause == nil {
		return "no reason given"
	}
	return r.Cause.Reason
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
