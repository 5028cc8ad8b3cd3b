package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// What Heat waits for, with a relay, as it stands in the input values of the software
// deployments of the emitted templates (docs/relay.md).

// HeatWaitFormat is the format of HeatWait.
const HeatWaitFormat = 1

// HeatWait are the input values of such a deployment, as Heat has resolved them.
type HeatWait struct {
	About   HeatWaitAbout `json:"hotc"`
	Servers HeatServers   `json:"servers"`
}

// HeatWaitAbout says whose wait it is.
type HeatWaitAbout struct {
	Format     int    `json:"format"`
	Deployment string `json:"deployment"` // the root stack's name
	// Stack is the path of the stack that it lies in, "" for the root; Wait its resource.
	Stack string `json:"stack,omitempty"`
	Wait  string `json:"wait"`
	// Role is the one that is waited for, of each server; "" for all of them.
	Role string `json:"role,omitempty"`
	// Roles is Plan.Definitions, in the root's wait for all roles: where an update changes it, Heat
	// waits again, and reads the stack's outputs again.
	Roles string `json:"roles,omitempty"`
	// Here says that it waits for nobody: it says that the member of a group is there.
	Here bool `json:"here,omitempty"`
}

// HeatServer is a server that the stack has now.
type HeatServer struct {
	// Server is its path. Members of a group that scales share one, with AnyMember in it.
	Server ServerPath `json:"server"`
	ID     string     `json:"id"` // Nova's
	// Values are those of Server.Deploy that are carried, by key; nil where Heat gives none.
	Values map[string]json.RawMessage `json:"values,omitempty"`
}

// HeatSource is the source of all that Heat gives: its number grows with each change.
const HeatSource Source = "/heat"

// PlanSource is the source of a change of the plan that reaches a role by several ways: its
// number is the counter of the change.
const PlanSource Source = "/plan"

// heatCell begins the names of the cells that stand for what Heat gives a server.
const heatCell = string(HeatSource) + ":"

// WaitType is the type of what a relay ends. Agents signal a condition of the same name.
const WaitType = "OS::Heat::SoftwareDeployment"

// DoneWait is what Heat waits by for all roles: a condition or, with a relay, a software deployment.
const DoneWait = "hotc_done"

// DoneHandle is the wait condition's handle of the root stack by which agents tell Heat that all
// of a server's roles have ended. Those of single roles are named in Role.Signals.
const DoneHandle = "hotc_done_handle"

// Parameters of an emitted template: where agents meet, and what servers' tokens are made of.
const (
	CoordinatorParameter = "hotc_coordinator"
	SecretParameter      = "hotc_secret"
)

// HeatCell stands for one of the values of Server.Deploy where a role follows it. No such
// cell lies in the coordinator: the relay writes all of a server's into one record.
func HeatCell(key string) CellName { return CellName(heatCell + key) }

// HeatKey is the key of such a cell.
func (c CellName) HeatKey() (key string, is bool) { return strings.CutPrefix(string(c), heatCell) }

// Parameter is the secret parameter that the cell holds, which an operator gives.
func (c CellName) Parameter() (name string, is bool) {
	return strings.CutPrefix(string(c), string(Operator)+":")
}

// FromOutside says that what the cell holds comes from no server: Heat gives it, or an
// operator. A role follows it without saying so.
func (c CellName) FromOutside() bool {
	_, heats := c.HeatKey()
	_, operators := c.Parameter()
	return heats || operators
}

// HeatServers are lists in lists, as nested stacks give them, with nothing in the place of
// what is not there.
type HeatServers []HeatServer

// ForHeat are the outputs of a role that Heat reads.
func (r *Role) ForHeat() []Output {
	return lists.Only(r.Outputs, func(o Output) bool {
		return o.Heat || slices.ContainsFunc(r.Signals, func(s Signal) bool { return slices.Contains(s.Outputs, o.Name) })
	})
}

// The names by which Heat waits for a role: a condition or, with a relay, a software deployment,
// and the condition's handle.
const (
	WaitPrefix   = "hotc_done_"
	HandlePrefix = "hotc_handle_"
)

// HandleOf is the name of the wait condition's handle of what a role signals, whoever tells Heat.
func HandleOf(signal string) string {
	if name, is := strings.CutPrefix(signal, WaitPrefix); is {
		return HandlePrefix + name
	}
	return signal
}

// Signal is the one by which Heat learns of the role through a wait; nil if it does not. Who tells
// Heat may have changed while it waits.
func (r *Role) Signal(wait string) *Signal {
	for i := range r.Signals {
		if HandleOf(r.Signals[i].Handle) == HandleOf(wait) {
			return &r.Signals[i]
		}
	}
	return nil
}

// ForHeat is the name of an output in Heat: the one that references use.
func (o *Output) ForHeat() string { return cmp.Or(o.Attribute, o.Name) }

// mostNested bounds the lists in lists: Heat nests stacks five deep.
const mostNested = 32

// UnmarshalJSON makes one list of them.
func (h *HeatServers) UnmarshalJSON(text []byte) error {
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a value keeps its digits
	if err := d.Decode(&v); err != nil {
		return err
	}
	*h = nil
	h.collect(v, mostNested)
	return nil
}

func (h *HeatServers) collect(v any, depth int) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if depth > 0 {
				h.collect(x, depth-1)
			}
		}
	case map[string]any:
		server, _ := v["server"].(string)
		id, _ := v["id"].(string)
		*h = append(*h, HeatServer{ServerPath(server), id, rawValues(v["values"])})
	}
}

// rawValues are the values of a map; nil of what is none.
func rawValues(v any) map[string]json.RawMessage {
	all, is := v.(map[string]any)
	if !is {
		return nil
	}
	values := make(map[string]json.RawMessage, len(all))
	for key, value := range all {
		text, err := json.Marshal(value)
		if err != nil {
			return nil // nothing that was read as JSON gets here
		}
		values[key] = text
	}
	return values
}
