package lint

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
)

// What takes too much is given up with a reason, and what panics is a diagnostic.
func TestWithin(t *testing.T) {
	block := make(chan bool)
	defer close(block)
	for _, c := range []struct {
		bounds bounds
		work   func()
		want   string
	}{
		{bounds{}, func() {}, ""},
		{bounds{time.Hour, 1 << 40}, func() {}, ""},
		{bounds{time.Millisecond, 1 << 40}, func() { <-block }, "a.yaml: hotc gave up after 1ms"},
		{bounds{time.Hour, 1}, func() { held := make([]byte, 1<<20); <-block; runtime.KeepAlive(held) }, "a.yaml: hotc gave up after using"},
		{bounds{}, func() { panic(errors.New("broken")) }, "a.yaml: internal error in hotc: broken (lint/within_test.go:"},
	} {
		w := newWatch()
		err := w.within(t.Context(), c.bounds, func(context.Context) error { return w.on("a.yaml", c.work) })
		if d, is := source.AsDiagnostic(err); is != (c.want != "") || is && !strings.HasPrefix(d.Message, c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// Who is told to end does not wait for what is looked at.
func TestWithinEnds(t *testing.T) {
	block := make(chan bool)
	defer close(block)
	ctx, cancel := context.WithCancel(t.Context())
	w := newWatch()
	err := w.within(ctx, bounds{}, func(context.Context) error {
		return w.on("a.yaml", func() { cancel(); <-block })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
