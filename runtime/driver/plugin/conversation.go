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

// line is a message from a plug-in. Its key determines its kind; id is for the answer to
// a get or a put.
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

// mostWaiting bounds the concurrent gets and puts.
const mostWaiting = 256

// errOver ends a plug-in that has violated the protocol.
var errOver = errors.New("the plug-in was ended")

// conversation is the protocol between the agent and a plug-in.
type conversation struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	patience time.Duration
	job      *driver.Job

	childIn, childOut *os.File // the plug-in's ends
	in, out           *os.File // ours

	greeted bool // used only by listen
	alarm   *time.Timer
	waiting chan struct{}
	puts    sync.WaitGroup
	asked   sync.WaitGroup // gets and puts
	heard   chan struct{}  // closed at the end of its output
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

// begin sends the first line and listens.
func (c *conversation) begin(start []byte) {
	c.alarm = time.AfterFunc(c.patience, func() {
		defer mistake.Ends()
		if c.isDone() {
			c.over(fmt.Errorf("it reported that it is done, but did not end within %v", c.patience))
			return
		}
		c.over(fmt.Errorf("it printed nothing within %v; its first line must be {\"protocol\": %d}", c.patience, Protocol))
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

// write sends a line. A plug-in that does not read blocks only itself: the pipe is closed
// with the conversation.
func (c *conversation) write(text []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	// A plug-in that is gone needs no answer; its exit says why.
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
		c.over(fmt.Errorf("it printed a line longer than %d bytes", socket.MaxRequest))
	}
	// Its further output must not block it before it is ended.
	_, _ = io.Copy(io.Discard, c.in)
}

// hear handles a line.
func (c *conversation) hear(text []byte) error {
	l, err := parse(text)
	switch {
	case err != nil:
		return err
	case c.isDone():
		return errors.New("it sent a line after {\"done\": true}")
	case l.Protocol != nil:
		if *l.Protocol != Protocol {
			return fmt.Errorf("it uses version %d of the protocol, this agent version %d", *l.Protocol, Protocol)
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

// parse parses a line from a plug-in.
func parse(text []byte) (line, error) {
	var l line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&l)
	if err == nil && decoder.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return l, fmt.Errorf("it printed an invalid line (%v): %s", err, excerpt(text))
	}
	kinds := 0
	for _, there := range []bool{l.Protocol != nil, l.Get != nil, l.Put != nil, l.Log != nil, l.Done != nil, l.Failed != nil} {
		if there {
			kinds++
		}
	}
	valued := (l.Value != nil) != (l.Text != nil)
	if kinds != 1 || (l.Put != nil) != valued || l.Put == nil && (l.Value != nil || l.Text != nil) || l.Done != nil && !*l.Done {
		return l, fmt.Errorf("it printed an invalid line: %s", excerpt(text))
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

// ask reads or publishes a value, concurrently.
func (c *conversation) ask(l line) error {
	select {
	case c.waiting <- struct{}{}:
	default:
		return fmt.Errorf("it has more than %d concurrent requests", mostWaiting)
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

// lastWords is how long to wait for a plug-in's output after its end, if a process that it
// left behind keeps it open.
const lastWords = time.Second

// end handles the last lines, and waits for pending publications. The error is a violation
// of the protocol, or the plug-in's reason for its failure.
func (c *conversation) end() error {
	c.childOut.Close()
	c.childIn.Close()
	_ = c.in.SetReadDeadline(time.Now().Add(lastWords))
	<-c.heard
	c.alarm.Stop()
	c.out.Close() // no more answers
	c.puts.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// close cancels pending requests and, after begin, waits for them.
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
