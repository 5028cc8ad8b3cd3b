package role

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// output is a declared output and its published value.
type output struct {
	contract.Output

	writing chan struct{} // full while a value is published

	mu      sync.Mutex
	written bool
	sum     [sha256.Size]byte
	last    json.RawMessage // for publication at the end
}

func newOutput(o contract.Output) *output { return &output{Output: o, writing: make(chan struct{}, 1)} }

func (o *output) isWritten() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written || o.last != nil
}

// holds reports whether this value was published in this run; written, whether any was.
func (o *output) holds(sum [sha256.Size]byte) (same, written bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written && o.sum == sum, o.written
}

// note records the first published value.
func (o *output) note(sum [sha256.Size]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.written {
		o.written, o.sum = true, sum
	}
}

// Write publishes an output's value. A failure to publish dooms the role.
func (l *life) Write(ctx context.Context, name string, value json.RawMessage) error {
	o, declared := l.outputs[name]
	if !declared {
		return l.undeclared("output", name)
	}
	if o.Secret {
		l.mask.add(value)
	}
	checked, err := driver.Check(o.Type, value)
	if err != nil {
		return l.failedWrite(o, err)
	}
	return l.publish(ctx, o, checked)
}

// WriteText publishes an output from a tool's text.
func (l *life) WriteText(ctx context.Context, name string, text []byte) error {
	o, declared := l.outputs[name]
	if !declared {
		return l.undeclared("output", name)
	}
	if quoted, err := json.Marshal(string(text)); o.Secret && err == nil {
		l.mask.add(quoted)
	}
	value, err := driver.Parse(o.Type, text)
	if err != nil {
		return l.failedWrite(o, err)
	}
	return l.publish(ctx, o, value)
}

// publish writes the value to its cell. The write outlives the process that requested it.
// A failed role no longer writes: in `hotc-agent get a | hotc-agent put b`, a failed read
// would put an empty string.
func (l *life) publish(ctx context.Context, o *output, value json.RawMessage) error {
	select {
	case o.writing <- struct{}{}:
		defer func() { <-o.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sum := sha256.Sum256(value)
	if same, _ := o.holds(sum); same {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if cause := l.doomCause(); cause != nil {
		return errors.New(cause.String())
	}
	if o.Publish == contract.AtEnd {
		o.keep(value)
		return nil
	}
	return l.put(o, value)
}

// keep stores the last value.
func (o *output) keep(value json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = value
}

// publishLast publishes, after the role has succeeded, the last values of outputs with
// `publish: end`.
func (l *life) publishLast() error {
	for _, declared := range l.role.Outputs {
		if o := l.outputs[declared.Name]; o.last != nil {
			if err := l.put(o, o.last); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes a value to its output's cell.
func (l *life) put(o *output, value json.RawMessage) error {
	sum := sha256.Sum256(value)
	if same, written := o.holds(sum); written && !same {
		return l.failedWrite(o, fmt.Errorf("%w: set `publish: end` to publish only the last value, when the role has ended", member.ErrOtherValue))
	}
	stamp, lack := l.stamp()
	err := l.host.Cells.Renew(l.ctx, o.Cell, value, stamp, lack, l.host.Now())
	switch {
	case err == nil:
		o.note(sum)
		return nil
	case l.ending() != nil:
		return l.ending()
	case stopsAgent(err):
		l.giveUp(err)
		return err
	}
	return l.failedWrite(o, err)
}

func (l *life) failedWrite(o *output, err error) error {
	cause := l.reasonAt(o.At, fmt.Sprintf("output %s: %v", o.Name, err))
	l.doomed(cause)
	return errors.New(cause.String())
}
