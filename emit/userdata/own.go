package userdata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/cloudinit"
)

// Own is the kind of user-data that the user has given a server himself: how it
// lies in the archive beside hotc's.
type Own int

const (
	// NoOwn is none.
	NoOwn Own = iota
	// Text is a text in ASCII of any type that cloud-init knows by its first line:
	// #!, #cloud-config, #cloud-boothook, #include, #part-handler,
	// #cloud-config-archive, "## template: jinja".
	Text
	// Quoted is a text with other characters. What is inserted for UserKey is not
	// the text but {str_replace: {template: TEXT, params: Quotes(TEXT)}}.
	Quoted
	// Archive is a MIME archive.
	Archive
	// CfnTools is what Heat's cfntools run, perhaps nothing: there hotc's file is no
	// archive but a script.
	CfnTools
)

// String is the kind as part of a file's name.
func (o Own) String() string {
	return [...]string{"none", "text", "quoted", "archive", "cfntools"}[o]
}

// header is the part's header; ok is false if there is no such part.
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

// OwnOf is the kind of a user's own user-data, from what the compiler knows of the text: its static
// pieces in their order, the first one being its beginning. A text of which nothing is known counts
// as Text. The error says why a text cannot lie in an archive.
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

// Quote is one entry of str_replace's params: a character and its form in quoted-printable.
type Quote struct{ Char, Form string }

// Quotes are what Heat has to replace in a text with these static pieces so that it can lie in a
// quoted-printable part: "=" and each character beyond ASCII, sorted. Characters beyond ASCII in
// what Heat fills in at deploy time are not known, and cloud-init spoils them.
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
