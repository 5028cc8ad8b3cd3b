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
	ink      terminal.Ink // marks the colours that out and err let through to a terminal
}

// standardStreams are those of the process. Output for people passes the filter of package
// terminal: standard error always, standard output if it is a terminal. A pipe or a file gets
// the bytes unchanged. Call flush before the process ends.
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
			_ = f.Flush() // nowhere to report it
		}
	}
}

// interactive says whether the user can be asked.
func (s streams) interactive() bool {
	f, ok := s.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the width of the output's terminal; 0 if it is not a terminal.
func (s streams) width() int {
	f, ok := s.out.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w <= 0 { // a serial console reports none
		return 80
	}
	return w
}

// color says whether the output may be coloured: only on a terminal, and not with NO_COLOR.
func (s streams) color() bool { return s.cursor() != "" && os.Getenv("NO_COLOR") == "" }

// cursor is for moving the cursor, "" if the output is not a terminal that can do that.
func (s streams) cursor() terminal.Ink {
	if s.width() == 0 || os.Getenv("TERM") == "dumb" {
		return ""
	}
	return s.ink
}

// outInk is for colouring the output, "" if it may not be coloured.
func (s streams) outInk() terminal.Ink {
	if !s.color() {
		return ""
	}
	return s.ink
}

// stream is standard output or error of the process. A failed write ends the program in order:
// `hotc run` stops the roles that it has started, and removes its folders.
type stream struct {
	*os.File
	to   io.Writer // writes to the file
	stop context.CancelCauseFunc
}

// Write cancels the program's context if it fails.
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

// outlivePipes makes a write to a pipe without a reader an error, instead of ending the process.
func outlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
