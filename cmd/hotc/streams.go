package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// streams are a command's standard input, output and error.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// interactive says whether somebody can be asked.
func (s streams) interactive() bool {
	f, ok := s.in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many characters a line of the output may have; 0 when it is not a
// terminal.
func (s streams) width() int {
	f, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return w
}

// color says whether the output may be coloured: only on a terminal, and not
// where the user said NO_COLOR.
func (s streams) color() bool {
	return s.width() > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
