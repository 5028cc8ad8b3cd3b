// Package driver is the compiler's half of a driver: what a role's source means for one
// tool. The other half, how the tool is run, is in runtime/driver.
package driver

import (
	"io/fs"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Driver interprets the sources of roles for one tool. Each has a folder here and one
// line in the list of cmd/hotc.
type Driver struct {
	// Name is what `driver:` says.
	Name string
	// Lower checks a role's source and returns its meaning; nil, with a diagnostic, if it
	// is invalid.
	Lower func(role Role, diags *source.Diagnostics) *program.Meaning
	// InstallsFrom are the values of `install: {from: …}`, besides "none", by which the agent
	// can install the tool; the first is the default. Nil if it cannot install the tool.
	InstallsFrom []string
	// CheckResource checks the name of one of the tool's resources, whose completion an
	// output can report: `outputs: {up: {resource: "service[mysql]"}}`. The output is written,
	// as true, when the tool has applied the resource successfully; never if the resource
	// fails. Nil for a tool without resources.
	CheckResource func(name string) error
	// CheckLicence checks the value of `install: {licence: …}`, for a tool whose licence only
	// its user can accept; nil for others.
	CheckLicence func(licence string) error
	// Find is set in the one entry that stands for all plug-ins, which the driver of that
	// entry's name runs on the server: it finds the plug-in of a name, or returns nil.
	// Elsewhere means that its executable reaches the server in another way than with the
	// plan, and need not be here. Program returns the executable's name.
	Find    func(name string, elsewhere bool) *Driver
	Program func(name string) string
}

// Role is a driver's view of a role.
type Role struct {
	Name string
	At   source.Place
	// Source is the value of `source:`, evaluated; nil if there is none.
	Source   value.Value
	SourceAt source.Place
	// SourceFile is the name of the file that Source was read from, if any.
	SourceFile string
	// Locate returns the place of a part of the source, by its keys; if it was computed,
	// that of the enclosing part.
	Locate func(keys ...string) source.Place
	// FileOf returns the name of the file that a part of the source was read from, by its
	// keys; "" if there is none.
	FileOf func(keys ...string) string
	// Inputs and Outputs are what the role declares, in source order, without the outputs
	// that have a value, as no role writes those. Which inputs are known before the role
	// runs is decided later.
	Inputs  []*program.Input
	Outputs []*program.Output
	// Reader reads what the source names beside the template, which is in Folder: in roles
	// with the same Folder, the same names are the same files.
	Reader Reader
	Folder string
	// Memory is shared by all roles of the program.
	Memory *Memory
}

// Reader reads what a source names, relative to its template's folder. Errors are
// diagnostics without a place.
type Reader interface {
	// File reads a file.
	File(name string) ([]byte, error)
	// Folder opens a folder, and nothing outside it.
	Folder(name string) (fs.FS, error)
}

// Input returns the declared input of a name, or nil.
func (r Role) Input(name string) *program.Input {
	return lists.Find(r.Inputs, func(in *program.Input) bool { return in.Name == name })
}

// Output returns the declared output of a name, or nil.
func (r Role) Output(name string) *program.Output {
	return lists.Find(r.Outputs, func(o *program.Output) bool { return o.Name == name })
}

// namesFile reports whether an inline source is in fact the name of a file beside the
// template, whose content was probably meant.
func (r Role) namesFile(text string) bool {
	if r.SourceFile != "" || strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \t\n;|&$(){}=") || !strings.ContainsAny(text, "./") {
		return false
	}
	_, err := r.Reader.File(text)
	return err == nil
}

// KeyHint is the hint for an unknown key of a source.
func KeyHint(key string, known []string) string {
	return hot.DidYouMean(key, known, "the keys are "+strings.Join(known, ", "))
}
