// Package driver is the compiler's half of a driver: what the source of a role
// means for one tool. The other half, how the tool is run, is in runtime/driver.
package driver

import (
	"fmt"
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
type Driver interface {
	// Name is what `driver:` says.
	Name() string
	// Lower checks a role's source and returns its meaning; nil with a diagnostic if
	// there is none.
	Lower(role Role, diags *source.Diagnostics) *program.Meaning
}

// Resources is what a driver is, too, whose tool has resources that an output can
// be the completion of: `outputs: {up: {resource: "service[mysql]"}}`. Such an
// output is true, at the moment at which the tool has applied the resource
// successfully. A failure of the resource leaves it empty.
type Resources interface {
	// CheckResource says what is wrong with a resource's name, as the tool writes
	// it; nil when nothing is.
	CheckResource(name string) error
}

// Installable is what a driver is whose tool the agent can install.
type Installable interface {
	// InstallsFrom are the kinds of `install: {from: …}` that it knows, besides
	// "none". The first one is used where none is named.
	InstallsFrom() []string
}

// Licensed is what an Installable driver is whose tool has a licence that only its
// user can accept.
type Licensed interface {
	// CheckLicence says what is wrong with the words of `install: {licence: …}`; nil
	// when nothing is.
	CheckLicence(licence string) error
}

// Finder stands in the list of drivers for those that are not hotc's own: plug-ins.
// On the server all of them are run by the driver of the Finder's name.
type Finder interface {
	Driver
	// Find finds the driver of a name; nil is none. Elsewhere says that its program
	// gets onto the server in another way than with the plan, and need not be here.
	Find(name string, elsewhere bool) Driver
	// Program is how the program of a name is called.
	Program(name string) string
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

// NamesFile says of a source that is a text of its tool whether it is the name of a file
// beside the template, where the file's text was meant.
func (r Role) NamesFile(diags *source.Diagnostics) bool {
	name, is := r.Source.(string)
	if !is || r.SourceFile != "" || strings.HasPrefix(name, "/") || strings.ContainsAny(name, " \t\n;|&$(){}=") || !strings.ContainsAny(name, "./") {
		return false
	}
	if _, err := r.Reader.File(name); err != nil {
		return false
	}
	diags.Error(source.BadSource, r.SourceAt, fmt.Sprintf("the source of role %q is this text itself, and not the file of that name", r.Name), fmt.Sprintf("write {get_file: %s}", name))
	return true
}

// KeyHint is what to do about a key of a source that is none of those it may have.
func KeyHint(key string, known []string) string {
	return hot.Meant(key, known, "the keys are "+strings.Join(known, ", "))
}
