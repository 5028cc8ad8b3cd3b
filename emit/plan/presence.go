package plan

import (
	"encoding/json"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
)

// presence writes down what Heat decides of whether the server is there, and which
// decisions the server itself can tell.
func (w *serverWriter) presence() {
	path := string(w.out.Path)
	for _, p := range w.analysis.Presences[path] {
		w.out.If = append(w.out.If, contract.Presence{Decision: p.Decision.Key, Least: p.Member + 1, Why: p.Why, At: position(p.At.Portable())})
	}
	for _, x := range w.analysis.Witnesses[path] {
		if w.out.Decides == nil {
			w.out.Decides = map[string]json.RawMessage{}
		}
		w.out.Decides[x.Decision.Key] = w.residual(x.Expr)
	}
}

// residual is an expression as the agent evaluates it.
func (w *serverWriter) residual(e *hot.Expr) json.RawMessage {
	expr, _ := hot.EncodeResidual[string](binding.Slots(e, w.deploy))
	return expr
}
