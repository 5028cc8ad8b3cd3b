package contract

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Boot is the boot file, from a server's user-data. Heat resolves it when it creates
// the server; `hotc run` writes it itself.
type Boot struct {
	Format     int        `json:"format"`
	Deployment string     `json:"deployment"` // the stack's name
	StackID    string     `json:"stack_id,omitempty"`
	Server     ServerPath `json:"server"`
	// Slot identifies the member of a scaling group that the server is in: Server is then a
	// Slot.Shared, until the agent has a slot. Nil, or empty, for other servers.
	Slot        *BootSlot `json:"slot,omitempty"`
	Coordinator string    `json:"coordinator"` // URL
	Token       string    `json:"token"`
	// Signal is Heat's own JSON text of the handle's `signal` attribute
	// (HEAT_SIGNAL); empty without Heat.
	Signal string `json:"signal,omitempty"`
	// SignalResource is the name of the wait condition handle in its stack.
	SignalResource string `json:"signal_resource,omitempty"`
	// Signals are the handles of the wait conditions of single roles.
	Signals *Handles `json:"signals,omitempty"`
	// Deploy are the values of Server.Deploy, by key.
	Deploy map[string]json.RawMessage `json:"deploy,omitempty"`
	// Facts overrides the facts that the agent would determine; `hotc run` sets them.
	Facts map[Fact]json.RawMessage `json:"facts,omitempty"`
}

// Handles are wait condition handles by name. Those of the enclosing stacks are under
// "above", which is not a handle's name.
type Handles struct {
	Own   map[string]Handle
	Above *Handles
}

// Handle is a wait condition handle of a stack.
type Handle struct {
	Signal  string `json:"signal"` // as Boot.Signal
	Stack   string `json:"stack"`  // the stack's name
	StackID string `json:"stack_id"`
}

// Find returns a handle, of the nearest stack that has it.
func (h *Handles) Find(name string) (Handle, bool) {
	for at := h; at != nil; at = at.Above {
		if found, ok := at.Own[name]; ok {
			return found, true
		}
	}
	return Handle{}, false
}

// HandlesAbove is the key of the handles of the enclosing stacks.
const HandlesAbove = "above"

// UnmarshalJSON reads {"HANDLE": {…}, "above": {…}}.
func (h *Handles) UnmarshalJSON(text []byte) error {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	for name, entry := range entries {
		if name == HandlesAbove {
			h.Above = &Handles{}
			if err := json.Unmarshal(entry, h.Above); err != nil {
				return err
			}
			continue
		}
		var one Handle
		if err := json.Unmarshal(entry, &one); err != nil {
			return err
		}
		if h.Own == nil {
			h.Own = map[string]Handle{}
		}
		h.Own[name] = one
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (h Handles) MarshalJSON() ([]byte, error) {
	entries := map[string]any{}
	for name, one := range h.Own {
		entries[name] = one
	}
	if h.Above != nil {
		entries[HandlesAbove] = h.Above
	}
	return json.Marshal(entries)
}

// BootSlot is a server's place in a scaling group.
type BootSlot struct {
	// Path is that of all members: GROUP/*.
	Path string `json:"path,omitempty"`
	// Member distinguishes them: the id of the member's own stack.
	Member string `json:"member,omitempty"`
}

// AnyMember replaces the number of a slot in the paths that all members share.
const AnyMember = "*"

// Group is the group's path; "" for a server outside scaling groups.
func (s *BootSlot) Group() string {
	if s == nil || s.Member == "" {
		return ""
	}
	group, ok := strings.CutSuffix(s.Path, "/"+AnyMember)
	if !ok {
		return ""
	}
	return group
}

// Within turns a path that all members share into that of a server in a slot.
func (s *BootSlot) Within(shared ServerPath, number int) ServerPath {
	return ServerPath(s.Group() + "/" + strconv.Itoa(number) + strings.TrimPrefix(string(shared), s.Path))
}

// Number is the slot of a server.
func (s *BootSlot) Number(server ServerPath) (number int, ok bool) {
	text, ok := strings.CutPrefix(string(server), s.Group()+"/")
	text, _, _ = strings.Cut(text, "/")
	number, err := strconv.Atoi(text)
	return number, ok && err == nil && number >= 0
}
