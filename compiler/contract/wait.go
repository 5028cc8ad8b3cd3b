package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// What Heat waits for, with a relay: the input values of the software deployments of the
// emitted templates (docs/relay.md).

// HeatWaitFormat is the format of HeatWait.
const HeatWaitFormat = 1

// HeatWait are the input values of such a deployment, as Heat has resolved them.
type HeatWait struct {
	About   HeatWaitAbout `json:"hotc"`
	Servers HeatServers   `json:"servers"`
}

// HeatWaitAbout identifies the wait.
type HeatWaitAbout struct {
	Format     int    `json:"format"`
	Deployment string `json:"deployment"` // the root stack's name
	// Stack is the path of its stack, "" for the root; Wait its resource.
	Stack string `json:"stack,omitempty"`
	Wait  string `json:"wait"`
	// Role is the awaited role of each server; "" for all roles.
	Role string `json:"role,omitempty"`
	// Roles is Plan.Definitions, in the root's wait for all roles: if an update changes it, Heat
	// waits again, and reads the stack's outputs again.
	Roles string `json:"roles,omitempty"`
	// Here is set if it waits for nothing: it reports that the member of a group exists.
	Here bool `json:"here,omitempty"`
}

// HeatServer is a server that the stack now has.
type HeatServer struct {
	// Server is its path. Members of a scaling group share one, with AnyMember in it.
	Server ServerPath `json:"server"`
	ID     string     `json:"id"` // Nova's
	// Launched is Nova's time of the machine's last launch: a rebuild, an evacuation and a resize
	// keep the id.
	Launched string `json:"launched,omitempty"`
	// Values are those of Server.Deploy that are carried, by key; nil for null.
	Values map[string]json.RawMessage `json:"values,omitempty"`
}

// HeatSource is the source of all values from Heat: its number grows with each change.
const HeatSource Source = "/heat"

// PlanSource is the source of a change of the plan that reaches a role on several paths: its
// number is the counter of the change.
const PlanSource Source = "/plan"

// WaitType is the type of the resources that a relay completes. Agents signal a condition of the
// same name.
const WaitType = "OS::Heat::SoftwareDeployment"

// The outputs of a wait that a relay completes. Heat remembers what it has read of any attribute,
// except for show (heat/engine/resource.py, base_attributes_schema): what the stack's outputs read
// may change without an update of the stack.
const (
	RoleValues  = "data" // of the wait of one role
	StackValues = "show" // of the whole stack's
)

// DoneWait is the resource by which Heat waits for all roles: a condition or, with a relay, a
// software deployment.
const DoneWait = "hotc_done"

// DoneHandle is the wait condition handle of the root stack that agents signal when all of a
// server's roles have ended. Those of single roles are named in Role.Signals.
const DoneHandle = "hotc_done_handle"

// Parameters of an emitted template: the coordinator, and the secret behind servers' tokens.
const (
	CoordinatorParameter = "hotc_coordinator"
	SecretParameter      = "hotc_secret"
)

// HeatServers is decoded from nested lists, as nested stacks return them, with null for what
// does not exist.
type HeatServers []HeatServer

// ForHeat returns the outputs of a role that Heat reads.
func (r *Role) ForHeat() []Output {
	return lists.Only(r.Outputs, func(o Output) bool {
		return o.Heat || slices.ContainsFunc(r.Signals, func(s Signal) bool { return slices.Contains(s.Outputs, o.Name) })
	})
}

// The names of the resources by which Heat waits for a role: a condition or, with a relay, a
// software deployment, and the condition's handle.
const (
	WaitPrefix   = "hotc_done_"
	HandlePrefix = "hotc_handle_"
)

// HandleOf returns the name of the wait condition handle for a role's signal, by agent or relay.
func HandleOf(signal string) string {
	if name, is := strings.CutPrefix(signal, WaitPrefix); is {
		return HandlePrefix + name
	}
	return signal
}

// Signal returns the role's signal to a wait, or nil. The reporter may have changed while Heat
// waits.
func (r *Role) Signal(wait string) *Signal {
	for i := range r.Signals {
		if HandleOf(r.Signals[i].Handle) == HandleOf(wait) {
			return &r.Signals[i]
		}
	}
	return nil
}

// ForHeat is the name of an output in Heat, as in references.
func (o *Output) ForHeat() string { return cmp.Or(o.Attribute, o.Name) }

// mostNested bounds the nesting of lists: Heat nests stacks five deep.
const mostNested = 32

// UnmarshalJSON flattens the lists.
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
		launched, _ := v["launched"].(string)
		*h = append(*h, HeatServer{ServerPath(server), id, launched, rawValues(v["values"])})
	}
}

// rawValues returns the values of a map; nil for other values.
func rawValues(v any) map[string]json.RawMessage {
	all, is := v.(map[string]any)
	if !is {
		return nil
	}
	values := make(map[string]json.RawMessage, len(all))
	for key, value := range all {
		text, err := json.Marshal(value)
		if err != nil {
			return nil // unreachable for what was read as JSON
		}
		values[key] = text
	}
	return values
}
