// Package fetch fetches what a role needs: files that travel with the plan, archives from
// a URL, repositories. Downloads are verified before use.
package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
)

// Download is a file to fetch.
type Download struct {
	URL    string
	SHA256 string // hex; required to match
	Proxy  string // URL; "" is the environment's
	// Limit bounds its size, in bytes; 0 is DefaultLimit.
	Limit int64
	// Pause is the time before the second attempt, which doubles; 0 is a second.
	Pause time.Duration
}

// DefaultLimit bounds a download, in bytes.
const DefaultLimit = 4 << 30

// attempts is the number of attempts if the server does not answer, closes the connection
// or reports a server error.
const attempts = 6

// stall limits the time without data.
const stall = time.Minute

// To fetches the file and moves it to a path when it is complete and verified.
func (d Download) To(ctx context.Context, path string) error {
	client, err := d.client()
	if err != nil {
		return fmt.Errorf("fetch %s: %w", d.URL, err)
	}
	defer client.CloseIdleConnections()
	pause := cmp.Or(d.Pause, time.Second)
	for i := 1; ; i++ {
		again, err := d.once(ctx, client, path)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("fetch %s: %w", d.URL, context.Cause(ctx))
		}
		if !again || i == attempts {
			return fmt.Errorf("fetch %s: %w", d.URL, err)
		}
		_ = store.Pause(ctx, pause) // the next attempt finds that ctx has ended
		pause *= 2
	}
}

func (d Download) client() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if d.Proxy != "" {
		proxy, err := url.Parse(d.Proxy)
		if err != nil {
			return nil, fmt.Errorf("the proxy: %w", err)
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	transport.ResponseHeaderTimeout = stall
	return &http.Client{Transport: transport}, nil
}

// once is one attempt; again is set if it may be retried.
func (d Download) once(ctx context.Context, client *http.Client, path string) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return false, err
	}
	answer, err := client.Do(request)
	if err != nil {
		if failed, is := errors.AsType[*url.Error](err); is {
			err = failed.Err
		}
		return true, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests, fmt.Errorf("the server answered %s", answer.Status)
	}
	silent := time.AfterFunc(stall, func() { cancel(errors.New("the server stopped sending")) })
	defer silent.Stop()
	return d.keep(path, &heard{answer.Body, silent})
}

// heard is a reader that postpones a timer with every read.
type heard struct {
	io.Reader
	silent *time.Timer
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.silent.Reset(stall)
	return n, err
}

func (d Download) keep(path string, body io.Reader) (again bool, err error) {
	limit := cmp.Or(d.Limit, DefaultLimit)
	partial := path + ".partial"
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	defer os.Remove(partial)
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, limit+1))
	if closeErr := file.Close(); closeErr != nil {
		return false, closeErr
	}
	switch is := hex.EncodeToString(sum.Sum(nil)); {
	case n > limit:
		return false, fmt.Errorf("it is larger than %d bytes", limit)
	case err != nil:
		return true, err
	case d.SHA256 == "":
		return false, errors.New("it has no checksum")
	case is != d.SHA256:
		return false, fmt.Errorf("its sha256 is %s, but %s was declared", is, d.SHA256)
	}
	return false, os.Rename(partial, path)
}
