// Package script is the compiler's half of the script driver: the source is a
// program's text with a `#!` line, or without one for /bin/sh.
package script

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// Driver is the script driver.
type Driver struct{}

// Name is "script".
func (Driver) Name() string { return "script" }

// Lower takes the script's text; it travels as one file.
func (Driver) Lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	text, ok := role.Source.(string)
	switch {
	case role.Source == nil:
		diags.Error(source.BadSource, role.At, fmt.Sprintf("role %q has no source: the script driver needs a script", role.Name),
			"`source: {get_file: setup.sh}`, or the text itself")
		return nil
	case !ok:
		diags.Error(source.BadSource, role.SourceAt, fmt.Sprintf("the source of role %q must be a script's text, not %s", role.Name,
			hot.TypeName(role.Source)), "`source: {get_file: setup.sh}`, or the text itself")
		return nil
	case strings.TrimSpace(text) == "":
		diags.Error(source.BadSource, role.SourceAt, fmt.Sprintf("the script of role %q is empty", role.Name), "")
		return nil
	}
	if line, _, _ := strings.Cut(text, "\n"); strings.HasPrefix(line, "#!") && strings.HasSuffix(line, "\r") {
		diags.Error(source.BadSource, role.SourceAt, fmt.Sprintf("the script of role %q has CRLF line ends: no interpreter %q will be found",
			role.Name, strings.TrimPrefix(line, "#!")), "save it with LF line ends")
		return nil
	}
	sum := sha256.Sum256([]byte(text))
	file := program.File{Name: role.SourceFile, Digest: hex.EncodeToString(sum[:]), Data: []byte(text)}
	meaning := hot.NewDict()
	meaning.Set("file", file.Digest)
	return &program.Meaning{Source: meaning, Files: []program.File{file}, Sequence: sequence(role, text, diags)}
}
