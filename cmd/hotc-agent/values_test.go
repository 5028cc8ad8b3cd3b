package main

import (
	"strings"
	"testing"
)

// What programs print of one line is published without its line end.
func TestASingleLineLosesItsEnd(t *testing.T) {
	for text, want := range map[string]string{
		"vm\n": "vm", "vm": "vm", "": "", "\n": "", "\n\n": "\n\n", "a\nb\n": "a\nb\n", "a\nb": "a\nb", "vm\r\n": "vm\r", " vm \n": " vm ",
	} {
		if got := string(withoutLineEnd([]byte(text))); got != want {
			t.Errorf("%q is published as %q, want %q", text, got, want)
		}
	}
}

// With --lines, each item of a list is a line; what would not be is refused.
func TestItemsAsLines(t *testing.T) {
	for value, want := range map[string]string{
		`["a","b c"]`: "a\nb c\n", `[1,true,{"x":[1]}]`: "1\ntrue\n{\"x\":[1]}\n", `[]`: "", `["a",""]`: "a\n\n",
		`["a","b\nc"]`: "error: has a line end in item 1", `"a"`: "error: is not a list", `{"a":1}`: "error: is not a list", `null`: "error: is not a list",
	} {
		got, err := itemLines([]byte(value))
		text := string(got)
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != want && (err == nil || !strings.HasPrefix(text, want)) {
			t.Errorf("%s is printed as %q, want %q", value, text, want)
		}
	}
}
