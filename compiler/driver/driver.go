// Package driver is the compiler's half of a driver: what the source of a role
// means for one tool. The other half, how the tool is run, is in runtime/driver.
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

// Driver says what a role's source means. A driver has a folder of its own here
// and one line in the list of cmd/hotc.
type Driver struct {
	// Name is what `driver:` says.
	Name string
	// Lower checks a role's source and returns its meaning; nil with a diagnostic if
	// there is none.
	Lower func(role Role, diags *source.Diagnostics) *program.Meaning
	// InstallsFrom are the kinds of `install: {from: …}` by which the agent can install the
	// tool, besides "none"; the first where none is named. Nil is a tool that it cannot install.
	InstallsFrom []string
	// CheckResource says what is wrong with the name of one of the tool's resources, that an
	// output can be the completion of: `outputs: {up: {resource: "service[mysql]"}}`. Such an
	// output is true, at the moment at which the tool has applied the resource
	// successfully. A failure of the resource leaves it empty. Nil is a tool without any.
	CheckResource func(name string) error
	// CheckLicence says what is wrong with the words of `install: {licence: …}`, for a tool
	// whose licence only its user can accept; nil for others.
	CheckLicence func(licence string) error
	// Find is set in the one entry of the list that stands for all plug-ins, which on the
	// server are run by the driver of its name: it finds that of a name; nil is none.
	// Elsewhere says that its program gets onto the server in another way than with the plan,
	// and need not be here. Program is how that of a name is called.
	Find    func(name string, elsewhere bool) *Driver
	Program func(name string) string
}

// Role is what a driver gets to see of a role.
type Role struct {
	Name string
	At   source.Place
	// Source is the value of `source:`, evaluated; nil if there is none.
	Source   value.Value
	SourceAt source.Place
	// SourceFile is the name of the file that Source is the text of, if it is one's.
	SourceFile string
	// Locate is where a part of the source stands, by its keys; where that was
	// computed, the place of what it is part of.
	Locate func(keys ...string) source.Place
	// FileOf is the name of the file that a part of the source is the text of, by its
	// keys; "" where it is none's.
	FileOf func(keys ...string) string
	// Inputs and Outputs are what the role declares, in the order of the text.
	// Outputs with a value are not among them: nobody writes those. Which inputs are
	// known before the role runs is decided later.
	Inputs  []*program.Input
	Outputs []*program.Output
	// Reader reads what the source names beside the template, which lies in Folder: roles
	// whose Folder is the same mean the same files by the same names.
	Reader Reader
	Folder string
	// Memory is that of all roles of the program.
	Memory *Memory
}

// Reader reads what a source names, by names relative to its template's folder.
// Errors are diagnostics without a place.
type Reader interface {
	// File reads a file.
	File(name string) ([]byte, error)
	// Folder opens a folder. What is read through it never lies outside.
	Folder(name string) (fs.FS, error)
}

// Input finds a declared input; nil if there is none of that name.
func (r Role) Input(name string) *program.Input {
	return lists.Find(r.Inputs, func(in *program.Input) bool { return in.Name == name })
}

// Output finds a declared output; nil if there is none of that name.
func (r Role) Output(name string) *program.Output {
	return lists.Find(r.Outputs, func(o *program.Output) bool { return o.Name == name })
}

// namesFile says of a source that is a text of its tool whether it is the name of a file
// beside the template, where the file's text was meant.
func (r Role) namesFile(text string) bool {
	if r.SourceFile != "" || strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \t\n;|&$(){}=") || !strings.ContainsAny(text, "./") {
		return false
	}
	_, err := r.Reader.File(text)
	return err == nil
}

// KeyHint is what to do about a key of a source that is none of those it may have.
func KeyHint(key string, known []string) string {
	return hot.Meant(key, known, "the keys are "+strings.Join(known, ", "))
}
