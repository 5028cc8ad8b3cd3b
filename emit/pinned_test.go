package emit_test

import (
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/judge"
)

// A parameter that is pinned leaves those alone that share its text, and keeps what it has
// of constraints, be it none.
func TestPinned(t *testing.T) {
	for _, name := range []string{"aliases", "constraints"} {
		t.Run(name, func(t *testing.T) {
			template := "testdata/pinned/" + name + ".yaml"
			o := options(template)
			o.Parameters = map[string]string{"p": "one", "r": "two", "s": "three"}
			r, found := compile(t, o)
			if r == nil {
				t.Fatal(found)
			}
			golden(t, "testdata/pinned/"+name+".stack", r.Folder["stack.yaml"])
			dir := filepath.Join(t.TempDir(), "out")
			if err := r.Folder.Write(dir); err != nil {
				t.Fatal(err)
			}
			stockHeat.Judge(t).Accepts(t, judge.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}})
		})
	}
}
