package secrecy

import "github.com/hotc-dev/hotc/compiler/program"

// OfInput says that a role's input has a secret part: the tool should not pass it
// on where others can read it.
func OfInput(p *program.Program, in *program.Input) bool {
	return (&tracer{program: p}).trace(in.Expr, nil) != nil
}
