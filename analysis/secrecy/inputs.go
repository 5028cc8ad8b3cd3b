package secrecy

import (
	"github.com/hotc-dev/hotc/analysis/trace"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Inputs knows which of a program's inputs are secret.
type Inputs struct {
	finder *trace.Finder
	known  map[*program.Input]bool
}

// OfInputs returns an Inputs that checks inputs on demand.
func OfInputs() *Inputs { return inputsBy(finder()) }

func inputsBy(f *trace.Finder) *Inputs { return &Inputs{finder: f, known: map[*program.Input]bool{}} }

// Secret says whether an input has a secret part: the tool should not pass it on where
// others can read it.
func (i *Inputs) Secret(in *program.Input) bool {
	secret, known := i.known[in]
	if !known {
		secret = i.finder.Find(in.Role.Stack, in.Expr) != nil
		i.known[in] = secret
	}
	return secret
}

// InFile is a secret input that the template of a role's file may read; nil if there is
// none.
func (i *Inputs) InFile(r *program.Role, f *program.RoleFile) *program.Input {
	reads := f.Reads(r)
	return lists.Find(r.Inputs, func(in *program.Input) bool { return reads[in.Name] && i.Secret(in) })
}

// ForHeat finds what must not be among the data that Heat shows of a stack: secrets,
// including those that Heat generates.
func ForHeat() *trace.Finder {
	f := finder()
	f.Wanted = func(o trace.Origin) bool { return isSecret(o) || o.Secret != nil }
	return f
}
