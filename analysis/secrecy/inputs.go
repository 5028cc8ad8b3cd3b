package secrecy

import (
	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Inputs tells which of a program's inputs are secret.
type Inputs struct{ finder *trace.Finder }

// OfInputs looks at a program.
func OfInputs(p *program.Program) *Inputs { return &Inputs{finder(p)} }

// Secret says that an input has a secret part: the tool should not pass it on where
// others can read it.
func (i *Inputs) Secret(in *program.Input) bool {
	return i.finder.Find(in.Role.Server.Stack, in.Expr) != nil
}
