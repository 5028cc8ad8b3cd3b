package coordinator

import (
	"context"
	"time"
)

// Announcement is an ephemeral node of a back end's session.
type Announcement interface {
	// Put makes the node unless it stands. It reports false where one of another session
	// stands that it may not or, without replace, shall not replace.
	Put(ctx context.Context, replace bool) (stands bool, err error)
	// Withdraw takes the node away if it is this session's.
	Withdraw()
}

// missingPause is how long an announcement that could not be made again waits
// before it is tried again: no watch of the node tells that its parent is back.
const missingPause = time.Second

// Keep is Store.Announce for a back end, which runs in the background what it is given by
// start. An ephemeral node of another session is replaced once, at the start, where the
// parent's rights allow it: it may be what an agent's last process left, and would stand
// until that session expires. Otherwise, and whenever it is replaced itself later, the
// announcement waits until the other has gone; so two agents of one name do not delete each
// other's for ever.
func Keep(ctx context.Context, s Store, path Path, a Announcement, start func(func()) bool) error {
	within, end := context.WithCancel(ctx)
	tokens, err := s.Watch(within, path)
	for stands := false; err == nil && !stands; {
		if _, more := <-tokens; more {
			stands, err = a.Put(ctx, true)
		} else if err = ctx.Err(); err == nil {
			err = ErrClosed
		}
	}
	if err != nil {
		end()
		start(a.Withdraw) // the answer may have been lost
		return err
	}
	start(func() {
		defer end()
		defer a.Withdraw()
		pause := time.NewTimer(missingPause)
		defer pause.Stop()
		for {
			select {
			case _, more := <-tokens:
				if !more {
					return
				}
			case <-pause.C:
			}
			if _, err := a.Put(ctx, false); err != nil {
				pause.Reset(missingPause)
			}
		}
	})
	return nil
}
