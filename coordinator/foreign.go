package coordinator

import (
	"errors"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// What another server has written is hostile input: it may be anything. Whoever reads it
// goes on without, or fails with a cause that names the writer; nobody takes it for news of
// the deployment.

// RecordError says that what a server has written is not what belongs there.
type RecordError struct {
	Server contract.ServerPath // the writer
	What   string              // "the cell db.mysql:url"
	Err    error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%s cannot be read, as %s has written it: %v", e.What, e.writer(), e.Err)
}

func (e *RecordError) writer() string {
	if e.Server == contract.Operator {
		return "the operator's command"
	}
	return "server " + string(e.Server)
}

func (e *RecordError) Unwrap() error { return e.Err }

var (
	errNoSuchState = errors.New("it has no state that a cell can have")
	errNoValue     = errors.New("it has no value")
	errNotSealed   = errors.New("its value is open, and the plan wants it sealed")
	errSealed      = errors.New("its value is sealed, and by the plan it is open")
)

// NewCellError is a RecordError about a cell.
func NewCellError(ref contract.CellRef, err error) error {
	return &RecordError{Server: ref.Server, What: "the cell " + string(ref.Cell), Err: err}
}

// mostIncarnations is more machines than a name can have had.
const mostIncarnations = 1 << 30

// ParseIncarnation reads whose name a server's is. Who had it before may have left
// anything there, and must not keep the next machine out: then the node's version, which
// counts all who came, says how many there were at most.
func ParseIncarnation(node Node) IncarnationRecord {
	record, err := Decode[IncarnationRecord]("", node.Data)
	if err != nil || record.Number < 0 || record.Number > mostIncarnations || record.Number == 0 && node.Version > 0 {
		return IncarnationRecord{Number: int(node.Version)}
	}
	return record
}
