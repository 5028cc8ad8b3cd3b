package main

import (
	"bytes"
	"regexp"
	"testing"
)

type broken struct{}

func (broken) Write([]byte) (int, error) {
	var missing *struct{ name string }
	return len(missing.name), nil
}

// A panic reaches the user as a diagnostic that says where, and not as a stack trace.
func TestMistake(t *testing.T) {
	var errs bytes.Buffer
	if status := run(t.Context(), []string{"rule"}, streams{out: broken{}, err: &errs}); status != exitError {
		t.Errorf("ended with %d", status)
	}
	want := regexp.MustCompile(`^error\[H699\]: internal error in hotc: runtime error: invalid memory address or nil pointer dereference \(hotc/mistake_test\.go:1[34]\)\n  hint: please report it, .*\n$`)
	if !want.Match(errs.Bytes()) {
		t.Errorf("it says\n%s", errs.String())
	}
}
