package status

import (
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Event is something that has happened to a role, or to a server's agent.
type Event struct {
	Subject string // SERVER.ROLE, or SERVER
	Text    string
	// Waited is how long a role that is done has waited for values; 0 if hardly.
	Waited time.Duration
}

// History is what looks at a deployment have seen.
type History struct {
	roles map[contract.RoleKey]protocol.RoleState
	away  map[contract.ServerPath]time.Time // agents: since when, or told
}

// lostAfter is how long an agent must be away to be reported as lost: one that has just joined
// starts its session a moment later.
const lostAfter = 3 * time.Second

// told marks agents that were reported as away.
var told = time.Unix(0, 0)

// See is what has happened since the last look; at the first one, all that has happened so far.
func (h *History) See(v *Status, now time.Time) (all []Event) {
	if h.roles == nil {
		h.roles, h.away = map[contract.RoleKey]protocol.RoleState{}, map[contract.ServerPath]time.Time{}
	}
	for _, s := range v.Servers {
		if s.Absent() {
			continue
		}
		switch since, away := h.away[s.Path]; {
		case !s.Lost():
			if delete(h.away, s.Path); away && now.Sub(since) > lostAfter {
				all = append(all, Event{Subject: string(s.Path), Text: "its agent is back"})
			}
		case !away:
			h.away[s.Path] = now
		case since != told && now.Sub(since) > lostAfter:
			h.away[s.Path] = told
			all = append(all, Event{Subject: string(s.Path), Text: "its agent is away: its machine boots, is replaced, or has lost its connection"})
		}
		for _, r := range s.Roles {
			all = append(all, RoleEvents(r.Key(), h.roles[r.Key()], r.RoleState)...)
			h.roles[r.Key()] = r.RoleState
		}
	}
	return all
}

// RoleEvents are what has happened to a role between two of its agent's reports.
func RoleEvents(key contract.RoleKey, old, now protocol.RoleState) (all []Event) {
	say := func(text string) { all = append(all, Event{Subject: string(key), Text: text}) }
	because := func(c *protocol.Cause) string {
		if c == nil {
			return "no reason given"
		}
		line, _, _ := strings.Cut(c.Reason, "\n")
		return line
	}
	updated := now.Update != nil && (old.Update == nil || old.Update.Status != now.Update.Status || !old.Update.Ended.Equal(now.Update.Ended))
	if old.Status != now.Status || !old.Ended.Equal(now.Ended) && !updated { // it may have run between two reads
		switch now.Status {
		case protocol.RoleRunning:
			say("runs")
		case protocol.RoleDone:
			say("done in " + Age(now.Ended.Sub(now.Started)))
			if now.BlockedSeconds >= 0.05 {
				all[0].Waited = time.Duration(now.BlockedSeconds * float64(time.Second))
			}
		case protocol.RoleFailed:
			say("failed: " + because(now.Cause))
		case protocol.RoleSkipped:
			say("skipped: an earlier role of the server failed")
		}
	}
	for _, w := range now.Blocked {
		if !slices.ContainsFunc(old.Blocked, func(was protocol.Wait) bool { return was.Cell == w.Cell }) {
			say("waits for " + string(w.Cell))
		}
	}
	switch {
	case !updated:
	case now.Update.Status == protocol.RoleRunning:
		say("updating")
	case now.Update.Status == protocol.RoleFailed:
		say("not updated: " + because(now.Update.Cause))
	default:
		say("updated")
	}
	return all
}
