package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/up"
)

// upView prints what Heat and the roles do, a line for each step, and on a terminal a status
// line below.
type upView struct {
	ctx   context.Context // of the command: a question ends with it
	io    streams
	t     *target
	yes   bool
	began time.Time

	history status.History
	mu      sync.Mutex
	width   int            // of the column of names
	stack   string         // its state in Heat
	counts  string         // of roles by state
	drawn   string         // the status line on the screen; "": none
	plan    *contract.Plan // the new one
	// compiled is the plan's source; nil if it is unknown.
	compiled *emit.Result
	conceal  func(said string) string // see ascent.conceal
	now      *status.Status           // before anything is done; nil: no deployment
}

// widestName is the maximum width of the column of names.
const widestName = 32

func newUpView(ctx context.Context, io streams, t *target, p *contract.Plan, yes bool) *upView {
	v := &upView{ctx: ctx, io: io, t: t, yes: yes, plan: p, conceal: func(said string) string { return said }, began: time.Now()}
	if p != nil {
		v.width = min(longestRole(p), widestName)
	}
	return v
}

// Say prints a step of hotc's own.
func (v *upView) Say(text string) { v.line("hotc", "", text) }

// Event prints a step of Heat's.
func (v *upView) Event(e heat.Event) {
	if e.OfStack() {
		if e.StackName != v.t.stack {
			return // the stack resource's event says the same
		}
		v.mu.Lock()
		v.stack = string(e.State)
		v.mu.Unlock()
	}
	if what := e.Text(); what != "" {
		v.line("Heat", e.Path(v.t.stack), v.conceal(what))
	}
}

// Known sets the state of the roles before anything is done.
func (v *upView) Known(now *status.Status) {
	v.now = now
	v.history.See(now, time.Now())
}

// Roles prints what is new about the roles.
func (v *upView) Roles(now *status.Status) {
	for _, e := range v.history.See(now, time.Now()) {
		v.line("role", e.Subject, e.Text)
	}
	v.mu.Lock()
	v.counts = strings.Join(now.Counts(), ", ")
	v.draw()
	v.mu.Unlock()
}

// line prints a line above the status line.
func (v *upView) line(who, name, what string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wipe()
	text := fmt.Sprintf("%7s  %s  ", status.Age(time.Since(v.began)), who)
	if name != "" {
		width := v.width
		if room := v.io.width(); room > 0 { // the text matters more than columns
			width = min(width, room/4)
		}
		text += fmt.Sprintf("%-*s  ", width, terminal.Line(name))
	}
	text += terminal.Line(what)
	if ink := v.io.outInk(); strings.Contains(what, "FAILED") || strings.HasPrefix(what, "failed") {
		text = ink.Paint("31", text)
	}
	fmt.Fprintln(v.io.out, text)
	v.draw()
}

// draw prints the status line, on a terminal that can erase it.
func (v *upView) draw() {
	if v.io.cursor() == "" {
		return
	}
	text := strings.Join(lists.Only([]string{v.stack, v.counts}, func(s string) bool { return s != "" }), "   ")
	if room := v.io.width() - 1; utf8.RuneCountInString(text) > room { // it may have become narrower
		text = string([]rune(text)[:max(room, 0)])
	}
	if text == v.drawn {
		return
	}
	v.wipe()
	if v.drawn = text; text == "" {
		return
	}
	fmt.Fprint(v.io.out, v.io.outInk().Paint("2", text))
}

// wipe erases the status line.
func (v *upView) wipe() {
	if v.drawn != "" {
		cursor := v.io.cursor()
		fmt.Fprint(v.io.out, cursor.Sequence("G")+cursor.Sequence("2K"))
	}
	v.drawn = ""
}

func (v *upView) clear() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wipe()
}

func (v *upView) preview(c up.Changes) *preview.Preview {
	if v.plan == nil || v.now == nil {
		return nil
	}
	built := func(s contract.ServerPath) bool {
		return up.Within(string(s), slices.Concat(c.Replaced, c.Rebuilt, c.Added))
	}
	var decided map[string]value.Value
	if r := v.compiled; r != nil && c.Within { // Heat does not say which members it creates
		decided = follow.DecidedBy(r.Program, r.Analysis, c.Given)
	}
	return previewOf(v.plan, v.now, v.roles(c), c.Again, built, decided)
}

// whyReplaced says of a resource that Heat replaces it because servers without roles get some:
// only a new machine gets an agent.
func (v *upView) whyReplaced(name string, replaced []string) string {
	if v.plan == nil || v.now == nil || !slices.Contains(replaced, name) {
		return ""
	}
	is := func(s contract.ServerPath) bool { return up.Within(string(s), []string{name}) }
	comes := lists.Only(v.plan.Servers, func(s contract.Server) bool { return is(s.Path) })
	there := slices.ContainsFunc(v.now.Servers, func(s *status.Server) bool { return is(s.Path) })
	switch {
	case len(comes) == 0 || there:
		return ""
	case !slices.ContainsFunc(comes, func(s contract.Server) bool { return len(s.Roles) > 0 }):
		return ": a role reads its address, name or id, which needs an agent on it (with \"--facts heat\" Heat supplies it, and the server stays)"
	}
	return ": it gets its first roles, and has no agent to run them (user_data_format)"
}

// unhooked says of a server that is rebuilt that its delete hooks do not run.
func (v *upView) unhooked(name string) string {
	if v.plan != nil && slices.ContainsFunc(v.plan.Servers, func(s contract.Server) bool { return string(s.Path) == name && protocol.HasDeleteHook(&s) }) {
		return "; its delete hooks do not run"
	}
	return ""
}

// mostOfValue is how much of a parameter's value is shown.
const mostOfValue = 60

// fromTo shows a parameter's values before and after; nothing of a hidden one.
func fromTo(values map[string]up.Value, name string) string {
	x, shown := values[name]
	if !shown {
		return ""
	}
	short := func(text string) string {
		if runes := []rune(text); len(runes) > mostOfValue {
			text = string(runes[:mostOfValue]) + "…"
		}
		return terminal.Line(cmp.Or(text, `""`))
	}
	text := ": " + short(x.Before) + " → " + short(x.After)
	if x.Default {
		text += ", its default: neither -P nor -e gives it a value"
	}
	return text
}

func (v *upView) Confirm(c up.Changes) error {
	v.clear()
	out := v.io.err
	fmt.Fprintf(out, "The stack %s exists. Changes:\n", v.t.stack)
	for _, x := range []struct {
		names []string
		what  string
	}{{c.Added, "Heat creates"}, {c.Deleted, "Heat deletes"}, {c.Replaced, "Heat replaces"}} {
		for _, name := range x.names {
			fmt.Fprintf(out, "  %s %s%s\n", x.what, terminal.Line(name), v.whyReplaced(name, c.Replaced))
		}
	}
	for _, name := range c.Rebuilt {
		fmt.Fprintf(out, "  Heat rebuilds %s: its disk is lost, and its roles run again on an empty one%s\n", terminal.Line(name), v.unhooked(name))
	}
	for _, name := range c.Resized {
		fmt.Fprintf(out, "  Heat resizes %s: it boots again, with the same disk\n", terminal.Line(name))
	}
	for _, key := range c.First {
		fmt.Fprintf(out, "  %s: its delete hook runs first\n", terminal.Line(string(key)))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Lost)) {
		fmt.Fprintf(out, "  %s: its delete hook does not run: %s\n", terminal.Line(string(key)), c.Lost[key])
	}
	for _, name := range c.Perhaps {
		fmt.Fprintf(out, "  Heat may replace %s: it refers to what is replaced\n", terminal.Line(name))
	}
	for _, name := range c.Given {
		fmt.Fprintf(out, "  parameter %s gets a new value%s\n", terminal.Line(name), fromTo(c.Values, name))
	}
	for _, name := range c.Unknown {
		fmt.Fprintf(out, "  hidden parameter %s may get a new value: Heat does not show the current one\n", terminal.Line(name))
	}
	for _, r := range v.roles(c) {
		then := becomes(r.Effect)
		if r.Joins && (r.Effect == deploy.EffectHook || r.Effect == deploy.EffectAgain) {
			then += ", when the member has joined" // Heat creates it first
		}
		fmt.Fprintf(out, "  %s: %s: %s\n", terminal.Line(string(r.Key())), terminal.Line(whatChanges(r.What)), then)
	}
	for _, key := range c.Again {
		if slices.ContainsFunc(c.Roles, func(r deploy.RoleChange) bool { return r.Key() == key }) {
			continue
		}
		fmt.Fprintf(out, "  %s: it has failed, and runs again\n", key)
	}
	if c.Within {
		fmt.Fprintln(out, "  Heat cannot preview its changes in this stack's groups and nested stacks: its preview fails if a group grows or scales")
	}
	printPreview(out, v.preview(c))
	if len(c.Added)+len(c.Deleted)+len(c.Replaced)+len(c.Rebuilt)+len(c.Resized)+len(c.Roles)+len(c.Again)+len(c.Given)+len(c.Unknown) == 0 {
		fmt.Fprintln(out, "  none known: Heat gets the template, and as far as known creates no new server for it")
	}
	if v.yes {
		return nil
	}
	return confirm(v.ctx, v.io, "Go on?")
}
