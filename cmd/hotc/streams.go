package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/hotc-dev/hotc/compiler/terminal"
)

// streams are a command's standard input, output and error.
type streams struct {
	in       io.Reader
	out, err io.Writer
	ink      terminal.Ink // begins what out and err let through to a terminal
}

// standardStreams are those of the process. What is printed for people passes the filter
// of package terminal: standard error always, standard output where it is a terminal. A pipe
// or a file gets the bytes as they are. flush comes before the end.
func standardStreams(stop context.CancelCauseFunc) (s streams, flush func()) {
	s = streams{in: os.Stdin, ink: terminal.NewInk()}
	out, err := stream{File: os.Stdout, to: os.Stdout, stop: stop}, stream{File: os.Stderr, stop: stop}
	var filters []*terminal.Writer
	filtered := func(f *os.File) *terminal.Writer {
		filters = append(filters, terminal.NewWriter(f, s.ink))
		return filters[len(filters)-1]
	}
	if term.IsTerminal(int(os.Stdout.Fd())) {
		out.to = filtered(os.Stdout)
	}
	err.to = filtered(os.Stderr)
	s.out, s.err = out, err
	return s, func() {
		for _, f := range filters {
			_ = f.Flush() // nobody is left to tell
		}
	}
}

// interactive says whether somebody can be asked.
func (s streams) interactive() bool {
	f, ok := s.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many characters a line of the output may have; 0 when it is not a terminal.
func (s streams) width() int {
	f, ok := s.out.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 { // a serial console knows none
		return 80
	}
	return w
}

// color says whether the output may be coloured: only on a terminal, and not
// where the user said NO_COLOR.
func (s streams) color() bool { return s.cursor() != "" && os.Getenv("NO_COLOR") == "" }

// cursor is what moves the cursor of the output, if it is a terminal that can do that.
func (s streams) cursor() terminal.Ink {
	if s.width() == 0 || os.Getenv("TERM") == "dumb" {
		return ""
	}
	return s.ink
}

// outInk is what colours the output, if it may be coloured.
func (s streams) outInk() terminal.Ink {
	if !s.color() {
		return ""
	}
	return s.ink
}

// stream is standard output or error of the process. A write that fails ends what the program does,
// in order: roles that `hotc run` has started do not outlive it, and its folders go.
type stream struct {
	*os.File
	to   io.Writer // writes to the file
	stop context.CancelCauseFunc
}

// Write makes a failure the cause of the end.
func (s stream) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	if err != nil {
		s.stop(writeError{err})
	}
	return n, err
}

// writeError is why standard output or error cannot be written.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// outlivePipes makes writes into a pipe whose reader has gone fail, where they would end the
// process on the spot.
func outlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
