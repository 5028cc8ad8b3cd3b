package heat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Stack is a stack as Heat describes it.
type Stack struct {
	Name   string `json:"stack_name"`
	ID     string `json:"id"`
	State  State  `json:"stack_status"`
	Reason string `json:"stack_status_reason"`
	// Created and Updated are of the last such action; Updated is zero before the first.
	Created Time `json:"creation_time"`
	Updated Time `json:"updated_time"`
	// Parameters are as Heat shows them: hidden ones are stars.
	Parameters map[string]string `json:"parameters"`
	Outputs    []Output          `json:"outputs"`
	// Parent is the stack in which this one is nested.
	Parent          string   `json:"parent"`
	DisableRollback bool     `json:"disable_rollback"`
	Tags            []string `json:"tags"`
}

// Output is one of a stack's.
type Output struct {
	Name  string          `json:"output_key"`
	Value json.RawMessage `json:"output_value"`
	Error string          `json:"output_error"`
}

// State is an action and its status, such as CREATE_COMPLETE.
type State string

// Action is CREATE, UPDATE, DELETE, ROLLBACK, …
func (s State) Action() string {
	action, _, _ := strings.Cut(string(s), "_")
	return action
}

// InProgress reports whether the last action has not ended.
func (s State) InProgress() bool { return strings.HasSuffix(string(s), "_IN_PROGRESS") }

// Complete reports whether the last action has succeeded.
func (s State) Complete() bool { return strings.HasSuffix(string(s), "_COMPLETE") }

// Failed reports whether the last action has failed.
func (s State) Failed() bool { return strings.HasSuffix(string(s), "_FAILED") }

// cancelled matches Heat's reason for a stack, or one nested in it, whose action was cancelled.
var cancelled = regexp.MustCompile(`(^|: )Stack [A-Z]+ cancelled$`)

// Settled is how many rounds to wait after a stack was cancelled: Heat cancels before it deletes,
// and another action may follow.
const Settled = 3

// Cancelled reports whether the stack's action was cancelled.
func (s *Stack) Cancelled() bool {
	return s.State.Failed() && cancelled.FindString(s.Reason) == s.Reason && s.Reason != ""
}

// CancelledWithin reports whether Heat itself has cancelled the action of a nested stack: it does
// so when an update overtakes another, and sometimes too late, which cancels the newer one
// (heat/engine/worker.py, stop_traversal).
func (s *Stack) CancelledWithin() bool {
	return s.State.Failed() && cancelled.MatchString(s.Reason) && !s.Cancelled()
}

// Time is a time as Heat writes it, in UTC with or without the Z.
type Time struct{ time.Time }

// UnmarshalJSON reads it; null is zero.
func (t *Time) UnmarshalJSON(text []byte) error {
	var s *string
	if err := json.Unmarshal(text, &s); err != nil || s == nil || *s == "" {
		return err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSuffix(*s, "Z")+"Z")
	t.Time = at
	return err
}

// Stack reads a stack by its name or id, without its outputs. ErrNotFound says that there is none.
func (c *Client) Stack(ctx context.Context, name string) (*Stack, error) {
	return c.stack(ctx, withoutOutputs, name)
}

// StackWithOutputs is Stack with the outputs, which take Heat longer.
func (c *Client) StackWithOutputs(ctx context.Context, name string) (*Stack, error) {
	return c.stack(ctx, nil, name)
}

var withoutOutputs = url.Values{"resolve_outputs": {"False"}}

func (c *Client) stack(ctx context.Context, query url.Values, path ...string) (*Stack, error) {
	var answer struct{ Stack *Stack }
	if err := c.call(ctx, get(query, append([]string{"stacks"}, path...)...), &answer); err != nil {
		return nil, err
	}
	if answer.Stack == nil || answer.Stack.ID == "" {
		return nil, noReply("Heat at "+c.name, &garbledError{fmt.Errorf("no stack")})
	}
	return answer.Stack, nil
}

// StackAt reads a stack by name and id, even if it is deleted.
func (c *Client) StackAt(ctx context.Context, name, id string) (*Stack, error) {
	return c.stack(ctx, withoutOutputs, name, id)
}

// pageSize is how many stacks, or events, are requested at once.
const pageSize = 500

// mostStacks bounds the listed stacks.
const mostStacks = 100_000

// Stacks are the project's root stacks.
func (c *Client) Stacks(ctx context.Context) ([]Stack, error) {
	var all []Stack
	for marker := ""; len(all) < mostStacks; {
		query := url.Values{"limit": {fmt.Sprint(pageSize)}}
		if marker != "" {
			query.Set("marker", marker)
		}
		var answer struct{ Stacks []Stack }
		if err := c.call(ctx, get(query, "stacks"), &answer); err != nil {
			return nil, err
		}
		if len(answer.Stacks) == 0 || answer.Stacks[len(answer.Stacks)-1].ID == marker {
			return all, nil
		}
		all = append(all, answer.Stacks...)
		marker = answer.Stacks[len(answer.Stacks)-1].ID
	}
	return nil, noReply("Heat at "+c.name, &garbledError{fmt.Errorf("more than %d stacks", mostStacks)})
}

// Create starts creating a stack and returns its id.
func (c *Client) Create(ctx context.Context, name string, t *Template, o StackOptions) (id string, err error) {
	body := t.body(o)
	body["stack_name"] = name
	var answer struct{ Stack struct{ ID string } }
	err = c.call(ctx, request{method: http.MethodPost, path: []string{"stacks"}, body: body}, &answer)
	return answer.Stack.ID, err
}

// Update starts updating a stack to a template. Repeating an update is a no-op.
func (c *Client) Update(ctx context.Context, s *Stack, t *Template, o StackOptions) error {
	return c.call(ctx, request{method: http.MethodPut, path: []string{"stacks", s.Name, s.ID}, body: t.body(o)}, nil)
}

// Change is what Heat would do with a resource. It overestimates: a resource that reads a changed
// one is "replaced" or "updated" here even if it does not change in the end.
type Change struct {
	Name  string `json:"resource_name"`
	Type  string `json:"resource_type"`
	ID    string `json:"physical_resource_id"`
	Stack struct {
		Name string `json:"stack_name"`
		ID   string `json:"stack_id"`
	} `json:"stack_identity"`
}

// Changes are what an update would do, as predicted by Heat.
type Changes struct {
	Added, Deleted, Replaced, Updated, Unchanged []Change
}

// Preview asks what an update would do, optionally also in nested stacks, which stock Heat refuses
// if a group grows or scales. Of nested stacks only the names are usable, which consist of their
// resources' names without Heat's suffixes.
func (c *Client) Preview(ctx context.Context, s *Stack, t *Template, o StackOptions, nested bool) (*Changes, error) {
	query := url.Values{}
	if nested {
		query.Set("show_nested", "True")
	}
	var answer struct {
		Changes Changes `json:"resource_changes"`
	}
	err := c.call(ctx, request{method: http.MethodPut, path: []string{"stacks", s.Name, s.ID, "preview"}, query: query, body: t.body(o), again: true}, &answer)
	return &answer.Changes, err
}

// Definition is the template that the stack has, as JSON.
func (c *Client) Definition(ctx context.Context, s *Stack) (json.RawMessage, error) {
	var answer json.RawMessage
	err := c.call(ctx, get(nil, "stacks", s.Name, s.ID, "template"), &answer)
	return answer, err
}

// Files are the files that came with the template that the stack has, by their URLs.
func (c *Client) Files(ctx context.Context, s *Stack) (map[string]string, error) {
	var answer map[string]string
	err := c.call(ctx, get(nil, "stacks", s.Name, s.ID, "files"), &answer)
	return answer, err
}

// Delete starts deleting a stack.
func (c *Client) Delete(ctx context.Context, s *Stack) error {
	return c.call(ctx, request{method: http.MethodDelete, path: []string{"stacks", s.Name, s.ID}, again: true}, nil)
}
