package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/analysis/secrecy"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/operate"
	"github.com/hotc-dev/hotc/runtime/up"
)

// upFormat is the version of what `hotc up`, `down` and `list` print with --json (docs/json.md).
const upFormat = 1

// upReport is the result of `hotc up`.
type upReport struct {
	Format  int                        `json:"format"`
	Stack   string                     `json:"stack"`
	ID      string                     `json:"id"` // the stack's in Heat
	State   heat.State                 `json:"state"`
	OK      bool                       `json:"ok"`
	Did     up.Step                    `json:"did"`
	Seconds float64                    `json:"seconds"`
	Servers int                        `json:"servers"`
	Roles   int                        `json:"roles"`
	Changes *upChanges                 `json:"changes,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs"`
	Secret  []string                   `json:"secret_outputs,omitempty"`
	doubts  []*source.Diagnostic       // outputs whose value is missing or old
	// Resources and Causes are what has failed.
	Resources []failedResource  `json:"failed_resources"`
	Causes    []*protocol.Cause `json:"failed_roles"`
	// Relays counts those that go on when this command has ended.
	Signal contract.Signalling `json:"signal"`
	Relays int                 `json:"relays"`
}

// upChanges is what an update was to change.
type upChanges struct {
	Added    []string `json:"added"`
	Deleted  []string `json:"deleted"`
	Replaced []string `json:"replaced"`
	// Rebuilt are servers that keep their ids and lose their disks, Resized those that boot again.
	Rebuilt []string `json:"rebuilt,omitempty"`
	Resized []string `json:"resized,omitempty"`
	Within  bool     `json:"unknown_within,omitempty"`
	// Parameters get another value.
	Parameters []string `json:"parameters,omitempty"`
	// Unknown are hidden parameters that may, which Heat does not show.
	Unknown []string           `json:"unknown_parameters,omitempty"`
	Roles   []changedRole      `json:"roles"`
	Again   []contract.RoleKey `json:"again"`
}

type failedResource struct {
	Resource string            `json:"resource"`
	Type     string            `json:"type"`
	Reason   string            `json:"reason"`
	At       contract.Position `json:"at,omitempty"`
	place    source.Place
}

// reportOf is the report of a run.
func (a *ascent) reportOf(r *up.Result, took time.Duration) *upReport {
	x := &upReport{Format: upFormat, Stack: a.stack, ID: r.Stack.ID, State: r.Stack.State, OK: r.OK(), Did: r.Did, Seconds: took.Round(time.Millisecond).Seconds(),
		Outputs: map[string]json.RawMessage{}, Resources: []failedResource{}, Causes: []*protocol.Cause{}, Signal: contract.Signalling(a.signal), Relays: a.relays}
	for _, s := range r.Status.Servers {
		if !s.Absent() && (s.Perhaps == "" || s.Came()) {
			x.Servers++
			x.Roles += len(s.Roles)
		}
		for _, role := range s.Roles {
			if role.Status == protocol.RoleFailed && role.Cause != nil && (role.Cause.Role == "" || role.Cause.Role == role.Key()) {
				cause := *role.Cause
				cause.Role = role.Key()
				x.Causes = append(x.Causes, &cause)
			}
		}
	}
	for _, f := range r.Failed {
		if len(x.Causes) > 0 && strings.HasPrefix(f.Name, "hotc_") {
			continue // the roles' reasons say it
		}
		at := placeAt(a.compiled, f.Path)
		x.Resources = append(x.Resources, failedResource{strings.Join(f.Path, "/"), f.Type, a.conceal(f.Reason), contract.Position(at.Portable()), at})
	}
	if c := r.Changes; r.Did == up.Update {
		roles := c.Roles
		if a.view != nil {
			roles = a.view.roles(c)
		}
		x.Changes = &upChanges{some(c.Added), some(c.Deleted), some(c.Replaced), c.Rebuilt, c.Resized, c.Within, c.Given, c.Unknown, changedRoles(roles), some(c.Again)}
	}
	return x
}

// some is a list that is never null in JSON.
func some[T any](list []T) []T { return append([]T{}, list...) }

// readOutputs copies the stack's outputs, except those that show a secret.
func (a *ascent) readOutputs(ctx context.Context, cloud *heat.Client, x *upReport) {
	s, err := cloud.StackWithOutputs(ctx, a.stack)
	if err != nil {
		return // the stack exists all the same
	}
	var there []heat.Resource
	if slices.ContainsFunc(s.Outputs, isNull) {
		there, _ = cloud.Resources(ctx, s.Name, s.ID, 0) // else only their absence is not explained
	}
	secret := secrecy.Outputs(a.compiled.Program)
	for _, o := range s.Outputs {
		switch {
		case strings.HasPrefix(o.Name, "hotc_"):
			continue
		case secret[o.Name]:
			x.Secret = append(x.Secret, o.Name)
		case o.Value != nil:
			x.Outputs[o.Name] = o.Value
		default:
			x.Outputs[o.Name] = json.RawMessage("null")
		}
		if d := a.doubt(o, there, x.Relays); d != nil {
			x.doubts = append(x.doubts, d)
		}
	}
	slices.Sort(x.Secret)
}

func isNull(o heat.Output) bool { return len(o.Value) == 0 || string(o.Value) == "null" }

// doubt says why Heat has no value for an output, or an older one than roles have published. A null
// that a role has published, or that a resource of the stack has, is a value like any other.
func (a *ascent) doubt(o heat.Output, there []heat.Resource, relays int) *source.Diagnostic {
	now, known := a.published[o.Name]
	known = known && now.State != operate.OutputHeat
	older := known && now.State == operate.OutputValue && !now.Secret && !protocol.SameValue(now.Value, o.Value)
	off := ""
	if isNull(o) && len(there) > 0 {
		off = a.switchedOff(o.Name, there)
	}
	what := " is null: "
	if !isNull(o) {
		what = " may be out of date: "
	}
	d := &source.Diagnostic{Code: source.MissingProducer, Severity: source.Warning, Hint: "\"" + a.target.command("outputs", o.Name) + "\" computes it from what the roles have published"}
	switch {
	case o.Error != "":
		d.Message, d.Hint = " is null: Heat cannot compute it: "+a.conceal(o.Error), ""
	case off != "":
		d.Message, d.Hint = what+"the stack has no "+off+" now", "its condition is false: set what the condition reads, or give the output another value then, with the function if"
	case known && now.State != operate.OutputValue:
		d.Message, d.Hint = what+now.Message, "\""+a.target.command("status")+"\" shows who has not published it"
	case older:
		d.Message = what + "roles have published another value since Heat has read them"
		if relays == 0 {
			d.Hint += "; a relay gives it to Heat: " + a.relayCommand()
		}
	default:
		return nil
	}
	d.Message = "the output " + o.Name + d.Message
	return d
}

// switchedOff is a resource that an output reads and that Heat has not created; "" if there is none.
func (a *ascent) switchedOff(output string, there []heat.Resource) (name string) {
	t := a.compiled.Program.Template
	if o := t.Output(output); o != nil {
		for e := range t.Expr(o.Value).Calls() {
			if r := e.Ref(); (r.Kind == hot.ToResource || r.Kind == hot.ToAttribute) && t.Resource(r.Name) != nil &&
				!slices.ContainsFunc(there, func(x heat.Resource) bool { return x.Name == r.Name }) {
				name = r.Name
			}
		}
	}
	return name
}

// mostShown is how many bytes of an output's value are shown.
const mostShown = 200

// printWell reports success, the outputs, and whether a relay is needed from now on.
func (a *ascent) printWell(x *upReport, took time.Duration) {
	what := fmt.Sprintf(": %s, %s done", source.Counted(x.Servers, "server"), source.Counted(x.Roles, "role"))
	if x.Roles == 0 {
		what = ""
	}
	fmt.Fprintf(a.io.out, "\n%s is %s%s, after %s.\n", a.stack, x.State, what, status.Age(took))
	for _, name := range slices.Sorted(maps.Keys(x.Outputs)) {
		value := string(x.Outputs[name])
		var plain string
		if json.Unmarshal(x.Outputs[name], &plain) == nil && value != "null" {
			value = plain
		}
		if len(value) > mostShown {
			value = strings.ToValidUTF8(value[:mostShown], "") + "…"
		}
		fmt.Fprint(a.io.out, visibleLine("  "+name+" = "+value))
	}
	for _, name := range x.Secret {
		fmt.Fprint(a.io.out, visibleLine("  "+name+" is secret: openstack stack output show "+shellQuote(a.stack)+" "+shellQuote(name)))
	}
	a.io.print(x.doubts...)
	if x.Signal == contract.RelaySignals && x.Relays == 0 && x.Roles > 0 {
		fmt.Fprintf(a.io.out, "\nNo relay is running from now on. hotc up and hotc down have their own. Anything else that makes Heat\nwait for roles (openstack stack update, a scaling policy, a replaced server) needs one:\n\n  %s\n", a.relayCommand())
	}
}

func (a *ascent) relayCommand() string {
	return a.target.command("relay") + given("--cloud", a.conduct.cloud)
}

// timedOut is Heat's reason for a stack that exceeded its timeout
// (heat/engine/check_resource.py, _handle_stack_timeout).
const timedOut = "Timed out"

// printFailed reports what has failed, and what to do.
func (a *ascent) printFailed(x *upReport, r *up.Result, took time.Duration) {
	for _, f := range x.Resources {
		d := source.Fail(source.StackFailed, fmt.Sprintf("%s (%s): %s", f.Resource, f.Type, f.Reason), "")
		d.At = f.place
		a.io.print(d)
	}
	failed := status.AnyFailed(r.Status.Servers)
	if failed {
		i, s := status.Explain(r.Status, r.Status.Open()), a.target.session(nil, protocol.Deployment(a.stack), protocol.Secret{})
		s.Advise(i)
		fmt.Fprint(a.io.err, rootsText(s, i, time.Now()))
	}
	reason := string(x.State)
	if len(r.Failed) == 0 && !failed {
		reason += ": " + a.conceal(r.Stack.Reason)
	}
	if r.Stack.Reason == timedOut {
		reason += " (--stack-timeout gives Heat more time)"
	}
	fmt.Fprintf(a.io.err, "\n%s is %s, after %s.\nFix the cause, and run this again:\n\n  %s\n\nor delete it:\n\n  %s\n", a.stack, reason, status.Age(took), a.typed(), a.downCommand())
}

func (a *ascent) downCommand() string {
	return "hotc down " + shellQuote(a.stack) + given("--coordinator", a.url, "--secret-file", a.secretFile, "--root-key-file", a.rootKeyFile, "--cloud", a.conduct.cloud)
}
