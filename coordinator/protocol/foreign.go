package protocol

import (
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// What another server has written is untrusted input. Readers go on without a bad record, or fail
// with a cause that names the writer, and never take it for a statement about the deployment.

// RecordError says that a server has written an invalid record.
type RecordError struct {
	Server contract.ServerPath // the writer
	What   string              // "the cell db.mysql:url"
	Err    error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%s cannot be read as written by %s: %v", e.What, e.writer(), e.Err)
}

func (e *RecordError) writer() string {
	if e.Server == contract.Operator {
		return "the operator's command"
	}
	return "server " + string(e.Server)
}

func (e *RecordError) Unwrap() error { return e.Err }

var (
	errNoSuchState = errors.New("its state is not a cell's")
	errNoValue     = errors.New("it has no value")
	errNotSealed   = errors.New("its value is not sealed, but the plan requires it")
	errSealed      = errors.New("its value is sealed, but not in the plan")
)

// ErrOtherType says that a value is not of the type that its role declares.
var ErrOtherType = errors.New("its value has another type than the plan says")

// NewCellError is a RecordError about a cell.
func NewCellError(ref contract.CellRef, err error) error {
	return &RecordError{Server: ref.Server, What: "the cell " + string(ref.Cell), Err: err}
}

// mostIncarnations is more than the machines that a name can have had.
const mostIncarnations = 1 << 30

// ParseIncarnation reads which machine is the server. An earlier machine may have left anything
// there, and must not keep the next one out: then the node's version, which counts all that came,
// bounds their number.
func ParseIncarnation(node store.Node) IncarnationRecord {
	record, err := Decode[IncarnationRecord]("", node.Data)
	if err != nil || record.Number < 0 || record.Number > mostIncarnations || record.Number == 0 && node.Version > 0 {
		return IncarnationRecord{Number: int(node.Version)}
	}
	return record
}
