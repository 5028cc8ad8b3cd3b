package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// RequestKind is what an operator may ask a server's agent for.
type RequestKind string

// The kinds of requests.
const (
	Retry  RequestKind = "retry"  // run a role again that has failed
	Skip   RequestKind = "skip"   // take a role that has failed as done
	Action RequestKind = "action" // run one of a role's actions
	Hook   RequestKind = "hook"   // run one of a role's hooks
)

// Request is what an operator asks a server's agent for. It is answered once.
type Request struct {
	ID   string      `json:"id"` // random
	Kind RequestKind `json:"kind"`
	// Incarnation is the machine that is asked; another one refuses.
	Incarnation int    `json:"incarnation"`
	Role        string `json:"role"`
	// Attempt is the one that has failed (Retry, Skip).
	Attempt int `json:"attempt,omitempty"`
	// Name is the action's or the hook's.
	Name string `json:"name,omitempty"`
	// Change is the definition (plan.Role.Definition) that the hook update brings the
	// role to.
	Change string `json:"change,omitempty"`
	// Values are a skipped role's outputs, or an action's arguments.
	Values map[string]json.RawMessage `json:"values,omitempty"`
	Since  time.Time                  `json:"since"`
}

// RequestsRecord holds a server's requests, the oldest first.
type RequestsRecord struct {
	Requests []Request `json:"requests,omitempty"`
}

// AnswerStatus is how far an agent is with a request.
type AnswerStatus string

// The statuses of an answer. All but the first are final.
const (
	AnswerRunning AnswerStatus = "running"
	AnswerDone    AnswerStatus = "done"
	AnswerFailed  AnswerStatus = "failed"
	AnswerRefused AnswerStatus = "refused" // nothing was done
)

// Answer is what became of a request.
type Answer struct {
	ID       string       `json:"id"`
	Kind     RequestKind  `json:"kind"`
	Role     string       `json:"role"`
	Name     string       `json:"name,omitempty"`
	Status   AnswerStatus `json:"status"`
	Reason   string       `json:"reason,omitempty"`
	ExitCode *int         `json:"exit_code,omitempty"`
	// Output is the end of what an action printed, at most LogSize bytes.
	Output  string    `json:"output,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Final says that the answer will not change.
func (a *Answer) Final() bool { return a.Status != "" && a.Status != AnswerRunning }

// AnswersRecord holds a server's answers, the oldest first.
type AnswersRecord struct {
	Answers []Answer `json:"answers,omitempty"`
}

// Requests reads what the server's agent is asked for. ErrForged, ErrOlder.
func (m *Member) Requests(ctx context.Context) ([]Request, error) {
	path, what := m.deployment.Requests(m.server), "what server "+string(m.server)+" is asked for"
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, m.gone(err))
	}
	if len(node.Data) == 0 || string(node.Data) == "{}" {
		return nil, nil
	}
	text, err := m.open(kindRequests, "", what, node.Data)
	if err != nil {
		return nil, m.judge(ctx, err)
	}
	r, err := decode[RequestsRecord](path, text)
	return r.Requests, err
}

// Answers reads what the server's agent has answered.
func (m *Member) Answers(ctx context.Context) ([]Answer, error) {
	path := m.deployment.Answers(m.server)
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the answers of server %s: %w", m.server, m.gone(err))
	}
	r, _, err := openIfAny[AnswersRecord](path, node.Data, m.known().key.Public(), m.deployment.place(m.known().identity.ID, kindAnswers, m.server, ""))
	return r.Answers, m.judge(ctx, err)
}

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

// Answer writes the server's answers. Where they are too large together, the
// oldest lose what was printed. ErrFenced.
func (m *Member) Answer(ctx context.Context, answers []Answer) error {
	answers = slices.Clone(answers)
	data, err := encode(AnswersRecord{answers})
	for i := 0; err == nil && len(data) > m.limit() && i < len(answers); i++ {
		answers[i].Output = ""
		data, err = encode(AnswersRecord{answers})
	}
	if err == nil {
		data, err = m.signOwn(kindAnswers, AnswersRecord{answers})
	}
	if err != nil {
		return fmt.Errorf("answer of server %s: %w", m.server, err)
	}
	err = m.commitOwn(ctx, func() ([]Op, error) {
		return []Op{{Path: m.deployment.Answers(m.server), Version: AnyVersion, Write: true, Data: data}}, nil
	})
	if err != nil {
		return fmt.Errorf("answer of server %s: %w", m.server, err)
	}
	return nil
}

// TakeBack empties those of the server's own cells that have failed in this
// incarnation: the roles that should have written them run again. ErrFenced.
func (m *Member) TakeBack(ctx context.Context, cells []plan.CellName) error {
	m.forget(cells...)
	kept, err := m.memory.Kept()
	for _, cell := range cells {
		if r := kept[cell]; err == nil && r.State == Failed {
			m.keep(cell, CellRecord{State: Empty, Incarnation: r.Incarnation, Version: r.Version})
		}
	}
	if err != nil {
		return err
	}
	err = m.commitOwn(ctx, func() ([]Op, error) {
		f, err := m.enrolled()
		if err != nil {
			return nil, err
		}
		var ops []Op
		for _, cell := range cells {
			ref := plan.CellRef{Cell: cell, Server: m.server}
			record, version, readErr := m.readCell(ctx, ref)
			if readErr != nil {
				return nil, readErr
			}
			if record.State == Failed {
				data, err := encode(CellRecord{State: Empty, Incarnation: f.record.Number, Version: record.Version})
				if err != nil {
					return nil, err
				}
				ops = append(ops, Op{Path: m.deployment.Cell(ref), Version: version, Write: true, Data: data})
			}
		}
		return ops, nil
	})
	if err != nil {
		return fmt.Errorf("take back what failed of server %s: %w", m.server, err)
	}
	return nil
}

// commitOwn commits writes of the server's own nodes, with a check of its
// incarnation, in as many requests as they take. It begins again when a version
// has changed.
func (m *Member) commitOwn(ctx context.Context, writes func() ([]Op, error)) error {
	for {
		f, err := m.enrolled()
		if err != nil {
			return err
		}
		rest, err := writes()
		for err == nil && len(rest) > 0 {
			var ops []Op
			ops, rest = m.fill(m.checks(f), rest)
			err = m.store.Commit(ctx, ops...)
		}
		if !errors.Is(err, ErrVersion) {
			return m.gone(err)
		}
		if err := m.checkFence(ctx); err != nil {
			return err
		}
	}
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
		for n < len(ops) && (n == 0 || size+opSize(ops[n]) <= s.MaxValue()-16<<10) {
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
	if limit := s.MaxValue() - 16<<10; err == nil && len(data) > limit {
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
