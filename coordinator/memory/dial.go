package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator"
)

// remote is a session with a tree in another process.
type remote struct {
	conn net.Conn
	out  chan []byte // to the writer
	// alive ends when the connection does.
	alive   context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	last     uint64
	calls    map[uint64]chan response
	standing map[uint64]func() // takes events; it does not block
}

// dialPause is between two tries to reach a server that is not there yet.
const dialPause = 20 * time.Millisecond

// Dial starts a session with a tree that Serve offers. It tries until the context
// ends. The session ends with the connection: there is no other server to go to,
// and the tree is gone with its process.
func Dial(ctx context.Context, socketPath string, creds ...coordinator.Credential) (coordinator.Store, error) {
	conn, err := dial(ctx, socketPath)
	if err != nil {
		return nil, err
	}
	alive, end := context.WithCancel(context.Background())
	r := &remote{
		conn: conn, out: make(chan []byte), alive: alive, end: end,
		calls: map[uint64]chan response{}, standing: map[uint64]func(){},
	}
	r.running.Go(r.write)
	r.running.Go(r.receive)
	for _, c := range creds {
		if err := r.Authenticate(ctx, c); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
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
		if last == nil || !isTimeout(err) { // that the context's time is over says nothing of the socket
			last = err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("no coordinator serves this socket: %w (%w)", last, ctx.Err())
		}
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// write sends what is to be sent.
func (r *remote) write() {
	defer mistake.Ends()
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
	defer mistake.Ends()
	defer r.end()
	for scanner := lines(r.conn); scanner.Scan(); {
		var answer response
		if json.Unmarshal(scanner.Bytes(), &answer) != nil {
			return
		}
		r.mu.Lock()
		if call := r.calls[answer.ID]; call != nil && !answer.Event {
			call <- answer // of capacity one, and deleted after one answer
			delete(r.calls, answer.ID)
		} else if take := r.standing[answer.ID]; take != nil && answer.Event {
			take()
		}
		r.mu.Unlock()
	}
}

// call sends a request and waits for its answer. Whatever goes wrong on the way
// has the name and path that the caller gives.
func (r *remote) call(ctx context.Context, name string, q request, events func()) (response, error) {
	if err := ctx.Err(); err != nil {
		return response{}, fail(name, q.Path, err)
	}
	answers := make(chan response, 1)
	r.mu.Lock()
	r.last++
	q.ID = r.last
	r.calls[q.ID] = answers
	if events != nil {
		r.standing[q.ID] = events
	}
	r.mu.Unlock()
	text, err := line(q)
	if err == nil {
		err = r.send(ctx, text)
	}
	if err == nil {
		select {
		case answer := <-answers:
			if answer.Error != nil {
				r.forget(q.ID)
				return response{}, answer.Error.error()
			}
			return answer, nil
		case <-ctx.Done():
			err = ctx.Err()
			r.cancel(q)
		case <-r.alive.Done():
			err = coordinator.ErrClosed
		}
	}
	r.forget(q.ID)
	return response{}, fail(name, q.Path, err)
}

func (r *remote) send(ctx context.Context, text []byte) error {
	select {
	case r.out <- text:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.alive.Done():
		return coordinator.ErrClosed
	}
}

func (r *remote) forget(id uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, id)
	delete(r.standing, id)
}

// cancel ends what a request left standing on the other side.
func (r *remote) cancel(q request) {
	switch q.Op {
	case opWatch, opAnnounce:
		if text, err := line(request{ID: q.ID, Op: opCancel}); err == nil {
			_ = r.send(r.alive, text)
		}
	}
}

// until waits for the end of a context or the connection, and cancels what stands.
func (r *remote) until(ctx context.Context, id uint64, op operation) {
	select {
	case <-ctx.Done():
	case <-r.alive.Done():
	}
	r.forget(id)
	r.cancel(request{ID: id, Op: op})
}

// start runs a goroutine that Close waits for, unless the connection has ended.
func (r *remote) start(run func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.alive.Err() != nil {
		return false
	}
	r.running.Go(run)
	return true
}

// Create implements coordinator.Store.
func (r *remote) Create(ctx context.Context, nodes []coordinator.NewNode) error {
	for _, n := range nodes {
		if len(n.Data) > MaxValue {
			return fail("create", n.Path, tooLarge(len(n.Data)))
		}
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b coordinator.NewNode) int {
		return cmp.Compare(depth(a.Path), depth(b.Path))
	})
	for len(nodes) > 0 {
		some, size := 0, 0
		for _, n := range nodes {
			more := len(n.Data) + len(n.Path)
			for _, g := range n.Grants {
				more += len(g.To.User) + len(g.To.Password) + 64
			}
			if size += more + 64; some > 0 && size > maxCreate {
				break
			}
			some++
		}
		if _, err := r.call(ctx, "create", request{Op: opCreate, Nodes: nodes[:some]}, nil); err != nil {
			return err
		}
		nodes = nodes[some:]
	}
	return nil
}

// Read implements coordinator.Store.
func (r *remote) Read(ctx context.Context, path coordinator.Path) (coordinator.Node, error) {
	answer, err := r.call(ctx, "read", request{Op: opRead, Path: path}, nil)
	return coordinator.Node{Data: answer.Data, Version: answer.Version}, err
}

// Stat implements coordinator.Store.
func (r *remote) Stat(ctx context.Context, path coordinator.Path) (coordinator.Version, bool, error) {
	answer, err := r.call(ctx, "stat", request{Op: opStat, Path: path}, nil)
	return answer.Version, answer.Exists, err
}

// Children implements coordinator.Store.
func (r *remote) Children(ctx context.Context, path coordinator.Path) ([]string, error) {
	answer, err := r.call(ctx, "list", request{Op: opChildren, Path: path}, nil)
	return answer.Names, err
}

// Commit implements coordinator.Store.
func (r *remote) Commit(ctx context.Context, ops ...coordinator.Op) error {
	size := 0
	for _, op := range ops {
		if size += len(op.Data); size > MaxValue {
			return fail("commit", op.Path, tooLarge(size))
		}
	}
	_, err := r.call(ctx, "commit", request{Op: opCommit, Ops: ops}, nil)
	return err
}

// DeleteTree implements coordinator.Store.
func (r *remote) DeleteTree(ctx context.Context, path coordinator.Path) error {
	_, err := r.call(ctx, "delete", request{Op: opDeleteTree, Path: path}, nil)
	return err
}

// Rights implements coordinator.Store.
func (r *remote) Rights(ctx context.Context, path coordinator.Path, known ...coordinator.Credential) ([]coordinator.Grant, error) {
	answer, err := r.call(ctx, "ask for the rights of", request{Op: opRights, Path: path, Known: known}, nil)
	return answer.Grants, err
}

// ChangeRights implements coordinator.Store.
func (r *remote) ChangeRights(ctx context.Context, path coordinator.Path, change coordinator.RightsChange) error {
	_, err := r.call(ctx, "change the rights of", request{Op: opChangeRights, Path: path, Rights: &change}, nil)
	return err
}

// Authenticate implements coordinator.Store.
func (r *remote) Authenticate(ctx context.Context, c coordinator.Credential) error {
	_, err := r.call(ctx, "authenticate", request{Op: opAuthenticate, Credential: &c}, nil)
	return err
}

// Watch implements coordinator.Store.
func (r *remote) Watch(ctx context.Context, path coordinator.Path) (<-chan struct{}, error) {
	tokens := make(chan struct{}, 1)
	answer, err := r.call(ctx, "watch", request{Op: opWatch, Path: path}, func() { coordinator.Wake(tokens) })
	if err != nil {
		return nil, err
	}
	started := r.start(func() {
		r.until(ctx, answer.ID, opWatch)
		close(tokens) // forgotten: nobody sends any more
	})
	if !started {
		return nil, fail("watch", path, coordinator.ErrClosed)
	}
	return tokens, nil
}

// Announce implements coordinator.Store.
func (r *remote) Announce(ctx context.Context, path coordinator.Path, data []byte) error {
	if len(data) > MaxValue {
		return fail("announce", path, tooLarge(len(data)))
	}
	answer, err := r.call(ctx, "announce", request{Op: opAnnounce, Path: path, Data: data}, nil)
	if err != nil {
		return err
	}
	if !r.start(func() { r.until(ctx, answer.ID, opAnnounce) }) {
		return fail("announce", path, coordinator.ErrClosed)
	}
	return nil
}

// MaxValue implements coordinator.Store.
func (r *remote) MaxValue() int { return MaxValue }

// Close implements coordinator.Store.
func (r *remote) Close() error {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.conn.Close()
	r.running.Wait()
	return nil
}
