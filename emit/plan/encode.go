package plan

import (
	"encoding/json"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Encode writes a plan as plan.json: indented, so that two plans can be compared
// line by line.
func Encode(p *contract.Plan) ([]byte, error) {
	whole := *p
	if whole.Servers == nil {
		whole.Servers = []contract.Server{}
	}
	if whole.Cells == nil {
		whole.Cells = []contract.Cell{}
	}
	text, err := json.MarshalIndent(&whole, "", " ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
