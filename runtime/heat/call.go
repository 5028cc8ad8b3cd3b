package heat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Attempts of a repeatable request, and the time before the first repetition; longer outages are
// left to the caller.
const (
	attempts  = 4
	firstWait = 500 * time.Millisecond
)

// How long one attempt may take. Heat validates a large template before it answers.
const (
	readTime  = time.Minute
	writeTime = 4 * time.Minute
)

// request is one call of Heat's API.
type request struct {
	method string
	path   []string // of the URL, below the project's
	query  url.Values
	body   any
	// again says that the request may be repeated even if it may have arrived.
	again bool
}

func get(query url.Values, path ...string) request {
	return request{method: http.MethodGet, path: path, query: query, again: true}
}

// call makes a request and decodes its answer, if into is not nil.
func (c *Client) call(ctx context.Context, r request, into any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = protocol.Encode(r.body); err != nil {
			return err
		}
	}
	for n, wait := 1, c.wait; ; n, wait = n+1, 2*wait {
		err := c.attempt(ctx, r, body, into)
		if err == nil || n == attempts || ctx.Err() != nil || !repeatable(err, r.again) {
			return c.explain(ctx, r, err)
		}
		_ = store.Pause(ctx, wait/2+rand.N(wait/2+1)) // the next attempt finds that ctx has ended
	}
}

func (c *Client) attempt(ctx context.Context, r request, body []byte, into any) error {
	limit := readTime
	if r.method != http.MethodGet {
		limit = writeTime
	}
	within, stop := context.WithTimeoutCause(ctx, limit, errNoAnswer)
	defer stop()
	o := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 202, 204}, MoreHeaders: map[string]string{}}
	if body != nil {
		o.RawBody = bytes.NewReader(body)
		o.MoreHeaders["Content-Type"] = "application/json"
	}
	response, err := c.service.Request(within, r.method, c.url(r), o)
	if err != nil {
		return noAnswer(within, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return noAnswer(within, err)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return &garbledError{err}
	}
	return nil
}

// noAnswer returns errNoAnswer, rather than a context's error, for an attempt that took too long.
func noAnswer(within context.Context, err error) error {
	if context.Cause(within) == errNoAnswer {
		return errNoAnswer
	}
	return err
}

func (c *Client) url(r request) string {
	text := strings.TrimSuffix(c.service.Endpoint, "/")
	for _, part := range r.path {
		text += "/" + url.PathEscape(part)
	}
	if len(r.query) > 0 {
		text += "?" + r.query.Encode()
	}
	return text
}

// repeatable reports whether repeating a request may help, and does no harm: it cannot have
// arrived, or may arrive twice.
func repeatable(err error, again bool) bool {
	var refused *net.OpError
	var status gophercloud.ErrUnexpectedResponseCode
	switch {
	case errors.As(err, &status) && (status.Actual == http.StatusTooManyRequests || status.Actual == http.StatusServiceUnavailable):
		return true
	case errors.As(err, &status):
		return again && status.Actual >= 500
	case tlsMessage(err) != "":
		return false
	case errors.As(err, &refused) && refused.Op == "dial":
		return true
	}
	var garbled *garbledError
	var large *http.MaxBytesError
	return again && !errors.As(err, &garbled) && !errors.As(err, &large)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
}
