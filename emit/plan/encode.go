package plan

import (
	"encoding/json"

	"github.com/hotc-dev/hotc/coordinator/plan"
)

// Encode writes a plan as plan.json: indented, so that two plans can be compared
// line by line.
func Encode(p *plan.Plan) ([]byte, error) {
	whole := *p
	if whole.Servers == nil {
		whole.Servers = []plan.Server{}
	}
	if whole.Cells == nil {
		whole.Cells = []plan.Cell{}
	}
	text, err := json.MarshalIndent(&whole, "", " ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
