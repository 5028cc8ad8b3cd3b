package status

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// cells are those that a role follows as they are now. What Heat gives its server stands in
// what a relay has written; where none has, the role has run with what is.
func (r *Role) cells(v *Status) func(contract.CellName) coordinator.CellRecord {
	heat := r.Server.Heat
	return func(name contract.CellName) coordinator.CellRecord {
		key, heats := name.HeatKey()
		if !heats {
			return v.Cell(name)
		}
		if value, told := heat.Values[key]; told && heat.Instance == r.Server.Incarnation.Instance {
			return coordinator.HeatRecordOf(value, heat.Number)
		}
		at, had := r.Followed[name]
		if !had {
			return coordinator.CellRecord{State: coordinator.Empty}
		}
		return coordinator.CellRecord{State: coordinator.Valued, Incarnation: at[0], Version: at[1], Stamp: coordinator.Stamp{contract.HeatSource: {0, int(heat.Number)}}}
	}
}

// heatName is what a cell is called: one that stands for what Heat gives, as templates say that.
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

// plain makes an expression in JSON one as people write it.
var plain = strings.NewReplacer(`"`, "", ":", ": ", ",", ", ")
