// Package terminal protects the user's terminal from control sequences in untrusted text.
// Values, logs and errors come from servers that may be compromised: ESC and C1 start
// sequences that move the cursor, inject answers or set titles, and format characters
// such as U+202E reverse text. The writer behind standard output and error turns all of
// them into visible escapes.
//
// hotc's own colours pass that writer because they start with its ink, a random string
// that no input can contain.
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

// Steers reports whether a character affects a terminal: a control character other than
// line feed and tab, a format character, or a line separator.
func Steers(r rune) bool {
	if ' ' <= r && r < unicode.MaxASCII { // fast path
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

// Visible replaces such characters, and invalid UTF-8, by visible escapes.
func Visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, Steers) {
		return text
	}
	f := filter{}
	return string(append(f.pass(nil, []byte(text)), f.rest()...))
}

// Line is Visible on a single line.
func Line(text string) string {
	return Visible(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text))
}

// Inert is text in which the logs of CI find no commands: GitHub's runners take lines that begin with
// :: for these, and they and Azure's what has ##[ or ##vso[ anywhere. File names may begin a line.
func Inert(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "::") {
			lines[i] = line[:len(line)-len(rest)] + `\u003a` + rest[1:]
		}
	}
	return strings.NewReplacer("##[", `#\u0023[`, "##vso[", `#\u0023vso[`).Replace(strings.Join(lines, ""))
}

// Ink is the secret prefix of hotc's own sequences, for a Writer that knows it. The empty
// one disables colours.
type Ink string

// NewInk returns an ink that no input can contain.
func NewInk() Ink { return Ink("\x1b" + rand.Text()) }

// Paint colours a text, by SGR parameters: "1;31" is bold red.
func (i Ink) Paint(code, text string) string {
	if i == "" || code == "" {
		return text
	}
	return i.Sequence(code+"m") + text + i.Sequence("0m")
}

// Sequence is a control sequence of hotc's own; rest is what follows ESC [.
func (i Ink) Sequence(rest string) string {
	if i == "" {
		return ""
	}
	return string(i) + rest
}

// Writer escapes all control sequences but those that start with its ink.
type Writer struct {
	mu sync.Mutex
	to io.Writer
	filter
}

// NewWriter writes to a terminal, or to a file that may be viewed in one.
func NewWriter(to io.Writer, ink Ink) *Writer {
	return &Writer{to: to, filter: filter{ink: ink}}
}

// Write keeps an incomplete character or line end for the next call.
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

// filter escapes text. It keeps what the next bytes complete.
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

// rest escapes what was never completed.
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
