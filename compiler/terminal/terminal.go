// Package terminal keeps what others wrote from steering the terminal of whoever reads
// it. Values, logs and reasons of failures come from servers that somebody may have
// taken over: ESC and C1 begin sequences that move the cursor, answer in the user's
// name or set titles, and format characters such as U+202E turn text around. All of
// them become visible escapes in one place, the writer behind standard output and error.
//
// hotc's own colours pass that writer because they begin with its ink, a random text
// that nothing which hotc reads can hold.
package terminal

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Steers says that a character does something else in a terminal than standing there: a
// control character but for the line end and the tab, a format character, a separator
// of lines.
func Steers(r rune) bool {
	if ' ' <= r && r < unicode.MaxASCII { // as nearly all are
		return false
	}
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// escape writes such a character as JSON would.
func escape(r rune) string {
	switch {
	case r == '\r':
		return `\r`
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}

// Visible is a text with everything that steers in it as visible escapes, and so with
// bytes that are not UTF-8.
func Visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, Steers) {
		return text
	}
	f := filter{}
	return string(append(f.pass(nil, []byte(text)), f.rest()...))
}

// Line is a text as Visible writes it, in one line.
func Line(text string) string {
	return Visible(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text))
}

// Ink is what hotc's own sequences begin with, up to a Writer that knows it. The empty
// one paints nothing.
type Ink string

// NewInk makes an ink that no input can hold.
func NewInk() Ink { return Ink("\x1b" + rand.Text()) }

// Paint gives a text a colour, by the parameters of SGR: "1;31" is bold red.
func (i Ink) Paint(code, text string) string {
	if i == "" || code == "" {
		return text
	}
	return i.Sequence(code+"m") + text + i.Sequence("0m")
}

// Sequence is a control sequence of hotc's own, without the ESC [ that it begins with.
func (i Ink) Sequence(rest string) string {
	if i == "" {
		return ""
	}
	return string(i) + rest
}

// Writer writes text in which nothing steers but what begins with its ink.
type Writer struct {
	mu sync.Mutex
	to io.Writer
	filter
}

// NewWriter writes to a terminal, or to a file that somebody will look at in one.
func NewWriter(to io.Writer, ink Ink) *Writer {
	return &Writer{to: to, filter: filter{ink: ink}}
}

// Write keeps the begin of a character, or of a line end, for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if shown := w.pass(nil, p); len(shown) > 0 {
		if _, err := w.to.Write(shown); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush writes what was kept.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if rest := w.rest(); len(rest) > 0 {
		_, err := w.to.Write(rest)
		return err
	}
	return nil
}

// filter makes escapes. What it keeps is the begin of something that the next bytes end.
type filter struct {
	ink  Ink
	kept []byte
}

func (f *filter) pass(to, p []byte) []byte {
	p = append(f.kept, p...)
	f.kept = nil
	for len(p) > 0 {
		if n := len(f.ink); n > 0 && len(p) >= n && string(p[:n]) == string(f.ink) {
			to, p = append(to, "\x1b["...), p[n:]
			continue
		}
		if len(p) < utf8.UTFMax && !utf8.FullRune(p) || len(p) == 1 && p[0] == '\r' {
			f.kept = append([]byte(nil), p...)
			return to
		}
		r, size := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && size == 1:
			to = fmt.Appendf(to, `\x%02x`, p[0])
		case r == '\r' && p[1] == '\n':
			to = append(to, '\r')
		case Steers(r):
			to = append(to, escape(r)...)
		default:
			to = append(to, p[:size]...)
		}
		p = p[size:]
	}
	return to
}

// rest is what nothing came after.
func (f *filter) rest() []byte {
	var to []byte
	for _, b := range f.kept {
		if b == '\r' {
			to = append(to, `\r`...)
		} else {
			to = fmt.Appendf(to, `\x%02x`, b)
		}
	}
	f.kept = nil
	return to
}
