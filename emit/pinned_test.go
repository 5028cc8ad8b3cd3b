package emit_test

import "testing"

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
			stockHeat.Oracle(t).Accepts(t, inputOf(t, r))
		})
	}
}
