package role

import (
	"encoding/json"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
)

// Decided evaluates a decision of Heat about the stack's topology from the deploy-time
// values of the server's boot file.
func Decided(expr json.RawMessage, deploy map[string]json.RawMessage) (json.RawMessage, error) {
	e, err := hot.ParseResidual(expr, nil)
	if err != nil {
		return nil, err
	}
	return e.Eval(bootValues(deploy))
}

// bootValues resolves expressions without cells.
type bootValues map[string]json.RawMessage

func (b bootValues) Cell(name contract.CellName) (json.RawMessage, error) {
	return nil, fmt.Errorf("a decision of Heat cannot depend on the value %s", name)
}

func (b bootValues) Deploy(key string) (json.RawMessage, error) {
	value, there := b[key]
	if !there {
		return nil, noDeployValue(key)
	}
	return value, nil
}

func noDeployValue(key string) error {
	return fmt.Errorf("this server's user-data has no value %s: it is from an older template", key)
}

// isThere reports whether Heat created the server that writes a dependency's cell.
func (l *life) isThere(test json.RawMessage) (bool, error) {
	if test == nil {
		return true, nil
	}
	value, err := Decided(test, l.host.Deploy)
	return err == nil && string(value) == "true", err
}
