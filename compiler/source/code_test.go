package source

import (
	"os"
	"regexp"
	"testing"
)

// A code means one thing.
func TestCodesAreDifferent(t *testing.T) {
	text, err := os.ReadFile("code.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`Code = "(H\d+)"`).FindAllStringSubmatch(string(text), -1) {
		if seen[m[1]] {
			t.Errorf("%s stands twice", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) < 50 {
		t.Errorf("only %d codes were found", len(seen))
	}
}
