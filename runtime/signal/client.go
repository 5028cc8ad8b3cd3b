package signal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client sends signals to one handle. It must not be used concurrently.
type Client struct {
	handle Handle
	// HTTP makes the requests.
	HTTP *http.Client
	// Say is called for each failed attempt that will be repeated.
	Say func(error)
	// Enough says, after a failed attempt, to stop.
	Enough func() bool
	// Wait is the time before the first repetition; it doubles up to MaxWait.
	Wait, MaxWait time.Duration
	// Spread is a random time below the given one, so that many servers do not retry at once.
	Spread func(time.Duration) time.Duration

	token    string
	endpoint string
}

// NewClient creates a client of a handle.
func NewClient(h Handle) *Client {
	return &Client{
		handle: h,
		HTTP:   &http.Client{Timeout: 30 * time.Second},
		Say:    func(error) {},
		Enough: func() bool { return false },
		Wait:   time.Second, MaxWait: time.Minute, Spread: rand.N[time.Duration],
	}
}

// ErrTooLarge says that Heat will never accept the body.
var ErrTooLarge = errors.New("larger than Heat accepts")

// ErrEnough says that the signal is no longer needed.
var ErrEnough = errors.New("the signal is no longer needed")

// Send sends a signal. It returns when Heat has accepted it, when Heat never will (ErrTooLarge),
// when it is no longer needed (ErrEnough), or when ctx ends.
func (c *Client) Send(ctx context.Context, s Signal) error {
	s.Reason = ShortReason(s.Reason)
	body, err := protocol.Encode(s)
	if err != nil {
		return fmt.Errorf("signal Heat: %w", err)
	}
	if len(body) > MaxBody {
		return fmt.Errorf("signal Heat: the stack's values are %w: %d bytes, at most %d", ErrTooLarge, len(body), MaxBody)
	}
	for wait := c.Wait; ; wait = min(2*wait, c.MaxWait) {
		err := c.attempt(ctx, body)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("signal Heat: %w", context.Cause(ctx))
		}
		if isStatus(err, http.StatusRequestEntityTooLarge) {
			return fmt.Errorf("signal Heat: %w: %w", err, ErrTooLarge)
		}
		c.Say(fmt.Errorf("signal Heat: %w", err))
		if c.Enough() {
			return fmt.Errorf("signal Heat: %w", ErrEnough)
		}
		if err := store.Pause(ctx, wait/2+c.Spread(wait/2+1)); err != nil {
			return fmt.Errorf("signal Heat: %w", err)
		}
	}
}

// attempt authenticates if there is no token, and again if it is no longer valid.
func (c *Client) attempt(ctx context.Context, body []byte) error {
	fresh := c.token == ""
	if fresh {
		if err := c.authenticate(ctx); err != nil {
			return fmt.Errorf("authenticate: %w", err)
		}
	}
	err := c.post(ctx, body)
	if isStatus(err, http.StatusUnauthorized) {
		c.token = ""
		if !fresh {
			return c.attempt(ctx, body)
		}
	}
	return err
}

func (c *Client) post(ctx context.Context, body []byte) error {
	target := fmt.Sprintf("%s/stacks/%s/%s/resources/%s/signal", c.endpoint,
		url.PathEscape(c.handle.stack), url.PathEscape(c.handle.stackID), url.PathEscape(c.handle.resource))
	response, err := c.do(ctx, target, body, c.token)
	if err != nil {
		return err
	}
	finish(response)
	return nil
}

// do posts JSON. A status other than 2xx is an error.
func (c *Client) do(ctx context.Context, target string, body []byte, token string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		finish(response)
		return nil, &statusError{request.URL.Host, response.StatusCode, strings.Join(strings.Fields(string(text)), " ")}
	}
	return response, nil
}

// finish reads the rest, so that the connection can be reused.
func finish(response *http.Response) {
	io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	response.Body.Close()
}

// statusError is an answer other than 2xx.
type statusError struct {
	host string
	code int
	text string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answered %d %s: %s", e.host, e.code, http.StatusText(e.code), e.text)
}

func isStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == code
}
