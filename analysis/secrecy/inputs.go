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

// InFile is a secret input that the template of a role's file may read; nil if there is
// none.
func (i *Inputs) InFile(r *program.Role, f *program.RoleFile) *program.Input {
	reads := f.Reads(r)
	for _, in := range r.Inputs {
		if reads[in.Name] && i.Secret(in) {
			return in
		}
	}
	return nil
}
