package heattest

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// lookAgain is the time between two polls of a stack in progress.
const lookAgain = 100 * time.Millisecond

// Stack is a stack in the oracle's Heat.
type Stack struct {
	Name string
	ID   string

	j        *Oracle
	identity json.RawMessage // as the engine has it
	logged   int             // lines of Heat's log when it was created
}

// Create starts to create a stack and returns while Heat is working on it. Each stack gets a
// project of its own, so equal names do not collide. It fails the test if Heat refuses the
// template: Validate says why without that.
func (j *Oracle) Create(t testing.TB, name string, in Input) *Stack {
	t.Helper()
	st, err := j.TryCreate(name, in)
	if err != nil {
		t.Fatalf("stock Heat refuses to create %s from %s: %v", name, in.Template, err)
	}
	return st
}

// TryCreate is Create that returns Heat's refusal, as an *Error.
func (j *Oracle) TryCreate(name string, in Input) (*Stack, error) {
	var logged []string
	if err := j.ask("warnings", nil, &logged); err != nil {
		return nil, err
	}
	args := in.arguments()
	args["name"] = name
	st, err := j.stack("create", args)
	if err == nil {
		st.logged = len(logged)
	}
	return st, err
}

// Find is a stack that was created over the HTTP API, in the owner's project.
func (j *Oracle) Find(t testing.TB, name string) *Stack {
	t.Helper()
	st, err := j.stack("find", arguments{"name": name})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func (j *Oracle) stack(op string, args arguments) (*Stack, error) {
	st := &Stack{j: j}
	if err := j.ask(op, args, &st.identity); err != nil {
		return nil, err
	}
	var id struct {
		Name string `json:"stack_name"`
		ID   string `json:"stack_id"`
	}
	err := json.Unmarshal(st.identity, &id)
	st.Name, st.ID = id.Name, id.ID
	return st, err
}

func (st *Stack) ask(t testing.TB, op string, args arguments, result any) {
	t.Helper()
	if args == nil {
		args = arguments{}
	}
	args["ident"] = st.identity
	if err := st.j.ask(op, args, result); err != nil {
		t.Fatalf("stack %s: %s: %v", st.Name, op, err)
	}
}

// Status is a stack's state: its last action (CREATE, UPDATE, DELETE, …), the status of that
// (IN_PROGRESS, COMPLETE, FAILED) and Heat's reason for it.
type Status struct {
	Action string
	Status string
	Reason string
}

// String is the state in OpenStack's notation, such as CREATE_COMPLETE.
func (s Status) String() string { return s.Action + "_" + s.Status }

// Status is the stack's current state.
func (st *Stack) Status(t testing.TB) Status {
	t.Helper()
	var s Status
	st.ask(t, "status", nil, &s)
	return s
}

// Wait returns once the stack's last action has ended, successfully or not. One that has not ended
// after answerLimit hangs: that fails the test.
func (st *Stack) Wait(t testing.TB) Status {
	t.Helper()
	for began := time.Now(); ; {
		var s Status
		st.ask(t, "wait", arguments{"seconds": waitSlice.Seconds()}, &s)
		if s.Status != "IN_PROGRESS" {
			return s
		}
		if time.Since(began) > answerLimit {
			t.Fatalf("stack %s is %s for %v", st.Name, s, answerLimit)
		}
	}
}

// waitSlice is how long one request waits for a stack: each is answered well within answerLimit,
// however long the stack takes.
const waitSlice = 20 * time.Second

// Complete waits, and fails the test if the stack's last action has failed.
func (st *Stack) Complete(t testing.TB) {
	t.Helper()
	if s := st.Wait(t); s.Status != "COMPLETE" {
		t.Fatalf("stack %s: %s: %s", st.Name, s, s.Reason)
	}
}

// Resource is a resource of a stack or of a stack nested in it.
type Resource struct {
	Path   string // its name, after those of the enclosing nested stacks: tier/2/db
	Name   string
	Type   string
	ID     string // physical; "" until it has one
	Action string
	Status string
	Reason string
	// RequiredBy are the resources of the same stack that Heat makes after it, sorted.
	RequiredBy []string `json:"required_by"`
}

// Resources are all resources of the stack, sorted by path.
func (st *Stack) Resources(t testing.TB) []Resource {
	t.Helper()
	var all []Resource
	st.ask(t, "resources", nil, &all)
	return all
}

// Server is a server requested from Nova.
type Server struct {
	Name         string // of the resource
	Path         string // of the resource, after the enclosing nested stacks
	ID           string // Nova's
	PhysicalName string `json:"physical_name"`
	// UserData is the property as Heat resolved it; NovaUserData is what Nova got: the same with
	// user_data_format RAW, packed in MIME otherwise.
	UserData     string                     `json:"user_data"`
	NovaUserData string                     `json:"nova_user_data"`
	Metadata     map[string]json.RawMessage // of the resource, as resolved
	NovaMetadata map[string]string          `json:"nova_metadata"`
	Addresses    map[string][]string        // by network
}

// Booted are the servers that Heat has created so far, sorted by path.
func (st *Stack) Booted(t testing.TB) []Server {
	t.Helper()
	var all []Server
	st.ask(t, "servers", nil, &all)
	return all
}

// Servers waits for that many servers to be created, and fails the test if the
// stack ends before that.
func (st *Stack) Servers(t testing.TB, number int) []Server {
	t.Helper()
	for {
		s := st.Status(t)
		booted := st.Booted(t)
		if len(booted) >= number {
			return booted
		}
		if s.Status != "IN_PROGRESS" {
			t.Fatalf("stack %s is %s with %d servers, not %d: %s", st.Name, s, len(booted), number, s.Reason)
		}
		time.Sleep(lookAgain)
	}
}

// Server waits for the server at a path.
func (st *Stack) Server(t testing.TB, path string) Server {
	t.Helper()
	for {
		s := st.Status(t)
		for _, server := range st.Booted(t) {
			if server.Path == path {
				return server
			}
		}
		if s.Status != "IN_PROGRESS" {
			t.Fatalf("stack %s is %s without a server %s: %s", st.Name, s, path, s.Reason)
		}
		time.Sleep(lookAgain)
	}
}

// Output is the value of a stack's output: JSON of the type that Heat's API returns.
type Output struct {
	Value json.RawMessage
	Error string // why it has no value
}

// Outputs are the stack's outputs by name.
func (st *Stack) Outputs(t testing.TB) map[string]Output {
	t.Helper()
	outputs := map[string]Output{}
	st.ask(t, "outputs", nil, &outputs)
	return outputs
}

// Warnings are what Heat has logged as warnings or errors since the stack was created, on account
// of this stack or another of that time.
func (st *Stack) Warnings(t testing.TB) []string {
	t.Helper()
	var lines []string
	if err := st.j.ask("warnings", arguments{"since": st.logged}, &lines); err != nil {
		t.Fatal(err)
	}
	return lines
}

// Changes are the names of a stack's own resources by what an update does to them.
type Changes struct{ Added, Deleted, Replaced, Unchanged, Updated []string }

// Preview is what an update would do, according to `openstack stack update --dry-run`.
func (st *Stack) Preview(t testing.TB, in Input) Changes {
	t.Helper()
	var c Changes
	st.ask(t, "preview", in.arguments(), &c)
	return c
}

// Update starts to update the stack.
func (st *Stack) Update(t testing.TB, in Input) {
	t.Helper()
	st.ask(t, "update", in.arguments(), nil)
}

// MarkUnhealthy marks a resource as broken: the next update replaces it.
func (st *Stack) MarkUnhealthy(t testing.TB, resource string) {
	t.Helper()
	st.ask(t, "unhealthy", arguments{"resource": resource}, nil)
}

// LoseServer deletes a server in Nova, without Heat's knowledge.
func (j *Oracle) LoseServer(t testing.TB, id string) {
	t.Helper()
	if err := j.ask("lose", arguments{"server": id}, nil); err != nil {
		t.Fatal(err)
	}
}

// Relaunch lets Nova rebuild or evacuate a server, without Heat's knowledge: how is "rebuild" or
// "evacuate".
func (j *Oracle) Relaunch(id, how string) error {
	return j.ask("relaunch", arguments{"server": id, "how": how}, nil)
}

// Signal triggers a resource: a scaling policy to scale its group.
func (st *Stack) Signal(t testing.TB, resource string) {
	t.Helper()
	st.ask(t, "signal", arguments{"resource": resource}, nil)
}

// Delete deletes the stack and waits until it is gone.
func (st *Stack) Delete(t testing.TB) {
	t.Helper()
	st.ask(t, "delete", nil, nil)
	if s := st.Wait(t); s.String() != "DELETE_COMPLETE" {
		t.Fatalf("stack %s: %s: %s", st.Name, s, s.Reason)
	}
}

// IsRefusal distinguishes Heat's own refusals from failures of the oracle.
func IsRefusal(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal)
}
