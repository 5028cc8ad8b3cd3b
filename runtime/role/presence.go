package role

import (
	"encoding/json"
	"fmt"

	"github.com/hotc-dev/hotc/compiler/hot"
)

// Decided is what Heat decided of the stack's topology, computed from the deploy-time
// values of the server's boot file.
func Decided(expr json.RawMessage, deploy map[string]json.RawMessage) (json.RawMessage, error) {
	e, err := hot.ParseResidual(expr, nil)
	if err != nil {
		return nil, err
	}
	return e.Eval(bootValues(deploy))
}

// bootValues resolves what needs no cell.
type bootValues map[string]json.RawMessage

func (b bootValues) Cell(name string) (json.RawMessage, error) {
	return nil, fmt.Errorf("what Heat decides cannot need the value %s", name)
}

func (b bootValues) Deploy(key string) (json.RawMessage, error) {
	value, there := b[key]
	if !there {
		return nil, noDeployValue(key)
	}
	return value, nil
}

func noDeployValue(key string) error {
	return fmt.Errorf("this server's user-data has no value %s: it was made from an older template", key)
}

// isThere says whether Heat made who has to write what a dependency waits for.
func (l *life) isThere(test json.RawMessage) (bool, error) {
	if test == nil {
		return true, nil
	}
	value, err := Decided(test, l.host.Deploy)
	return err == nil && string(value) == "true", err
}
