package heat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// MaxDepth is the depth of nested stacks that is read, which is the limit of stock Heat.
const MaxDepth = 5

// Resource is a resource of a stack, or of one nested in it.
type Resource struct {
	Name   string `json:"resource_name"`
	Type   string `json:"resource_type"`
	ID     string `json:"physical_resource_id"` // "" until it has one
	State  State  `json:"resource_status"`
	Reason string `json:"resource_status_reason"`
	// StackName and StackID are of its stack, NestedName and NestedID of the stack that it
	// represents.
	StackName, StackID, NestedName, NestedID string
	// Parent is the resource in the parent stack that represents its stack.
	Parent string `json:"parent_resource"`
}

// link is one of the links of a resource or an event.
type link struct {
	Href string `json:"href"`
	Rel  string `json:"rel"`
}

// stackOf is the name and the id of the stack in the link with a relation.
func stackOf(links []link, relation string) (name, id string) {
	for _, l := range links {
		if l.Rel != relation {
			continue
		}
		u, err := url.Parse(l.Href)
		if err != nil {
			continue
		}
		_, rest, found := strings.Cut(u.EscapedPath(), "/stacks/")
		parts := strings.Split(rest, "/")
		if !found || len(parts) < 2 {
			continue
		}
		name, _ = url.PathUnescape(parts[0])
		id, _ = url.PathUnescape(parts[1])
		return name, id
	}
	return "", ""
}

// UnmarshalJSON reads the links, too.
func (r *Resource) UnmarshalJSON(text []byte) error {
	type plain Resource
	links, err := readLinked(text, (*plain)(r))
	r.StackName, r.StackID = stackOf(links, "stack")
	r.NestedName, r.NestedID = stackOf(links, "nested")
	return err
}

// readLinked decodes an object and its links.
func readLinked(text []byte, into any) ([]link, error) {
	var linked struct{ Links []link }
	err := errors.Join(json.Unmarshal(text, into), json.Unmarshal(text, &linked))
	return linked.Links, err
}

// Resources are the resources of a stack, and of those nested in it to a depth, in one request.
func (c *Client) Resources(ctx context.Context, stackName, stackID string, depth int) ([]Resource, error) {
	var answer struct{ Resources []Resource }
	err := c.call(ctx, get(url.Values{"nested_depth": {fmt.Sprint(depth)}}, "stacks", stackName, stackID, "resources"), &answer)
	return answer.Resources, err
}

// Signal signals a resource. Heat answers before it processes the data: read back the result.
func (c *Client) Signal(ctx context.Context, stackName, stackID, resource string, data any) error {
	return c.call(ctx, request{method: http.MethodPost, path: []string{"stacks", stackName, stackID, "resources", resource, "signal"}, body: data}, nil)
}

// HandleType is the type of a wait condition's handle.
const HandleType = "OS::Heat::WaitConditionHandle"

// Signals are the statuses that a wait condition's handle has been signalled with, by the
// signals' ids.
func (c *Client) Signals(ctx context.Context, stackName, stackID, handle string) (map[string]string, error) {
	var answer struct {
		Metadata map[string]struct {
			Status string `json:"status"`
		} `json:"metadata"`
	}
	err := c.call(ctx, get(nil, "stacks", stackName, stackID, "resources", handle, "metadata"), &answer)
	statuses := map[string]string{}
	for id, x := range answer.Metadata {
		statuses[id] = x.Status
	}
	return statuses, err
}

// Deployment is an OS::Heat::SoftwareDeployment of the project's, as Heat has resolved it.
type Deployment struct {
	ID     string `json:"id"`
	Server string `json:"server_id"`
	Config string `json:"config_id"`
	Action string `json:"action"`
	Status string `json:"status"` // IN_PROGRESS, COMPLETE, FAILED
	Reason string `json:"status_reason"`
	// Inputs are the input values by name, Outputs what it was signalled with.
	Inputs  map[string]json.RawMessage `json:"input_values"`
	Outputs map[string]json.RawMessage `json:"output_values"`
	Created Time                       `json:"creation_time"`
	Updated Time                       `json:"updated_time"`
}

// Deployments are all software deployments of the project, or those with a server id, which may be
// any string, in one request.
func (c *Client) Deployments(ctx context.Context, server string) ([]Deployment, error) {
	var query url.Values
	if server != "" {
		query = url.Values{"server_id": {server}}
	}
	var answer struct {
		Deployments []Deployment `json:"software_deployments"`
	}
	err := c.call(ctx, get(query, "software_deployments"), &answer)
	return answer.Deployments, err
}

// DeploymentEnd is the status to set: COMPLETE with output values, FAILED with a reason, or
// IN_PROGRESS; or output values alone.
type DeploymentEnd struct {
	Status  string         `json:"status,omitempty"`
	Reason  string         `json:"status_reason,omitempty"`
	Outputs map[string]any `json:"output_values,omitempty"`
}

// EndDeployment ends a deployment by its id, and returns its new state. A signal to its resource
// may reach another deployment: under convergence a replaced resource and its replacement have the
// same name, and a stack whose replacement is not reached stays in progress forever.
func (c *Client) EndDeployment(ctx context.Context, id string, end DeploymentEnd) (*Deployment, error) {
	var answer struct {
		Deployment Deployment `json:"software_deployment"`
	}
	err := c.call(ctx, request{method: http.MethodPut, path: []string{"software_deployments", id}, body: end, again: true}, &answer)
	return &answer.Deployment, err
}

// Event is an event of a stack's resource.
type Event struct {
	ID       string `json:"id"`
	Time     Time   `json:"event_time"`
	Name     string `json:"logical_resource_id"`
	Physical string `json:"physical_resource_id"`
	State    State  `json:"resource_status"`
	Reason   string `json:"resource_status_reason"`
	// StackName and StackID are of the stack in which it happened.
	StackName, StackID string
}

// UnmarshalJSON reads the links, too.
func (e *Event) UnmarshalJSON(text []byte) error {
	type plain Event
	links, err := readLinked(text, (*plain)(e))
	e.StackName, e.StackID = stackOf(links, "stack")
	return err
}

// OfStack reports whether an event is the stack's own, and not a resource's.
func (e Event) OfStack() bool { return e.Physical == e.StackID }

// Text is what has happened, with its reason if that says more; "" for a signal, which roles show.
func (e Event) Text() string {
	reason, _, _ := strings.Cut(e.Reason, "\n")
	switch {
	case e.State.Action() == "SIGNAL":
		return ""
	case e.Pauses():
		return string(e.State) + ": waits for the delete hooks"
	case e.State.Failed(), e.OfStack() && !e.State.InProgress():
		return string(e.State) + ": " + reason
	}
	return string(e.State)
}

// nestedName is what Heat appends to a stack's name for a nested one: the name of its stack
// resource, and twelve random characters (heat/engine/resource.py, physical_resource_name).
var nestedName = regexp.MustCompile(`^-(.+?)-[a-z2-7]{12}(?:$|(-.*))`)

// Path is a resource's path in the stack with the name: web/0/server. It is derived from the
// stack's name, so use it only in messages.
func (e Event) Path(stack string) string {
	path := ""
	for rest := strings.TrimPrefix(e.StackName, stack); rest != ""; {
		m := nestedName.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		path, rest = path+m[1]+"/", m[2]
	}
	return path + e.Name
}

// Events are the events of a stack and of those nested in it to a depth, the oldest first,
// after the one with the marker's id.
func (c *Client) Events(ctx context.Context, stackName, stackID, marker string, depth int) ([]Event, error) {
	const page = 1000
	var all []Event
	for {
		query := url.Values{"sort_dir": {"asc"}, "nested_depth": {fmt.Sprint(depth)}, "limit": {fmt.Sprint(page)}}
		if marker != "" {
			query.Set("marker", marker)
		}
		var answer struct{ Events []Event }
		err := c.call(ctx, get(query, "stacks", stackName, stackID, "events"), &answer)
		all = append(all, answer.Events...)
		if n := len(answer.Events); err != nil || n < page || marker == answer.Events[n-1].ID {
			return all, err
		}
		marker = all[len(all)-1].ID
	}
}

// Properties are the properties with which Heat has created the resource of an event.
func (c *Client) Properties(ctx context.Context, e Event) (json.RawMessage, error) {
	var answer struct {
		Event struct {
			Properties json.RawMessage `json:"resource_properties"`
		}
	}
	err := c.call(ctx, get(nil, "stacks", e.StackName, e.StackID, "resources", e.Name, "events", e.ID), &answer)
	return answer.Event.Properties, err
}

// ClearHook clears a hook at which the resource of an event is paused.
func (c *Client) ClearHook(ctx context.Context, e Event, hook string) error {
	return c.Signal(ctx, e.StackName, e.StackID, e.Name, map[string]string{"unset_hook": hook})
}
