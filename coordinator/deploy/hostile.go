package deploy

import (
	"context"
	"errors"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// mostWaits bounds the waiting reads of a role.
const mostWaits = 1_000

// decodeOf reads a record that a server has written. *RecordError.
func decodeOf[T any](server contract.ServerPath, what string, path coordinator.Path, data []byte) (record T, err error) {
	if coordinator.CountItems(data) > coordinator.MostItems {
		err = coordinator.ErrTooMany
	} else {
		record, err = coordinator.Decode[T](path, data)
	}
	if err != nil {
		return *new(T), &coordinator.RecordError{Server: server, What: what, Err: err}
	}
	return record, nil
}

// readOf reads such a record, if it is there. *RecordError.
func readOf[T any](ctx context.Context, s coordinator.Store, server contract.ServerPath, what string, path coordinator.Path) (T, error) {
	node, err := s.Read(ctx, path)
	if errors.Is(err, coordinator.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return *new(T), err
	}
	return decodeOf[T](server, what, path, node.Data)
}

// tidy truncates a state to what an agent of a server with so many roles may report. A failed role
// gets a cause.
func tidy(s *coordinator.ServerState, roles int) {
	s.Message = coordinator.Clip(s.Message, coordinator.LongestReason)
	s.Untold = coordinator.Clip(s.Untold, coordinator.LongestReason)
	s.Agent = coordinator.Clip(s.Agent, coordinator.LongestReason)
	s.Roles = s.Roles[:min(len(s.Roles), roles)]
	if s.Going != nil {
		s.Going.Failed = s.Going.Failed[:min(len(s.Going.Failed), roles)]
	}
	*s = s.CutCauses(coordinator.LongestChain, coordinator.LongestReason)
	for i := range s.Roles {
		r := &s.Roles[i]
		r.LastLines = coordinator.Clip(r.LastLines, coordinator.LogSize)
		r.Blocked = r.Blocked[:min(len(r.Blocked), mostWaits)]
		if r.Cause == nil && (r.Status == coordinator.RoleFailed || r.Status == coordinator.RoleSkipped) {
			r.Cause = &coordinator.Cause{Reason: "its agent gave no reason"}
		}
		if r.Update != nil {
			r.Update.LastLines = coordinator.Clip(r.Update.LastLines, coordinator.LogSize)
		}
	}
}

// unreadable returns the RecordError in an error, if any.
func unreadable(err error) (*coordinator.RecordError, bool) {
	return errors.AsType[*coordinator.RecordError](err)
}
