// Package schema holds the JSON Schemas that hotc publishes: for editors, and for programs
// that read what it writes.
package schema

import (
	_ "embed" // a schema
	"slices"

	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/emit/lint"
)

// Schema is one of them.
type Schema struct {
	Name string
	// Of says what fits it.
	Of   string
	Text func() []byte
}

//go:embed report.json
var report []byte

// All are the schemas.
var All = []Schema{
	{"template", "a HOT template, with the properties of stock Heat's resource types", template},
	{"metadata", "the hotc block in a server's metadata", func() []byte { return roles.Schema }},
	{"config", ".hotc.yaml", func() []byte { return lint.ConfigSchema }},
	{"lint", "what `hotc lint --json` prints", func() []byte { return report }},
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
