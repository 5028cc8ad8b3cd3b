package userdata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/cloudinit"
)

// Own is the kind of a user's own user-data on a server: its form in the archive beside hotc's.
type Own int

const (
	// NoOwn is none.
	NoOwn Own = iota
	// Text is ASCII text of any type that cloud-init recognizes by its first line: #!,
	// #cloud-config, #cloud-boothook, #include, #part-handler, #cloud-config-archive, "##
	// template: jinja".
	Text
	// Quoted is text with other characters. The value inserted for UserKey is not the text but
	// {str_replace: {template: TEXT, params: Quotes(TEXT)}}.
	Quoted
	// Archive is a MIME archive.
	Archive
	// CfnTools is what Heat's cfntools run, possibly nothing: hotc's file is then a script
	// instead of an archive.
	CfnTools
)

// String returns the kind as part of a file name.
func (o Own) String() string {
	return [...]string{"none", "text", "quoted", "archive", "cfntools"}[o]
}

// header returns the part's header; ok is false if there is no such part.
func (o Own) header() (header string, ok bool) {
	switch o {
	case Text:
		return "Content-Type: text/plain; charset=\"us-ascii\"\n\n", true
	case Quoted:
		return "Content-Type: text/plain; charset=\"utf-8\"\nContent-Transfer-Encoding: quoted-printable\n\n", true
	case Archive:
		return "", true // it has its own
	}
	return "", false
}

// OwnOf returns the kind of a user's own user-data, from what the compiler knows of the text:
// its static pieces in order, starting with its beginning. An unknown text counts as Text. The
// error says why a text cannot be in an archive.
func OwnOf(static string) (Own, error) {
	if strings.Contains(static, "--"+Boundary) {
		return NoOwn, fmt.Errorf("contains %q, which separates the parts of hotc's own user-data", "--"+Boundary)
	}
	if cloudinit.IsArchive(static) {
		return Archive, nil
	}
	for _, r := range static {
		if r >= 0x80 {
			return Quoted, nil
		}
	}
	return Text, nil
}

// Quote is an entry of str_replace's params: a character and its quoted-printable form.
type Quote struct{ Char, Form string }

// Quotes are what Heat has to replace in a text with these static pieces for a quoted-printable
// part: "=" and each character beyond ASCII, sorted. Such characters in values that Heat fills
// in at deploy time are unknown, and cloud-init corrupts them.
func Quotes(static string) []Quote {
	quotes := []Quote{{Char: "=", Form: "=3D"}}
	for _, r := range static {
		if r < 0x80 {
			continue
		}
		q := Quote{Char: string(r)}
		for _, c := range []byte(q.Char) {
			q.Form += fmt.Sprintf("=%02X", c)
		}
		quotes = append(quotes, q)
	}
	slices.SortFunc(quotes, func(a, b Quote) int { return strings.Compare(a.Char, b.Char) })
	return slices.Compact(quotes)
}
