package deploy

import (
	"context"
	"errors"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// mostWaits bounds the waiting reads of a role.
const mostWaits = 1_000

// decodeOf reads a record that a server has written. *RecordError.
func decodeOf[T any](server contract.ServerPath, what string, path store.Path, data []byte) (record T, err error) {
	if protocol.CountItems(data) > protocol.MostItems {
		err = protocol.ErrTooMany
	} else {
		record, err = protocol.Decode[T](path, data)
	}
	if err != nil {
		return *new(T), &protocol.RecordError{Server: server, What: what, Err: err}
	}
	return record, nil
}

// readOf reads such a record, if it is there. *RecordError.
func readOf[T any](ctx context.Context, s store.Session, server contract.ServerPath, what string, path store.Path) (T, error) {
	node, err := s.Read(ctx, path)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return *new(T), err
	}
	return decodeOf[T](server, what, path, node.Data)
}

// tidy truncates a state to what an agent of a server with so many roles may report. A failed role
// gets a cause.
func tidy(s *protocol.ServerState, roles int) {
	s.Message = protocol.Clip(s.Message, protocol.LongestReason)
	s.Untold = protocol.Clip(s.Untold, protocol.LongestReason)
	s.Agent = protocol.Clip(s.Agent, protocol.LongestReason)
	s.Roles = s.Roles[:min(len(s.Roles), roles)]
	if s.Going != nil {
		s.Going.Failed = s.Going.Failed[:min(len(s.Going.Failed), roles)]
	}
	*s = s.CutCauses(protocol.LongestChain, protocol.LongestReason)
	for i := range s.Roles {
		r := &s.Roles[i]
		r.LastLines = protocol.Clip(r.LastLines, protocol.LogSize)
		r.Blocked = r.Blocked[:min(len(r.Blocked), mostWaits)]
		if r.Cause == nil && (r.Status == protocol.RoleFailed || r.Status == protocol.RoleSkipped) {
			r.Cause = &protocol.Cause{Reason: "its agent gave no reason"}
		}
		if r.Update != nil {
			r.Update.LastLines = protocol.Clip(r.Update.LastLines, protocol.LogSize)
		}
	}
}

// unreadable returns the RecordError in an error, if any.
func unreadable(err error) (*protocol.RecordError, bool) {
	return errors.AsType[*protocol.RecordError](err)
}
