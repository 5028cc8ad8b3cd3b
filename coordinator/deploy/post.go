package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

func readIfThere[T any](ctx context.Context, s coordinator.Store, path coordinator.Path) (T, error) {
	var none T
	node, err := s.Read(ctx, path)
	if errors.Is(err, coordinator.ErrNotFound) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	return coordinator.Decode[T](path, node.Data)
}

// Posting is a request for one server's agent.
type Posting struct {
	Server  contract.ServerPath
	Request coordinator.Request
}

// Post puts requests before agents. In the same commit it empties those of the
// given cells that have failed, so that no agent acts on a request while it can
// still see the old failure; where that is too much for one commit, the requests
// come last. Requests that were answered are forgotten. ErrVersion says that
// something has changed meanwhile: look again, and post what still makes sense.
func Post(ctx context.Context, s coordinator.Store, d coordinator.Deployment, secret coordinator.Secret, posts []Posting, takeBack []contract.CellRef) error {
	live, err := readRecord(ctx, s, d, secret)
	if err != nil {
		return fmt.Errorf("post requests: %w", err)
	}
	keys, err := newKeyring(tokens{secret: secret, deployment: d}, live, nil)
	if err != nil {
		return fmt.Errorf("post requests: %w", err)
	}
	ops, err := emptyFailed(ctx, s, d, takeBack)
	if err != nil {
		return fmt.Errorf("post requests: %w", operatorError(err))
	}
	byServer := map[contract.ServerPath][]coordinator.Request{}
	var servers []contract.ServerPath
	for _, p := range posts {
		if byServer[p.Server] == nil {
			servers = append(servers, p.Server)
		}
		byServer[p.Server] = append(byServer[p.Server], p.Request)
	}
	queues := make([]coordinator.Op, len(servers))
	err = coordinator.Each(ctx, len(servers), func(ctx context.Context, i int) error {
		var err error
		queues[i], err = queue(ctx, s, keys, servers[i], byServer[servers[i]])
		return err
	})
	if err != nil {
		return fmt.Errorf("post requests: %w", operatorError(err))
	}
	ops = append(ops, queues...)
	for len(ops) > 0 {
		size, n := 0, 0
		for n < len(ops) && (n == 0 || size+coordinator.OpSize(ops[n]) <= coordinator.Room(s)) {
			size += coordinator.OpSize(ops[n])
			n++
		}
		if err := s.Commit(ctx, ops[:n]...); err != nil {
			if errors.Is(err, coordinator.ErrVersion) && posted(ctx, s, d, posts) {
				return nil // an answer was lost, and it was the last commit's
			}
			return fmt.Errorf("post requests: %w", operatorError(err))
		}
		ops = ops[n:]
	}
	return nil
}

// emptyFailed are the writes that empty those of some cells that have failed.
func emptyFailed(ctx context.Context, s coordinator.Store, d coordinator.Deployment, cells []contract.CellRef) ([]coordinator.Op, error) {
	found := make([]*coordinator.Op, len(cells))
	err := coordinator.Each(ctx, len(cells), func(ctx context.Context, i int) error {
		path := d.Cell(cells[i])
		node, err := s.Read(ctx, path)
		if err != nil {
			return err
		}
		record, err := coordinator.Decode[coordinator.CellRecord](path, node.Data)
		if err != nil || record.State != coordinator.Failed {
			return nil // anything else is no failure
		}
		data, err := coordinator.Encode(coordinator.CellRecord{State: coordinator.Empty, Incarnation: record.Incarnation, Version: record.Version})
		found[i] = &coordinator.Op{Path: path, Version: node.Version, Write: true, Data: data}
		return err
	})
	var ops []coordinator.Op
	for _, op := range found {
		if op != nil {
			ops = append(ops, *op)
		}
	}
	return ops, err
}

// queue is the write that adds requests to a server's, without those that have
// been answered.
func queue(ctx context.Context, s coordinator.Store, k *keyring, server contract.ServerPath, more []coordinator.Request) (coordinator.Op, error) {
	d := k.deployment
	path := d.Requests(server)
	node, err := s.Read(ctx, path)
	if err != nil {
		return coordinator.Op{}, err
	}
	at := d.Place(k.record.ID, coordinator.KindRequests, server, "")
	record, counter, err := coordinator.OpenIfAny[coordinator.RequestsRecord](path, node.Data, k.signer.Public(), at)
	if err != nil {
		return coordinator.Op{}, err
	}
	answered, err := ReadAnswers(ctx, s, d, server)
	if _, bad := unreadable(err); err != nil && !bad {
		return coordinator.Op{}, err
	}
	final := map[string]bool{}
	for _, a := range answered {
		final[a.ID] = a.Final()
	}
	record.Requests = slices.DeleteFunc(record.Requests, func(r coordinator.Request) bool { return final[r.ID] })
	record.Requests = append(record.Requests, more...)
	for _, r := range more {
		counter = max(counter, r.Since.UnixMilli())
	}
	data, err := coordinator.Signed(k.signer, at, counter+1, record)
	if limit := coordinator.Room(s); err == nil && len(data) > limit {
		err = fmt.Errorf("the requests of server %s have %d bytes together, the coordinator takes %d: %w", server, len(data), limit, coordinator.ErrTooLarge)
	}
	return coordinator.Op{Path: path, Version: node.Version, Write: true, Data: data}, err
}

// posted says that all of the requests stand.
func posted(ctx context.Context, s coordinator.Store, d coordinator.Deployment, posts []Posting) bool {
	for _, p := range posts {
		record, err := readIfThere[coordinator.RequestsRecord](ctx, s, d.Requests(p.Server))
		if err != nil || !slices.ContainsFunc(record.Requests, func(r coordinator.Request) bool { return r.ID == p.Request.ID }) {
			return false
		}
	}
	return true
}

// ReadRequests reads what a server's agent is asked for and has not forgotten.
func ReadRequests(ctx context.Context, s coordinator.Store, d coordinator.Deployment, server contract.ServerPath) ([]coordinator.Request, error) {
	r, err := readOf[coordinator.RequestsRecord](ctx, s, contract.Operator, "what server "+string(server)+" is asked for", d.Requests(server))
	if err != nil {
		return nil, fmt.Errorf("read the requests of server %s: %w", server, operatorError(err))
	}
	return r.Requests, nil
}

// ReadAnswers reads what a server's agent has answered.
func ReadAnswers(ctx context.Context, s coordinator.Store, d coordinator.Deployment, server contract.ServerPath) ([]coordinator.Answer, error) {
	r, err := readOf[coordinator.AnswersRecord](ctx, s, server, answersOf(server), d.Answers(server))
	for i := range r.Answers {
		r.Answers[i].Reason, r.Answers[i].Output = coordinator.Clip(r.Answers[i].Reason, coordinator.LongestReason), coordinator.Clip(r.Answers[i].Output, coordinator.LogSize)
	}
	if _, bad := unreadable(err); err != nil && !bad {
		err = fmt.Errorf("read the answers of server %s: %w", server, operatorError(err))
	}
	return r.Answers, err
}
