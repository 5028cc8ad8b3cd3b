package emit_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Each of these ended in a mistake of hotc's own once: it is compiled, or refused with
// what the user can mend.
func TestNoMistakes(t *testing.T) {
	cases, err := filepath.Glob("testdata/mistakes/*.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, template := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(template), ".yaml"), func(t *testing.T) {
			r, found := compile(t, options(template))
			if strings.Contains(found, string(source.Internal)) {
				t.Error(found)
			}
			if r != nil {
				found += "compiled\n"
			}
			golden(t, strings.TrimSuffix(template, ".yaml")+".out", []byte(found))
		})
	}
}
