package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// remote is a session with a tree in another process.
type remote struct {
	conn net.Conn
	out  chan []byte // to the writer
	// alive ends when the connection does.
	alive   context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	last  uint64
	takes map[uint64]func(response) // by the request's id; they do not block
}

// dialPause is between two attempts to reach a server that is not there yet.
const dialPause = 20 * time.Millisecond

// Dial starts a session with a tree offered by Serve. It retries until the context ends. The
// session ends with the connection: there is no other server, and the tree is gone with its
// process.
func Dial(ctx context.Context, socketPath string, creds ...store.Credential) (store.Session, error) {
	conn, err := dial(ctx, socketPath)
	if err != nil {
		return nil, err
	}
	alive, end := context.WithCancel(context.Background())
	r := &remote{conn: conn, out: make(chan []byte), alive: alive, end: end, takes: map[uint64]func(response){}}
	mistake.GoIn(&r.running, r.write)
	mistake.GoIn(&r.running, r.receive)
	s := client{r}
	for _, c := range creds {
		if err := s.Authenticate(ctx, c); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

func dial(ctx context.Context, socketPath string) (net.Conn, error) {
	var dialer net.Dialer
	pause := time.NewTicker(dialPause)
	defer pause.Stop()
	var last error
	for {
		conn, err := dialer.DialContext(ctx, "unix", socketPath)
		if err == nil {
			return conn, nil
		}
		if last == nil || !os.IsTimeout(err) { // the context's timeout says nothing about the socket
			last = err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("no coordinator is serving this socket: %w (%w)", last, ctx.Err())
		}
	}
}

// write sends queued messages.
func (r *remote) write() {
	defer r.end()
	for {
		select {
		case text := <-r.out:
			if _, err := r.conn.Write(text); err != nil {
				return
			}
		case <-r.alive.Done():
			return
		}
	}
}

// receive takes answers and events until the connection ends.
func (r *remote) receive() {
	defer r.end()
	for scanner := lines(r.conn); scanner.Scan(); {
		var answer response
		if json.Unmarshal(scanner.Bytes(), &answer) != nil {
			return
		}
		r.mu.Lock()
		if take := r.takes[answer.ID]; take != nil {
			take(answer)
		}
		r.mu.Unlock()
	}
}

func (r *remote) do(ctx context.Context, q request) (response, error) { return r.call(ctx, q, nil) }

// call sends a request and waits for its answer. For a watch or an announcement, events is called
// for each event.
func (r *remote) call(ctx context.Context, q request, events func()) (response, error) {
	if err := ctx.Err(); err != nil {
		return response{}, fail(q.Op, q.Path, err)
	}
	answers := make(chan response, 1)
	r.mu.Lock()
	r.last++
	q.ID = r.last
	r.takes[q.ID] = func(a response) {
		if !a.Event {
			answers <- a // the only one of this id
		} else if events != nil {
			events()
		}
	}
	r.mu.Unlock()
	text, err := line(q)
	if err == nil {
		err = r.send(ctx, text)
	}
	var answer response
	if err == nil {
		select {
		case answer = <-answers:
			err = answer.Error.error()
		case <-ctx.Done():
			err = ctx.Err()
			if events != nil {
				r.cancel(q.ID)
			}
		case <-r.alive.Done():
			err = store.ErrClosed
		}
	}
	if err != nil || events == nil {
		r.forget(q.ID)
	}
	if err != nil && answer.Error == nil {
		err = fail(q.Op, q.Path, err)
	}
	return answer, err
}

func (r *remote) send(ctx context.Context, text []byte) error {
	select {
	case r.out <- text:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.alive.Done():
		return store.ErrClosed
	}
}

func (r *remote) forget(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.takes, id)
}

// cancel ends a watch or an announcement on the other side.
func (r *remote) cancel(id uint64) {
	if text, err := line(request{ID: id, Op: opCancel}); err == nil {
		_ = r.send(r.alive, text)
	}
}

// stand makes a request that lasts until its context or the connection ends; then ended is called,
// and events no longer.
func (r *remote) stand(ctx context.Context, q request, events, ended func()) error {
	answer, err := r.call(ctx, q, events)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alive.Err() != nil { // Close may have waited already
		return fail(q.Op, q.Path, store.ErrClosed)
	}
	mistake.GoIn(&r.running, func() {
		select {
		case <-ctx.Done():
		case <-r.alive.Done():
		}
		r.forget(answer.ID)
		r.cancel(answer.ID)
		ended()
	})
	return nil
}

func (r *remote) Watch(ctx context.Context, path store.Path) (<-chan struct{}, error) {
	tokens := make(chan struct{}, 1)
	err := r.stand(ctx, request{Op: opWatch, Path: path}, func() { store.Wake(tokens) }, func() { close(tokens) })
	return tokens, err
}

func (r *remote) Announce(ctx context.Context, path store.Path, data []byte) error {
	return r.stand(ctx, request{Op: opAnnounce, Path: path, Data: data}, func() {}, func() {})
}

func (r *remote) Close() error {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.conn.Close()
	r.running.Wait()
	return nil
}
