package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// What comes of another server's record is bounded by what an honest agent writes, before it
// is decoded (a few bytes of JSON make hundreds in memory) and after.

// mostItems is how many objects and items of lists a record may have, other than a cell's
// value; mostWaits how many reads of a role wait.
const (
	mostItems = 100_000
	mostWaits = 1_000
)

var errTooMany = errors.New("it has too many parts")

// decodeOf reads a record that a server has written. *RecordError.
func decodeOf[T any](server plan.ServerPath, what string, path Path, data []byte) (T, error) {
	var record T
	err := error(nil)
	if items(data) > mostItems {
		err = errTooMany
	} else {
		record, err = decode[T](path, data)
	}
	if err != nil {
		var none T
		return none, &RecordError{Server: server, What: what, Err: err}
	}
	return record, nil
}

// readOf reads such a record, if it is there. *RecordError.
func readOf[T any](ctx context.Context, s Store, server plan.ServerPath, what string, path Path) (T, error) {
	node, err := s.Read(ctx, path)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	if err != nil {
		var none T
		return none, err
	}
	return decodeOf[T](server, what, path, node.Data)
}

// items counts what makes a JSON text large in memory: commas and brackets outside of
// strings.
func items(data []byte) (n int) {
	within := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case !within && (c == ',' || c == '{' || c == '['):
			n++
		}
	}
	return n
}

// tidy cuts a state to what an agent of a server with so many roles may say. Who says that
// a role has failed says why.
func (s *ServerState) tidy(roles int) {
	s.Message = clip(s.Message, longestReason)
	s.Agent = clip(s.Agent, longestReason)
	s.Roles = s.Roles[:min(len(s.Roles), roles)]
	for i := range s.Roles {
		r := &s.Roles[i]
		r.LastLines = clip(r.LastLines, LogSize)
		r.Blocked = r.Blocked[:min(len(r.Blocked), mostWaits)]
		r.Cause = shorten(r.Cause)
		if r.Cause == nil && (r.Status == RoleFailed || r.Status == RoleSkipped) {
			r.Cause = &Cause{Reason: "its agent gives no reason"}
		}
		if r.Update != nil {
			r.Update.Cause, r.Update.LastLines = shorten(r.Update.Cause), clip(r.Update.LastLines, LogSize)
		}
	}
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most]) + "…"
}

// checkCell says what a cell's record may be taken for: whether it is sealed is the plan's to
// say.
func checkCell(ref plan.CellRef, record CellRecord) (CellRecord, error) {
	var err error
	switch {
	case record.State == Empty:
	case record.State == Failed:
		record.Cause = shorten(record.Cause)
	case record.State != Valued:
		err = errNoSuchState
	case !ref.Sealed && record.Sealed != "":
		err = errSealed
	case ref.Sealed && record.Sealed == "":
		err = errNotSealed
	case !ref.Sealed && record.Value == nil:
		err = errNoValue
	}
	if err != nil {
		return CellRecord{State: Empty}, cellError(ref, err)
	}
	return record, nil
}

// unreadable says whether an error is about what a server has written, and which.
func unreadable(err error) (*RecordError, bool) {
	var of *RecordError
	is := errors.As(err, &of)
	return of, is
}

// stateOf, answersOf and the like name what cannot be read.
func stateOf(s plan.ServerPath) string   { return fmt.Sprintf("the state of server %s", s) }
func answersOf(s plan.ServerPath) string { return fmt.Sprintf("what server %s has answered", s) }
