package memory

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// The protocol of the socket: lines of JSON. A client sends requests with ids of its choice; each
// gets one answer of the same id, in any order. After the answer to a watch or an announcement its
// id stays in use until the client cancels it or disconnects: a watch's tokens are sent under it,
// as events. A connection's announcements end with it.

const (
	// maxMessage bounds a line. A commit of MaxValue bytes takes 1.4 MiB in base64.
	maxMessage = 8 << 20
	// maxCreate is how much data a client puts into one request to create nodes.
	maxCreate = 1 << 20
	// maxStanding bounds a connection's watches and announcements.
	maxStanding = 1 << 16
)

// operation is the kind of a request, as it is named in errors.
type operation string

const (
	opAuthenticate operation = "authenticate"
	opCreate       operation = "create"
	opRead         operation = "read"
	opStat         operation = "stat"
	opChildren     operation = "list"
	opCommit       operation = "commit"
	opWatch        operation = "watch"
	opAnnounce     operation = "announce"
	opDeleteTree   operation = "delete"
	opRights       operation = "ask for the rights of"
	opChangeRights operation = "change the rights of"
	opSetLimit     operation = "limit"
	opCancel       operation = "cancel" // has no answer
)

type request struct {
	ID         uint64              `json:"id"`
	Op         operation           `json:"op"`
	Path       store.Path          `json:"path,omitempty"`
	Data       []byte              `json:"data,omitempty"`
	Nodes      []store.NewNode     `json:"nodes,omitempty"`
	Ops        []store.Op          `json:"ops,omitempty"`
	Credential *store.Credential   `json:"credential,omitempty"`
	Rights     *store.RightsChange `json:"rights,omitempty"`
	Limit      store.Limit         `json:"limit,omitzero"`
	Owner      store.Principal     `json:"owner,omitzero"`
}

// response is an answer or, with Event, an event of a watch.
type response struct {
	ID      uint64        `json:"id"`
	Event   bool          `json:"event,omitempty"`
	Data    []byte        `json:"data,omitempty"`
	Version store.Version `json:"version,omitempty"`
	Exists  bool          `json:"exists,omitempty"`
	Written time.Time     `json:"written,omitzero"`
	Names   []string      `json:"names,omitempty"`
	Grants  []store.Grant `json:"grants,omitempty"`
	Error   *wireError    `json:"error,omitempty"`
}

// wireError is an encoded error.
type wireError struct {
	Kind string     `json:"kind"` // of kinds, or empty
	Text string     `json:"text"`
	Op   string     `json:"op,omitempty"`
	Path store.Path `json:"path,omitempty"`
}

// kinds are the errors that callers decide on.
var kinds = []struct {
	name string
	err  error
}{
	{"not found", store.ErrNotFound},
	{"refused", store.ErrRefused},
	{"version", store.ErrVersion},
	{"exists", store.ErrExists},
	{"rights", store.ErrRights},
	{"too large", store.ErrTooLarge},
	{"closed", store.ErrClosed},
	{"full", store.ErrFull},
}

func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{}
	if at, is := errors.AsType[*store.PathError](err); is {
		w.Op, w.Path, err = at.Op, at.Path, at.Err
	}
	w.Text = err.Error()
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			w.Kind = kind.name
		}
	}
	return w
}

// remoteError has the text of another process's error, and unwraps to one of ours.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

func (w *wireError) error() error {
	if w == nil {
		return nil
	}
	e := &remoteError{text: w.Text}
	for _, kind := range kinds {
		if kind.name == w.Kind {
			e.kind = kind.err
		}
	}
	return fail(operation(w.Op), w.Path, e)
}

// lines reads the messages of a connection.
func lines(r io.Reader) *bufio.Scanner {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, 4<<10), maxMessage)
	return scanner
}

// line writes a message.
func line(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if len(text) >= maxMessage {
		return nil, fmt.Errorf("%w: a message of %d bytes", store.ErrTooLarge, len(text))
	}
	return append(text, '\n'), nil
}
