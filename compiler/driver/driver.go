// Package driver is the compiler's half of a driver: what the source of a role
// means for one tool. The other half, how the tool is run, is in runtime/driver.
package driver

import (
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Driver says what a role's source means. A driver has a folder of its own here
// and one line in the list of cmd/hotc.
type Driver interface {
	// Name is what `driver:` says.
	Name() string
	// Lower checks a role's source and returns its meaning; nil with a diagnostic if
	// there is none.
	Lower(role Role, diags *source.Diagnostics) *program.Meaning
}

// Role is what a driver gets to see of a role.
type Role struct {
	Name string
	At   source.Place
	// Source is the value of `source:`, evaluated; nil if there is none.
	Source   hot.Value
	SourceAt source.Place
	// SourceFile is the name of the file that Source is the text of, if it is one's.
	SourceFile string
}
