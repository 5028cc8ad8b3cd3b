package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

func readIfThere[T any](ctx context.Context, s Store, path Path) (T, error) {
	var none T
	node, err := s.Read(ctx, path)
	if errors.Is(err, ErrNotFound) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	return decode[T](path, node.Data)
}

// Posting is a request for one server's agent.
type Posting struct {
	Server  plan.ServerPath
	Request Request
}

// Post puts requests before agents. In the same commit it empties those of the
// given cells that have failed, so that no agent acts on a request while it can
// still see the old failure; where that is too much for one commit, the requests
// come last. Requests that were answered are forgotten. ErrVersion says that
// something has changed meanwhile: look again, and post what still makes sense.
func Post(ctx context.Context, s Store, d Deployment, secret Secret, posts []Posting, takeBack []plan.CellRef) error {
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
	byServer := map[plan.ServerPath][]Request{}
	var servers []plan.ServerPath
	for _, p := range posts {
		if byServer[p.Server] == nil {
			servers = append(servers, p.Server)
		}
		byServer[p.Server] = append(byServer[p.Server], p.Request)
	}
	queues := make([]Op, len(servers))
	err = each(ctx, len(servers), func(ctx context.Context, i int) error {
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
		for n < len(ops) && (n == 0 || size+opSize(ops[n]) <= room(s)) {
			size += opSize(ops[n])
			n++
		}
		if err := s.Commit(ctx, ops[:n]...); err != nil {
			if errors.Is(err, ErrVersion) && posted(ctx, s, d, posts) {
				return nil // an answer was lost, and it was the last commit's
			}
			return fmt.Errorf("post requests: %w", operatorError(err))
		}
		ops = ops[n:]
	}
	return nil
}

// emptyFailed are the writes that empty those of some cells that have failed.
func emptyFailed(ctx context.Context, s Store, d Deployment, cells []plan.CellRef) ([]Op, error) {
	found := make([]*Op, len(cells))
	err := each(ctx, len(cells), func(ctx context.Context, i int) error {
		path := d.Cell(cells[i])
		node, err := s.Read(ctx, path)
		if err != nil {
			return err
		}
		record, err := decode[CellRecord](path, node.Data)
		if err != nil || record.State != Failed {
			return nil // anything else is no failure
		}
		data, err := encode(CellRecord{State: Empty, Incarnation: record.Incarnation, Version: record.Version})
		found[i] = &Op{Path: path, Version: node.Version, Write: true, Data: data}
		return err
	})
	var ops []Op
	for _, op := range found {
		if op != nil {
			ops = append(ops, *op)
		}
	}
	return ops, err
}

// queue is the write that adds requests to a server's, without those that have
// been answered.
func queue(ctx context.Context, s Store, k *keyring, server plan.ServerPath, more []Request) (Op, error) {
	d := k.deployment
	path := d.Requests(server)
	node, err := s.Read(ctx, path)
	if err != nil {
		return Op{}, err
	}
	at := d.place(k.record.ID, kindRequests, server, "")
	record, counter, err := openIfAny[RequestsRecord](path, node.Data, k.signer.Public(), at)
	if err != nil {
		return Op{}, err
	}
	answered, err := ReadAnswers(ctx, s, d, server)
	if _, bad := unreadable(err); err != nil && !bad {
		return Op{}, err
	}
	final := map[string]bool{}
	for _, a := range answered {
		final[a.ID] = a.Final()
	}
	record.Requests = slices.DeleteFunc(record.Requests, func(r Request) bool { return final[r.ID] })
	record.Requests = append(record.Requests, more...)
	for _, r := range more {
		counter = max(counter, r.Since.UnixMilli())
	}
	data, err := signed(k.signer, at, counter+1, record)
	if limit := room(s); err == nil && len(data) > limit {
		err = fmt.Errorf("the requests of server %s have %d bytes together, the coordinator takes %d: %w", server, len(data), limit, ErrTooLarge)
	}
	return Op{Path: path, Version: node.Version, Write: true, Data: data}, err
}

// posted says that all of the requests stand.
func posted(ctx context.Context, s Store, d Deployment, posts []Posting) bool {
	for _, p := range posts {
		record, err := readIfThere[RequestsRecord](ctx, s, d.Requests(p.Server))
		if err != nil || !slices.ContainsFunc(record.Requests, func(r Request) bool { return r.ID == p.Request.ID }) {
			return false
		}
	}
	return true
}

// ReadRequests reads what a server's agent is asked for and has not forgotten.
func ReadRequests(ctx context.Context, s Store, d Deployment, server plan.ServerPath) ([]Request, error) {
	r, err := readOf[RequestsRecord](ctx, s, plan.Operator, "what server "+string(server)+" is asked for", d.Requests(server))
	if err != nil {
		return nil, fmt.Errorf("read the requests of server %s: %w", server, operatorError(err))
	}
	return r.Requests, nil
}

// ReadAnswers reads what a server's agent has answered.
func ReadAnswers(ctx context.Context, s Store, d Deployment, server plan.ServerPath) ([]Answer, error) {
	r, err := readOf[AnswersRecord](ctx, s, server, answersOf(server), d.Answers(server))
	for i := range r.Answers {
		r.Answers[i].Reason, r.Answers[i].Output = clip(r.Answers[i].Reason, longestReason), clip(r.Answers[i].Output, LogSize)
	}
	if _, bad := unreadable(err); err != nil && !bad {
		err = fmt.Errorf("read the answers of server %s: %w", server, operatorError(err))
	}
	return r.Answers, err
}
