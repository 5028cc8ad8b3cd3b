// Package script is the compiler's half of the script driver: the source is a
// program's text with a `#!` line, or without one for /bin/sh.
//
// A shell script is written as if every input were an environment variable. Those that
// arrive while it runs are unset when it starts; the script is rewritten to wait for
// each right before the first statement that may read it, and to publish each output
// that it assigns after the last assignment. This must not change what the script does,
// so:
//
//   - survey.go inspects the whole script once: its functions, its traps, and whatever
//     makes inserted commands observable (then all is awaited at the start).
//   - look.go finds what one statement itself reads; if names are computed, everything
//     that they may refer to. shell.go lists the programs that read nothing from their
//     environment.
//   - place.go finds the innermost statement that a wait may precede, and leaves out
//     waits that are certainly over; a repeated wait does nothing, so in doubt there may
//     be two.
//   - assign.go does the same for outputs, from the end to the start.
//   - rewrite.go inserts the calls, on the statement's own line. They preserve `$?` and
//     read nothing. The result is parsed again and compared.
//
// A script in another language is not rewritten: environment.go finds what it reads from
// its environment, which the agent awaits before it starts the script.
//
// The order of reads and writes (reads*.go) is found on the same tree with the same
// waits, so that the deadlock analysis sees what will run. All of this is computed once
// for all roles with the same script and the same names.
package script

import (
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Driver is the script driver.
var Driver = driver.Driver{Name: "script", Lower: lower}

var form = driver.Form{Driver: "script", Needs: "a script", Takes: "a script's text", Hint: "`source: {get_file: setup.sh}`, or the text itself"}

// lower reads the script, which travels as one file.
func lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	text := ""
	reading := driver.NewReading(role, diags)
	reading.Open(&form, func(t string) { text = t }, nil)
	line, _, _ := strings.Cut(text, "\n")
	switch {
	case reading.Failed:
		return nil
	case strings.TrimSpace(text) == "":
		reading.Wrong(nil, "", "the script of role %q is empty", role.Name)
		return nil
	case strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "\r"):
		reading.Wrong(nil, "save it with LF line endings", "the script of role %q has CRLF line endings: the interpreter %q will not be found", role.Name, strings.TrimPrefix(line, "#!"))
		return nil
	}
	meaning := &program.Meaning{}
	needed := fromStart(role, text, meaning)
	asIs := driver.Once(role.Memory, asWritten{role.SourceFile, text, strings.Join(needed, "\x00")}, func() travelling {
		return travel(role.SourceFile, text, false, needed)
	})
	meaning.Source, meaning.Files = asIs.source, asIs.files
	shell := read(role, text)
	switch {
	case shell == nil:
	case shell.refusal != nil:
		refuse(role, shell.places, shell.refusal, diags)
	default:
		for _, w := range shell.survey.surplus {
			diags.Error(source.BadScript, shell.places.Place(uint32(w.Pos().Offset()), uint32(w.End().Offset())), fmt.Sprintf("the script of role %q passes hotc-agent one argument too many: get and put take a name", role.Name),
				"put reads the value from standard input: printf %s VALUE | hotc-agent put NAME")
		}
		meaning.Sequence, meaning.Finish = shell.sequence, shell.finish
	}
	return meaning
}

// travelling is a script in the form that goes into the plan.
type travelling struct {
	source value.Value
	files  []program.File
}

// asWritten is the key of a script that travels unmodified.
type asWritten struct{ name, text, environment string }

// travel prepares a script for the plan. Waits is set if it calls the wait functions;
// environment are the inputs that must be in its environment when it starts.
func travel(name, text string, waits bool, environment []string) travelling {
	file := driver.NewFile(name, []byte(text))
	src := value.NewDict()
	src.Set("file", file.Digest)
	if waits {
		src.Set("waits", true)
	}
	if len(environment) > 0 {
		src.Set("environment", value.Texts(environment))
	}
	return travelling{src, []program.File{file}}
}
