package status

import (
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Stack is what Heat itself says of the stack; zero if nobody has asked.
type Stack struct {
	State string `json:"state,omitempty"`
	// Since is when the stack's last action began.
	Since time.Time `json:"since,omitzero"`
	// Reason is why that failed.
	Reason string `json:"reason,omitempty"`
	// Unknown is why the state is not known, Unasked that no cloud is selected.
	Unknown string `json:"unknown,omitempty"`
	Unasked bool   `json:"-"`
}

// InProgress reports whether Heat is known to work on the stack.
func (s *Stack) InProgress() bool { return strings.HasSuffix(s.State, "_IN_PROGRESS") }

// cells returns the current cells that a role follows. The values from Heat are those that a relay
// has written; without one, those with which the role has run.
func (r *Role) cells(v *Status) func(contract.CellName) protocol.CellRecord {
	heat := r.Server.Heat
	return func(name contract.CellName) protocol.CellRecord {
		key, heats := name.HeatKey()
		if !heats {
			return v.Cell(name)
		}
		if value, told := heat.Values[key]; told && heat.Instance == r.Server.Incarnation.Instance {
			return protocol.HeatRecordOf(value, heat.Number)
		}
		at, had := r.Followed[name]
		if !had {
			return protocol.CellRecord{State: protocol.Empty}
		}
		return protocol.CellRecord{State: protocol.Valued, Incarnation: at[0], Version: at[1], Stamp: protocol.Stamp{contract.HeatSource: {0, int(heat.Number)}}}
	}
}

// heatName is a cell's name in messages: for a value from Heat, its expression as in templates.
func (s *Server) heatName(cell contract.CellName) string {
	if name, is := cell.Parameter(); is {
		return "secret parameter " + name
	}
	key, heats := cell.HeatKey()
	if !heats {
		return string(cell)
	}
	return plain.Replace(string(s.plan.Deploy[key].Expr))
}

// plain turns a JSON expression into YAML flow style.
var plain = strings.NewReplacer(`"`, "", ":", ": ", ",", ", ")
