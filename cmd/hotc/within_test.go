package main

import (
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
		longest time.Duration
		memory  uint64
		work    func()
		want    string
	}{
		{time.Hour, 1 << 40, func() {}, ""},
		{time.Millisecond, 1 << 40, func() { <-block }, "a.yaml: hotc gave up after 1ms"},
		{time.Hour, 1, func() { held := make([]byte, 1<<20); <-block; runtime.KeepAlive(held) }, "a.yaml: hotc gave up when it had taken"},
		{time.Hour, 1 << 40, func() { panic(errors.New("broken")) }, "hotc made a mistake: broken (hotc/within_test.go:"},
	} {
		err := within(t.Context(), c.longest, c.memory, "a.yaml", c.work)
		if d, is := source.AsDiagnostic(err); is != (c.want != "") || is && !strings.HasPrefix(d.Message, c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
