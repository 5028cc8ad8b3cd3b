package main

import "testing"

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
