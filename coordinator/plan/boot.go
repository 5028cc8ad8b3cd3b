package plan

import "encoding/json"

// Boot is what a server's user-data tells its agent. Heat resolves it when it
// creates the server; `hotc run` writes it itself.
type Boot struct {
	Format      int        `json:"format"`
	Deployment  string     `json:"deployment"` // the stack's name
	StackID     string     `json:"stack_id,omitempty"`
	Server      ServerPath `json:"server"`
	Coordinator string     `json:"coordinator"` // URL
	Token       string     `json:"token"`
	// Signal is Heat's own JSON text of the handle's `signal` attribute
	// (HEAT_SIGNAL); empty where Heat is left out.
	Signal string `json:"signal,omitempty"`
	// SignalResource is the name of the wait condition handle in its stack.
	SignalResource string `json:"signal_resource,omitempty"`
	// Deploy are the values of Server.Deploy, by key.
	Deploy map[string]json.RawMessage `json:"deploy,omitempty"`
	// Facts overrides what the agent would find out about its server; `hotc run`
	// makes them up here.
	Facts map[string]json.RawMessage `json:"facts,omitempty"`
}
