package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// A relay's reports: to the coordinator, for `hotc status`, and to its log.

// tell writes what Heat says, and why it still waits.
func (r *Relay) tell(ctx context.Context, s *relay.Session, seen []wait) {
	r.sayWaits(seen)
	record := r.record
	record.Waits, record.Since = nil, time.Now().UTC().Truncate(time.Second)
	servers := r.servers(s)
	for _, w := range mostTelling(seen) {
		x := protocol.HeatWait{Stack: w.About.Stack, Wait: w.About.Wait, Status: protocol.HeatWaitState(w.Status), Reason: w.Reason}
		switch {
		case w.inProgress():
			x.Reason = cmp.Or(w.lacks, w.decide(s.Plan, servers, &r.carried).reason)
		case x.Status == protocol.HeatDone:
			x.Reason = ""
		}
		record.Waits = append(record.Waits, x)
	}
	record.Waits = append(append(record.Waits, r.helped.waits...), r.going.waits...)
	r.record = record
	if r.Told != nil {
		r.Told(record)
	}
	if !r.anew && same(record, r.told) && time.Since(r.toldAt) < tellAgain {
		return
	}
	switch err := s.Tell(ctx, record, r.anew); {
	case err == nil:
		r.told, r.toldAt, r.anew = record, time.Now(), false
	case !ended(ctx, s, err):
		r.why("coordinator", err.Error())
	}
}

// tellAgain is how soon the same record is written again after another relay has written a
// different one: otherwise a relay that Heat refuses, and one that it does not, would overwrite
// each other continuously.
const tellAgain = 20 * time.Second

func same(a, b protocol.HeatRecord) bool {
	return a.Stack == b.Stack && a.Trouble == b.Trouble && slices.Equal(a.Waits, b.Waits)
}

// sayWaits logs each new wait once.
func (r *Relay) sayWaits(seen []wait) {
	waiting := map[string]bool{}
	for _, w := range seen {
		if key := w.ID + w.Config; w.inProgress() {
			if !r.waiting[key] {
				r.Say(fmt.Sprintf("Heat waits for %s, %s", w.place(), source.Counted(len(w.Servers), "server")))
			}
			waiting[key] = true
		}
	}
	r.waiting = waiting
}

// mostWaits bounds the reported waits: a group has one for each member, and they must fit into a
// node of the coordinator.
const mostWaits = 64

// mostTelling are the waits to report: successful ones only if there is room.
func mostTelling(seen []wait) []wait {
	if len(seen) <= mostWaits {
		return seen
	}
	kept := slices.Clone(seen)
	slices.SortStableFunc(kept, func(a, b wait) int { return telling(b) - telling(a) })
	return kept[:mostWaits]
}

func telling(w wait) int {
	switch protocol.HeatWaitState(w.Status) {
	case protocol.HeatFailed:
		return 2
	case protocol.HeatWaits:
		return 1
	case protocol.HeatDone:
	}
	return 0
}

// why logs a problem with a subject once.
func (r *Relay) why(what, text string) { r.once(what, text, r.Say) }

func (r *Relay) once(what, text string, say func(string)) {
	if r.said[what] != text {
		r.said[what] = text
		say(text)
	}
}
