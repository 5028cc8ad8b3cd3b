package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Posting is a request for one server's agent.
type Posting struct {
	Server  contract.ServerPath
	Request protocol.Request
}

// Post sends requests to agents. In the same commit it empties those of the cells in takeBack that
// have failed, so that no agent acts on a request while it can still see the old failure; where
// that is too much for one commit, the requests come last. Answered requests are dropped.
// ErrVersion says that something has changed meanwhile: read again, and post what still makes
// sense.
func (r *Reader) Post(ctx context.Context, posts []Posting, takeBack []contract.CellRef) error {
	ops, err := r.emptyFailed(ctx, takeBack)
	if err != nil {
		return fmt.Errorf("post requests: %w", operatorError(err))
	}
	byServer := map[contract.ServerPath][]protocol.Request{}
	var servers []contract.ServerPath
	for _, p := range posts {
		if byServer[p.Server] == nil {
			servers = append(servers, p.Server)
		}
		byServer[p.Server] = append(byServer[p.Server], p.Request)
	}
	queues := make([]store.Op, len(servers))
	err = store.Each(ctx, len(servers), func(ctx context.Context, i int) (err error) {
		queues[i], err = r.queue(ctx, servers[i], byServer[servers[i]])
		return err
	})
	if err == nil {
		err = inCommits(ctx, r.store, lists.Map(append(ops, queues...), func(op store.Op) []store.Op { return []store.Op{op} }))
		if errors.Is(err, store.ErrVersion) && r.posted(ctx, posts) {
			return nil // only the answer to the last commit was lost
		}
	}
	if err != nil {
		return fmt.Errorf("post requests: %w", operatorError(err))
	}
	return nil
}

// emptyFailed are the writes that empty those cells that have failed.
func (r *Reader) emptyFailed(ctx context.Context, cells []contract.CellRef) ([]store.Op, error) {
	found := make([]*store.Op, len(cells))
	err := store.Each(ctx, len(cells), func(ctx context.Context, i int) error {
		path := r.keys.deployment.Cell(cells[i])
		node, err := r.store.Read(ctx, path)
		if err != nil {
			return err
		}
		record, err := r.keys.cell(path, node.Data, cells[i])
		if err != nil || record.State != protocol.Failed {
			return nil // not a failure signed by its server
		}
		key, err := r.keys.serverKey(cells[i].Server)
		if err != nil {
			return err
		}
		data, err := protocol.Signed(key, r.keys.deployment.CellPlace(r.keys.record.ID, cells[i]), 0, protocol.CellRecord{State: protocol.Empty, Incarnation: record.Incarnation, Version: record.Version})
		found[i] = &store.Op{Path: path, Version: node.Version, Write: true, Data: data}
		return err
	})
	var ops []store.Op
	for _, op := range found {
		if op != nil {
			ops = append(ops, *op)
		}
	}
	return ops, err
}

// queue is the write that adds requests to a server's queue, and drops answered ones.
func (r *Reader) queue(ctx context.Context, server contract.ServerPath, more []protocol.Request) (store.Op, error) {
	record, next, write, err := r.requests(ctx, server)
	if err != nil {
		return store.Op{}, err
	}
	answered, err := r.Answers(ctx, server)
	if _, bad := unreadable(err); err != nil && !bad {
		return store.Op{}, err
	}
	node, err := r.store.Read(ctx, r.keys.deployment.State(server))
	if err != nil {
		return store.Op{}, err
	}
	state, _ := r.keys.state(node.Data, server) // one that cannot be read says nothing
	next = protocol.NextNumber(next-1, protocol.KindRequests, state)
	record.Requests = protocol.Open(record.Requests, answered)
	for _, q := range more {
		q.Number = next
		record.Requests = append(record.Requests, q)
	}
	op, err := write(record, next)
	if limit := store.Room(r.store); err == nil && len(op.Data) > limit {
		err = fmt.Errorf("the requests of server %s have %d bytes in total, the coordinator accepts %d: %w", server, len(op.Data), limit, store.ErrTooLarge)
	}
	return op, err
}

// requests returns a server's requests, the next number of the list, and a function for the write that
// replaces it.
func (r *Reader) requests(ctx context.Context, server contract.ServerPath) (record protocol.RequestsRecord, next int64, write func(now protocol.RequestsRecord, number int64) (store.Op, error), err error) {
	path, place := r.keys.deployment.Requests(server), r.keys.deployment.Place(r.keys.record.ID, protocol.KindRequests, server, "")
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return record, 0, nil, err
	}
	record, counter, err := protocol.OpenIfAny[protocol.RequestsRecord](path, node.Data, r.keys.signer.Public(), place)
	return record, max(counter, r.keys.record.Counter) + 1, func(now protocol.RequestsRecord, number int64) (store.Op, error) {
		data, err := protocol.Signed(r.keys.signer, place, number, now)
		return store.Op{Path: path, Version: node.Version, Write: true, Data: data}, err
	}, err
}

// posted reports whether all of the requests are there.
func (r *Reader) posted(ctx context.Context, posts []Posting) bool {
	for _, p := range posts {
		asked, err := r.Requests(ctx, p.Server)
		if err != nil || !slices.ContainsFunc(asked.Requests, func(q protocol.Request) bool { return q.ID == p.Request.ID }) {
			return false
		}
	}
	return true
}

// Requests reads the requests to a server's agent. *RecordError.
func (r *Reader) Requests(ctx context.Context, server contract.ServerPath) (protocol.RequestsRecord, error) {
	path := r.keys.deployment.Requests(server)
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return protocol.RequestsRecord{}, fmt.Errorf("read the requests of server %s: %w", server, operatorError(err))
	}
	return recordOf[protocol.RequestsRecord](r.keys, protocol.KindRequests, server, contract.Operator, "the request list of server "+string(server), path, node.Data)
}

// Answers reads what a server's agent has answered. *RecordError.
func (r *Reader) Answers(ctx context.Context, server contract.ServerPath) ([]protocol.Answer, error) {
	path := r.keys.deployment.Answers(server)
	node, err := r.store.Read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the answers of server %s: %w", server, operatorError(err))
	}
	record, err := recordOf[protocol.AnswersRecord](r.keys, protocol.KindAnswers, server, server, "the answer list of server "+string(server), path, node.Data)
	for i := range record.Answers {
		a := &record.Answers[i]
		a.Reason, a.Output = protocol.Clip(a.Reason, protocol.LongestReason), protocol.Clip(a.Output, protocol.LogSize)
	}
	return record.Answers, err
}
