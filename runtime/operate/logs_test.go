package operate

import "testing"

func TestNewText(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "abc", "abc"},
		{"abc", "abc", ""},
		{"abc", "abcde", "de"},
		{"abcdef", "defgh", "gh"},
		{"abc", "xyz", gap + "xyz"},
	} {
		if got := string(newText([]byte(c.before), []byte(c.after))); got != c.want {
			t.Errorf("%q then %q: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}
