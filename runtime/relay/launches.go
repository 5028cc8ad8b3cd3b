package relay

import (
	"context"
	"maps"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/relay"
)

// A machine that Nova rebuilds or evacuates keeps its id and loses its disk; one that it resizes
// keeps both. In any case Nova's time of the launch changes, so that Heat waits again, and the agent
// ends with what ran. What that agent has reported says nothing about the machine that runs now. So
// the relay waits until the agent is back: it has a new session, as another incarnation if the disk
// is new, or its session lasts longer than that of an agent that has ended.

// outlives is longer than the coordinator takes to notice that an agent has ended: the time-out of
// its session, and what ZooKeeper adds.
const outlives = 15 * time.Second

// longAgo is how long before Heat began to wait a launch must have been, by the cloud's own clocks,
// so that no session of the agent before can be left.
const longAgo = 2 * time.Minute

// launch is one of a machine, as Heat's waits name it.
type launch struct {
	server contract.ServerPath
	id, at string
}

func (l launch) named() contract.HeatServer { return contract.HeatServer{Server: l.server, ID: l.id} }

// launched is what is known of a launch.
type launched struct {
	back bool // the agent is
	old  bool // it was long ago
	// seen is when the relay first saw that Heat waits for it, and appeared when the agent that was
	// there then had announced itself; zero if none was.
	seen, appeared time.Time
}

// seeLaunches notes the launches in Heat's waits, and which machines' agents are back since.
func (r *Relay) seeLaunches(ctx context.Context, s *relay.Session, waits []wait) error {
	if r.stack == nil {
		return nil
	}
	first := r.launches == nil || r.launchedIn != r.stack.ID
	if first {
		r.launchedIn, r.launches = r.stack.ID, map[launch]*launched{}
	}
	known := map[launch]bool{} // machines
	for one := range r.launches {
		known[launch{one.server, one.id, ""}] = true
	}
	ended := map[launch]bool{}    // a wait for it has: its agent was back
	now := map[launch]time.Time{} // since when Heat waits
	for _, w := range waits {
		for _, named := range w.Servers {
			if one := (launch{named.Server, named.ID, named.Launched}); one.id != "" && one.at != "" && !w.About.Here {
				now[one] = began(w)
				ended[one] = ended[one] || !w.inProgress() && !w.superseded
			}
		}
	}
	for one, since := range now {
		if r.launches[one] != nil {
			continue
		}
		at, err := time.Parse("2006-01-02T15:04:05.999999999", one.at) // in UTC
		r.launches[one] = &launched{old: err == nil && since.Sub(at) > longAgo, back: ended[one] || !known[launch{one.server, one.id, ""}] && (!first || r.stack.State.Action() == "CREATE")}
	}
	maps.DeleteFunc(r.launches, func(one launch, is *launched) bool { return is.back && now[one].IsZero() })
	servers := s.Servers()
	for one, is := range r.launches {
		if is.back {
			continue
		}
		if server, _ := find(one.named(), s.Plan, servers); server != nil {
			if err := is.look(ctx, s, server.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// look finds out whether the agent of a launched machine is back.
func (l *launched) look(ctx context.Context, s *relay.Session, server contract.ServerPath) error {
	at, there, err := s.Appeared(ctx, server)
	if err != nil {
		return err
	}
	if l.seen.IsZero() {
		l.seen, l.appeared = time.Now(), at
	}
	if !there {
		l.appeared = time.Time{}
		return nil
	}
	if at.Equal(l.appeared) && time.Since(l.seen) < outlives && !l.old {
		return nil
	}
	if err := s.Reread(ctx, server); err != nil {
		return err
	}
	l.back = true
	return nil
}
