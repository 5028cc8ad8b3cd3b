package seal_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/seal"
)

func newKey(t *testing.T) seal.Key {
	t.Helper()
	k, err := seal.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A value goes through a box and a wrapped key to the one that it is for.
func TestRoundTrip(t *testing.T) {
	for _, value := range []string{"", `"s3cret"`, strings.Repeat("x", 1<<20)} {
		reader := newKey(t)
		box, content, err := seal.Close([]byte(value), "cell")
		if err != nil {
			t.Fatal(err)
		}
		wrapped, err := content.Wrap(reader.Public(), "cell for reader")
		if err != nil {
			t.Fatal(err)
		}
		text, err := reader.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := seal.ParseKey(text) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		opener, err := again.Unwrap(wrapped, "cell for reader")
		if err != nil {
			t.Fatal(err)
		}
		got, err := opener.Open(box, "cell")
		if err != nil || string(got) != value {
			t.Fatalf("%d bytes came back as %d (%v)", len(value), len(got), err)
		}
	}
}

// Nobody else opens it, it opens nowhere else, and a changed bit is noticed.
func TestWhatDoesNotOpen(t *testing.T) {
	reader, other := newKey(t), newKey(t)
	box, content, _ := seal.Close([]byte("s3cret"), "cell")
	wrapped, err := content.Wrap(reader.Public(), "place")
	if err != nil {
		t.Fatal(err)
	}
	_, otherContent, _ := seal.Close([]byte("s3cret"), "cell")
	for what, try := range map[string]func() error{
		"another server's key":    func() error { _, err := other.Unwrap(wrapped, "place"); return err },
		"no key":                  func() error { _, err := seal.Key{}.Unwrap(wrapped, "place"); return err },
		"another reader's":        func() error { _, err := reader.Unwrap(wrapped, "elsewhere"); return err },
		"a changed wrapped key":   func() error { _, err := reader.Unwrap(flip(wrapped), "place"); return err },
		"text that is not base64": func() error { _, err := reader.Unwrap("%", "place"); return err },
		"an empty wrapped key":    func() error { _, err := reader.Unwrap("", "place"); return err },
		"another cell":            func() error { _, err := content.Open(box, "cell2"); return err },
		"another box's key":       func() error { _, err := otherContent.Open(box, "cell"); return err },
		"a changed box":           func() error { _, err := content.Open(flip(box), "cell"); return err },
		"no box":                  func() error { _, err := content.Open("", "cell"); return err },
	} {
		if err := try(); !errors.Is(err, seal.ErrNotOpened) {
			t.Errorf("%s: %v, want ErrNotOpened", what, err)
		}
	}
	for _, text := range []string{"%", "", "AAAA"} {
		if _, err := seal.ParseKey(text); err == nil {
			t.Errorf("%q is a private key", text)
		}
		if _, err := content.Wrap(text, "place"); err == nil {
			t.Errorf("%q is a public key", text)
		}
	}
}

func flip(text string) string {
	with := "A"
	if text[10] == 'A' {
		with = "B"
	}
	return text[:10] + with + text[11:]
}

// However a key is printed, it stays secret.
func TestKeysDoNotPrint(t *testing.T) {
	k := newKey(t)
	_, content, _ := seal.Close(nil, "")
	for _, v := range []any{k, content, &k, &content} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if got := fmt.Sprintf(verb, v); got != "(key)" {
				t.Errorf("%s prints %q", verb, got)
			}
		}
	}
}
