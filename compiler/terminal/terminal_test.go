package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain, Zürich € 漢字 😀\n\ttab":  "plain, Zürich € 漢字 😀\n\ttab",
		"\x1b[2J\x1b]0;title\a":        `\u001b[2J\u001b]0;title\u0007`,
		"\u009b31m c1":                 `\u009b31m c1`,
		"\x9b31m a byte":               `\x9b31m a byte`,
		"a\u202eb\u2066c\u200bd\ufeff": `a\u202eb\u2066c\u200bd\ufeff`,
		"tag \U000e0041":               `tag \U000e0041`,
		"a\u2028b\u2029\x7f\x00":       `a\u2028b\u2029\u007f\u0000`,
		"dos\r\nover\rwritten\r":       "dos\r\nover\\rwritten\\r",
		"cut \xe2\x82":                 `cut \xe2\x82`,
		"wrong \xc3(":                  `wrong \xc3(`,
		"\ufffd stays":                 "\ufffd stays",
	} {
		if got := Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Line("a\r\nb\nc\td\re\x1b"); got != `a b c d e\u001b` {
		t.Errorf("%q", got)
	}
}

// Whatever is written, in whatever pieces, nothing steers but hotc's own sequences.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("a\x1b[31m\u202e\r\n\x9b"), uint8(1))
	f.Add([]byte("漢字 😀\xf0\x9f"), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		ink := NewInk()
		var whole, pieces bytes.Buffer
		for to, step := range map[*bytes.Buffer]int{&whole: len(text) + 1, &pieces: int(size)%7 + 1} {
			w := NewWriter(to, ink)
			w.Write([]byte(ink.Paint("31", "red")))
			for p := text; len(p) > 0; p = p[min(step, len(p)):] {
				if n, err := w.Write(p[:min(step, len(p))]); err != nil || n != min(step, len(p)) {
					t.Fatal(n, err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		got := whole.String()
		if got != pieces.String() {
			t.Errorf("in pieces %q, else %q", pieces.String(), got)
		}
		rest, own := strings.CutPrefix(got, "\x1b[31mred\x1b[0m")
		if !own {
			t.Errorf("hotc's own colour is lost: %q", got)
		}
		if !utf8.ValidString(rest) {
			t.Errorf("no UTF-8: %q", rest)
		}
		for _, r := range strings.ReplaceAll(rest, "\r\n", "\n") {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Errorf("%q steers: %q", r, rest)
			}
		}
		if strings.IndexFunc(string(text), Steers) < 0 && utf8.Valid(text) && rest != string(text) {
			t.Errorf("plain text is changed: %q, was %q", rest, text)
		}
	})
}

func TestInert(t *testing.T) {
	for text, want := range map[string]string{
		"::add-mask::e.yaml:2:3: error\n  a::b\n \t::warning::x\n": `\u003a:add-mask::e.yaml:2:3: error` + "\n  a::b\n \t" + `\u003a:warning::x` + "\n",
		"a ##[add-matcher]m": `a #\u0023[add-matcher]m`,
		"##vso[task.x]y":     `#\u0023vso[task.x]y`,
		"## a :: b\n":        "## a :: b\n",
		"":                   "",
	} {
		if got := Inert(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
