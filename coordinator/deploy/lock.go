package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// One command at a time changes a deployment and its stack: it holds the deployment's lock. The
// lock is a record that names its holder, and an ephemeral node of the holder's session: once that
// session has ended, however it did, the lock is free. The record is written with a check of its
// version, and so is every change of the plan: a holder that was cut off while another command has
// taken the lock changes nothing any more.

// Holder is a command that holds a deployment's lock, or wants to.
type Holder struct {
	ID      string    `json:"id"` // of this run, random
	Command string    `json:"command"`
	User    string    `json:"user"`
	Host    string    `json:"host"`
	Process int       `json:"process"`
	Since   time.Time `json:"since"`
	// Machine tells apart what may have processes of the same number: machines, their boots, and
	// containers.
	Machine string `json:"machine,omitempty"`
}

func (h Holder) String() string {
	return fmt.Sprintf("%q of %s on %s (process %d, since %s)", h.Command, h.User, h.Host, h.Process, h.Since.UTC().Format(time.DateTime+"Z"))
}

// HeldError says that another command holds the lock, or has taken it.
type HeldError struct{ Holder }

func (e *HeldError) Error() string { return "the deployment is locked by " + e.Holder.String() }

// Lock is a deployment's lock, as its holder has it.
type Lock struct {
	store   store.Session
	path    store.Path
	id      string
	version store.Version
	release context.CancelFunc
}

// TakeLock locks a deployment for a command. over takes it from a holder that is still there; gone
// reports that a holder's process has ended, though its session may not have. *HeldError,
// ErrNotApplied.
func TakeLock(ctx context.Context, s store.Session, d protocol.Deployment, secret protocol.Secret, h Holder, gone func(Holder) bool, over bool) (l *Lock, err error) {
	if _, err := readRecord(ctx, s, d, secret); err != nil {
		return nil, err
	}
	keys, err := newKeyring(tokens{secret: secret, deployment: d}, protocol.DeploymentRecord{}, nil)
	if err != nil {
		return nil, err
	}
	free := keys.node(d.Lock(), unwritten, ofOperator, "").NewNode
	if err := s.Create(ctx, []store.NewNode{free}); err != nil && !errors.Is(err, store.ErrExists) {
		return nil, fmt.Errorf("lock %s: %w", d, operatorError(err))
	}
	text, err := protocol.Encode(h)
	if err != nil {
		return nil, err
	}
	within, release := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			release()
			err = fmt.Errorf("lock %s: %w", d, err)
		}
	}()
	l = &Lock{store: s, path: d.Lock(), id: h.ID, release: release}
	for announced := false; ; {
		there, version, err := l.read(ctx)
		if err != nil {
			return nil, err
		}
		if l.version = version; there.ID == h.ID { // the answer was lost
			return l, nil
		}
		if there.ID != "" && !over && !gone(there) {
			if _, here, err := s.Stat(ctx, d.LockHolder(there.ID)); here || err != nil {
				return nil, errors.Join(err, &HeldError{there})
			}
		}
		if !announced { // first, so that no lock is seen without its holder
			if err := announce(ctx, within, s, d.LockHolder(h.ID)); err != nil {
				return nil, err
			}
			announced = true
		}
		switch err := s.Commit(ctx, store.Op{Path: l.path, Version: version, Write: true, Data: text}); {
		case err == nil:
			l.version++
			return l, nil
		case !errors.Is(err, store.ErrVersion):
			return nil, err
		}
	}
}

// announce keeps a node in place within a context; it waits for that no longer than another.
func announce(ctx, within context.Context, s store.Session, path store.Path) error {
	within, stop := context.WithCancel(within)
	defer context.AfterFunc(ctx, func() {
		defer mistake.Ends()
		stop()
	})()
	if err := s.Announce(within, path, nil); err != nil {
		stop()
		return errors.Join(ctx.Err(), err)
	}
	return nil
}

// read reads the record. One that cannot be read names nobody: only operators write it.
func (l *Lock) read(ctx context.Context) (h Holder, v store.Version, err error) {
	node, err := l.store.Read(ctx, l.path)
	if err == nil && json.Unmarshal(node.Data, &h) != nil {
		h = Holder{}
	}
	return h, node.Version, err
}

// Check returns a *HeldError if another command has taken the lock, or has had it since.
func (l *Lock) Check(ctx context.Context) error {
	there, _, err := l.read(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return nil // the deployment was destroyed: who reads it finds that
	}
	if err == nil && there.ID != l.id {
		err = &HeldError{there}
	}
	return err
}

// Release frees the lock.
func (l *Lock) Release() { l.release() }

// guards are the checks by which a write is refused that comes after the lock was lost; none
// without a lock.
func (l *Lock) guards() []store.Op {
	if l == nil {
		return nil
	}
	return []store.Op{{Path: l.path, Version: l.version}}
}
