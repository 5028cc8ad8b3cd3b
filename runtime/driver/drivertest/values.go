// Package drivertest has helpers for the tests of several drivers.
package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
)

// Values are a role's values: the inputs that have arrived, and an ordered log of what
// was read and published.
type Values struct {
	Arrived map[string]string // as JSON; other inputs never arrive
	Broken  map[string]string // inputs whose producer has failed, with the reason
	Asking  chan string       // receives each input that is read and has not arrived

	mu  sync.Mutex
	log []string
}

func (v *Values) note(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.log = append(v.log, s)
}

// Lines are the log: "get NAME", "put NAME VALUE", "put NAME text TEXT".
func (v *Values) Lines() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.log...)
}

// Published returns an output's published value, or "".
func (v *Values) Published(name string) string {
	for _, line := range v.Lines() {
		if value, is := strings.CutPrefix(line, "put "+name+" "); is {
			return value
		}
	}
	return ""
}

// Read implements driver.Values.
func (v *Values) Read(ctx context.Context, name string) (json.RawMessage, error) {
	v.note("get " + name)
	if value, arrived := v.Arrived[name]; arrived {
		return json.RawMessage(value), nil
	}
	if reason, failed := v.Broken[name]; failed {
		return nil, errors.New(reason)
	}
	select {
	case v.Asking <- name:
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Write implements driver.Values; it rejects the output "refused".
func (v *Values) Write(_ context.Context, name string, value json.RawMessage) error {
	if name == "refused" {
		return errors.New("output refused: no")
	}
	v.note("put " + name + " " + string(value))
	return nil
}

// WriteText implements driver.Values.
func (v *Values) WriteText(_ context.Context, name string, text []byte) error {
	v.note("put " + name + " text " + string(text))
	return nil
}

// File is the only file of a plan, for any digest.
type File []byte

// File implements driver.Files.
func (f File) File(context.Context, string) ([]byte, error) { return f, nil }
