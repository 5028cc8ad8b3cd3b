package store

import "strings"

// ShownURL is a coordinator's URL for messages: without the options that it may carry, such as
// certificates of some thousand characters, or a password (no back end takes one).
func ShownURL(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		scheme, rest = "", url
	}
	if scheme == "unix" { // a path, with any character
		return url
	}
	rest, _, _ = strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = "…" + rest[at:]
	}
	if !ok {
		return rest
	}
	return scheme + "://" + rest
}

// URLError says what is wrong with a coordinator's URL itself, or with a file that it names: no
// server was contacted, and retrying does not help.
type URLError struct {
	URL string
	Err error
}

func (e *URLError) Error() string {
	if e.URL == "" {
		return e.Err.Error()
	}
	return ShownURL(e.URL) + ": " + e.Err.Error()
}

func (e *URLError) Unwrap() error { return e.Err }
