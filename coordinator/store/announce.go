package store

import (
	"context"
	"time"
)

// Announcement is an ephemeral node of a back end's session.
type Announcement interface {
	// Put creates the node unless it exists. It reports false where another session's node exists,
	// and replace is not set or the rights forbid replacing it.
	Put(ctx context.Context, replace bool) (exists bool, err error)
	// Withdraw deletes the node if it is this session's.
	Withdraw()
}

// missingPause is the delay before a failed announcement is retried: a watch on the node does not
// report that its parent is back.
const missingPause = time.Second

// Keep implements Session.Announce for a back end, which runs the functions passed to start in the
// background. An ephemeral node of another session is replaced once, at the start, where the
// parent's rights allow it: it may be left over from an agent's previous process, and would remain
// until that session expires. Otherwise, and whenever its own node is replaced later, the
// announcement waits until the other node has gone; so two agents of one name do not keep deleting
// each other's node.
func Keep(ctx context.Context, s Session, path Path, a Announcement, start func(func()) bool) error {
	within, end := context.WithCancel(ctx)
	tokens, err := s.Watch(within, path)
	for exists := false; err == nil && !exists; {
		if _, more := <-tokens; more {
			exists, err = a.Put(ctx, true)
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
