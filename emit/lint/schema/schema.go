// Package schema holds the JSON Schemas that hotc publishes, for editors and for programs that
// read its output.
package schema

import (
	_ "embed" // a schema
	"slices"

	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint"
)

type Schema struct {
	Name string
	// Of is what the schema describes.
	Of string
	// Text returns the schema for a cloud's resource types; nil means those of Debian's Heat.
	Text func(*resourcetype.Catalogue) []byte
}

//go:embed report.json
var report []byte

var All = slices.Concat([]Schema{
	{"template", "a HOT template, with the properties of stock Heat's resource types, or your cloud's", template},
}, lists.Map(emit.FrontEnds(nil), func(f *program.FrontEnd) Schema { return Schema{f.Name, f.About, fixed(f.Schema)} }), []Schema{
	{"config", ".hotc.yaml", fixed(lint.ConfigSchema)},
	{"lint", "what `hotc lint --json` prints", fixed(report)},
})

// fixed returns a schema that is the same for all clouds.
func fixed(text []byte) func(*resourcetype.Catalogue) []byte {
	return func(*resourcetype.Catalogue) []byte { return text }
}
