package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// line is what a plug-in may print. Its kind is told by the key that it has; id is
// for the answer to a get or a put.
type line struct {
	Protocol *int            `json:"protocol"`
	Get      *string         `json:"get"`
	Put      *string         `json:"put"`
	Value    json.RawMessage `json:"value"`
	Text     *string         `json:"text"`
	Log      *string         `json:"log"`
	Done     *bool           `json:"done"`
	Failed   *string         `json:"failed"`
	ID       json.RawMessage `json:"id"`
}

type reply struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

// mostWaiting is how many gets and puts may be under way.
const mostWaiting = 256

// errOver ends a plug-in that has broken the protocol.
var errOver = errors.New("the plug-in is ended")

// conversation is what is said between the agent and a plug-in.
type conversation struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	patience time.Duration
	job      *driver.Job

	childIn, childOut *os.File // the plug-in's ends
	in, out           *os.File // ours

	greeted bool // known to listen alone
	alarm   *time.Timer
	waiting chan struct{}
	puts    sync.WaitGroup
	asked   sync.WaitGroup // gets and puts
	heard   chan struct{}  // closed when nothing more comes
	writing sync.Mutex

	mu      sync.Mutex
	done    bool
	failure error
}

func converse(ctx context.Context, patience time.Duration, job *driver.Job) (*conversation, error) {
	c := &conversation{patience: patience, job: job, waiting: make(chan struct{}, mostWaiting), heard: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	var err error
	if c.childIn, c.out, err = os.Pipe(); err != nil {
		return nil, err
	}
	if c.in, c.childOut, err = os.Pipe(); err != nil {
		c.childIn.Close()
		c.out.Close()
		return nil, err
	}
	return c, nil
}

// begin says the first line and listens.
func (c *conversation) begin(start []byte) {
	c.alarm = time.AfterFunc(c.patience, func() {
		defer mistake.Ends()
		if c.isDone() {
			c.over(fmt.Errorf("it said that it is done, and did not end within %v", c.patience))
			return
		}
		c.over(fmt.Errorf("it said nothing within %v; its first line is {\"protocol\": %d}", c.patience, Protocol))
	})
	mistake.Go(c.listen)
	mistake.Go(func() { c.write(start) })
}

// over ends the plug-in; the first reason counts.
func (c *conversation) over(reason error) {
	c.mu.Lock()
	if c.failure == nil {
		c.failure = reason
	}
	c.mu.Unlock()
	c.cancel(errOver)
}

func (c *conversation) isDone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// write says a line. A plug-in that does not listen holds up nobody else: the pipe is
// closed with the conversation.
func (c *conversation) write(text []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	// A plug-in that is gone needs no answer; why it went is told by its end.
	_, _ = c.out.Write(text)
}

func (c *conversation) listen() {
	defer close(c.heard)
	scanner := bufio.NewScanner(c.in)
	scanner.Buffer(nil, socket.MaxRequest)
	for scanner.Scan() {
		if err := c.hear(scanner.Bytes()); err != nil {
			c.over(err)
			break
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		c.over(fmt.Errorf("it printed a line of more than %d bytes", socket.MaxRequest))
	}
	// What it still prints must not block it before it is ended.
	_, _ = io.Copy(io.Discard, c.in)
}

// hear does what a line asks for.
func (c *conversation) hear(text []byte) error {
	l, err := parse(text)
	switch {
	case err != nil:
		return err
	case c.isDone():
		return errors.New("it said something after {\"done\": true}")
	case l.Protocol != nil:
		if *l.Protocol != Protocol {
			return fmt.Errorf("it speaks version %d of the protocol, and this agent version %d", *l.Protocol, Protocol)
		}
		c.greeted = true
		c.alarm.Stop()
	case !c.greeted:
		return fmt.Errorf("its first line is not {\"protocol\": %d}", Protocol)
	case l.Done != nil:
		c.mu.Lock()
		c.done = true
		c.mu.Unlock()
		c.alarm.Reset(c.patience)
	case l.Failed != nil:
		return errors.New(*l.Failed)
	case l.Log != nil:
		fmt.Fprintln(c.job.Stdout, *l.Log)
	default:
		return c.ask(l)
	}
	return nil
}

// parse reads a line that a plug-in printed.
func parse(text []byte) (line, error) {
	var l line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&l)
	if err == nil && decoder.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return l, fmt.Errorf("it printed what is not a line of the protocol (%v): %s", err, excerpt(text))
	}
	kinds := 0
	for _, there := range []bool{l.Protocol != nil, l.Get != nil, l.Put != nil, l.Log != nil, l.Done != nil, l.Failed != nil} {
		if there {
			kinds++
		}
	}
	valued := (l.Value != nil) != (l.Text != nil)
	if kinds != 1 || (l.Put != nil) != valued || l.Put == nil && (l.Value != nil || l.Text != nil) || l.Done != nil && !*l.Done {
		return l, fmt.Errorf("it printed what is not a line of the protocol: %s", excerpt(text))
	}
	return l, nil
}

func excerpt(text []byte) string {
	const enough = 80
	if runes := []rune(string(bytes.ToValidUTF8(text, []byte("?")))); len(runes) > enough {
		return fmt.Sprintf("%q…", string(runes[:enough]))
	}
	return fmt.Sprintf("%q", bytes.ToValidUTF8(text, []byte("?")))
}

// ask reads or publishes a value, beside whatever else is under way.
func (c *conversation) ask(l line) error {
	select {
	case c.waiting <- struct{}{}:
	default:
		return fmt.Errorf("it has asked for more than %d things at once", mostWaiting)
	}
	if l.Put != nil {
		c.puts.Add(1)
	}
	mistake.GoIn(&c.asked, func() {
		defer func() {
			if <-c.waiting; l.Put != nil {
				c.puts.Done()
			}
		}()
		var r reply
		var err error
		switch {
		case l.Get != nil:
			r.Value, err = c.job.Values.Read(c.ctx, *l.Get)
		case l.Text != nil:
			err = c.job.Values.WriteText(c.ctx, *l.Put, []byte(*l.Text))
		default:
			err = c.job.Values.Write(c.ctx, *l.Put, l.Value)
		}
		if c.ctx.Err() != nil {
			return
		}
		if r.ID = l.ID; err != nil {
			r.Error = err.Error()
		}
		text, err := encode(r)
		if err != nil {
			c.over(err)
			return
		}
		c.write(text)
	})
	return nil
}

// lastWords is how long what a plug-in had said is still looked for after its end,
// where something that it left behind holds its output open.
const lastWords = time.Second

// end hears what was said last, and waits for what was to be published. The error is
// what the plug-in did wrong, or why it says that it failed.
func (c *conversation) end() error {
	c.childOut.Close()
	c.childIn.Close()
	_ = c.in.SetReadDeadline(time.Now().Add(lastWords))
	<-c.heard
	c.alarm.Stop()
	c.out.Close() // nobody is there to be answered
	c.puts.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// close ends whatever is under way. After begin it waits for that.
func (c *conversation) close() {
	c.cancel(errOver)
	for _, f := range []*os.File{c.childIn, c.childOut, c.in, c.out} {
		f.Close()
	}
	if c.alarm != nil {
		c.alarm.Stop()
		<-c.heard
	}
	c.asked.Wait()
}
