package simulationtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	heatapi "github.com/hotc-dev/hotc/runtime/heat"
	"github.com/hotc-dev/hotc/runtime/relay"
)

// In a case of joining, members join a group and leave it, on machines that Heat creates and
// deletes; relays, which come and go as well, query a stack that this world plays. At rest the
// follower of the group has run with the members that Heat has, and with no others.

// Joining is what is specific to such a case.
type Joining struct {
	Members int
	// Relays are the times in which one runs; the last one stays.
	Relays []Span
	// Levels are the times from which Heat supplies another value to the follower.
	Levels []time.Duration
	// Kills are the requests at which relays are killed, one after the other, to be started again.
	Kills []int
}

// level is what Heat supplies at a time.
func (j *Joining) level(at time.Duration) json.RawMessage {
	n := 0
	for _, from := range j.Levels {
		if from <= at {
			n++
		}
	}
	return j.levelOf(n)
}

// levelOf is the value after that many changes: one that was there before, too.
func (j *Joining) levelOf(n int) json.RawMessage { return json.RawMessage(fmt.Sprint(n % 3)) }

const follower, groupName = contract.ServerPath("lb"), "web"

func memberPath(n int) contract.ServerPath {
	return contract.ServerPath(fmt.Sprintf("%s/%d", groupName, n))
}

// NewJoining creates the case of a seed in which members join and leave.
func NewJoining(seed uint64) Case {
	r := rand.New(rand.NewPCG(seed, 60))
	g := &generator{Rand: r, program: &Program{Roles: map[contract.RoleKey]*Role{}, Follow: true,
		Plan: contract.Plan{Format: contract.Format, Compiler: "simulation", Template: "site.yaml", Signal: contract.RelaySignals,
			Outputs: []contract.StackOutput{}, Files: []contract.File{}}}}
	j := &Joining{Members: 2 + r.IntN(4)}
	for n := range j.Members {
		g.member(n)
	}
	first := r.IntN(j.Members + 1)
	g.follower(j.Members, first)
	g.finish()
	g.program.Joining = j
	f := GenerateFaults(r, g.program, false)
	f.Once = false
	m := mishaps{r}
	overlaps := mishaps{rand.New(rand.NewPCG(seed, 61))}
	last := map[contract.ServerPath]*Machine{}
	for i := range f.Machines {
		one := &f.Machines[i]
		one.Once = false
		if n := memberNumber(one.Server); n >= first && one.Number == 0 { // it joins later
			one.Boot += m.within(3 * time.Minute)
			if one.Gone > 0 {
				one.Gone += one.Boot
			}
		}
		one.Made = one.Boot
		before := last[one.Server]
		if before != nil && before.Gone == 0 && overlaps.perhaps(0.3) { // Heat goes back
			one.Instance, one.Undone = "", one.Made+overlaps.within(3*time.Minute)
			one.Gone = one.Undone + overlaps.within(2*time.Minute)
			continue
		}
		if before != nil { // Heat deletes the previous one, once this one is created
			if before.Gone, one.Instance = one.Made+1, ""; overlaps.perhaps(0.5) {
				before.Gone += overlaps.within(3 * time.Minute)
			}
		}
		last[one.Server] = one
	}
	for i := range f.Machines {
		if overlaps.perhaps(0.3) { // it boots late
			late := overlaps.within(2 * time.Minute)
			f.Machines[i].Boot += late
			for k := range f.Machines[i].Cut {
				f.Machines[i].Cut[k].From += late
				f.Machines[i].Cut[k].To += late
			}
		}
	}
	for n := range j.Members {
		if one := last[memberPath(n)]; m.perhaps(0.4) && one.Gone == 0 {
			one.Gone = one.Boot + m.within(4*time.Minute)
		}
	}
	for at := time.Duration(0); m.perhaps(0.5) && len(j.Relays) < 4; {
		from := at + m.within(time.Minute)
		at = from + m.within(time.Minute)
		j.Relays = append(j.Relays, Span{from, at})
	}
	j.Relays = append(j.Relays, Span{From: m.within(4 * time.Minute), To: 10 * tooLong})
	for at := time.Duration(0); m.perhaps(0.7) && len(j.Levels) < 5; j.Levels = append(j.Levels, at) {
		at += m.within(2 * time.Minute)
	}
	g.program.addDeleteHooks(rand.New(rand.NewPCG(seed, 95)))
	c := Case{Seed: seed, Program: g.program, Faults: f}
	f.addFull(rand.New(rand.NewPCG(seed, 9)))
	f.name()
	return c
}

func memberNumber(server contract.ServerPath) (n int) {
	n = -1
	_, _ = fmt.Sscanf(string(server), groupName+"/%d", &n)
	return n
}

func (g *generator) member(n int) {
	path := memberPath(n)
	s := contract.Server{Path: path, At: "site.yaml:1:1"}
	r := contract.Role{Name: "r", At: "site.yaml:2:1", Driver: driverName, Source: json.RawMessage(`{}`), Idempotent: g.perhaps(0.5)}
	steps := []Step{{Op: Work, For: g.lasting()}}
	for k := range 1 + g.IntN(2) {
		cell := contract.CellName(fmt.Sprintf("%s.r:o%d", path, k))
		r.Outputs = append(r.Outputs, contract.Output{Name: fmt.Sprintf("o%d", k), Cell: cell, Type: contract.String, At: r.At})
		steps = append(steps, Step{Op: Write, Name: fmt.Sprintf("o%d", k)}, Step{Op: Work, For: g.lasting()})
		g.own(&s, cell, "r")
	}
	g.own(&s, path.Role("r").Completion(), "r")
	s.Roles = []contract.Role{r}
	behaviour := &Role{Steps: steps}
	if g.perhaps(0.15) {
		behaviour.Exit = 3
	}
	g.program.Roles[path.Role("r")] = behaviour
	g.program.Plan.Servers = append(g.program.Plan.Servers, s)
}

// follower reads a list of what each member writes.
func (g *generator) follower(possible, first int) {
	s := contract.Server{Path: follower, At: "site.yaml:3:1"}
	r := contract.Role{Name: "r", At: "site.yaml:4:1", Driver: driverName, Source: json.RawMessage(`{}`), Idempotent: true}
	in := contract.Input{Name: "list", Time: contract.Run, At: map[string]contract.Position{"": r.At}, IfDown: float64(5 + g.IntN(40)), Watch: true}
	if g.perhaps(0.3) {
		in.AtLeast = 1 + g.IntN(possible)
	}
	var items []any
	for n := range possible {
		var member []any
		for _, o := range g.program.Plan.Servers[n].Roles[0].Outputs {
			member = append(member, map[string]any{"$cell": o.Cell})
			in.Reads = append(in.Reads, o.Cell)
			r.Follows = append(r.Follows, contract.Follow{Cell: o.Cell, Watch: true, Member: &contract.Member{Group: groupName, Number: n, Server: memberPath(n)}})
		}
		items = append(items, member)
	}
	in.Expr, _ = json.Marshal(map[string]any{"$joined": []any{groupName, first, items}})
	r.Inputs = []contract.Input{in, {Name: "level", Time: contract.Deploy, At: in.At, Expr: json.RawMessage(`{"$deploy":"level"}`)}}
	r.Follows = append(r.Follows, contract.Follow{Cell: contract.HeatCell("level"), Watch: true})
	s.Deploy = map[string]contract.DeployValue{"level": {Expr: json.RawMessage(`{"get_param":"level"}`), At: r.At, Carried: true}}
	g.own(&s, follower.Role("r").Completion(), "r")
	s.Roles = []contract.Role{r}
	g.program.Roles[follower.Role("r")] = &Role{Steps: []Step{{Op: Read, Name: "list"}, {Op: Read, Name: "level"}, {Op: Work, For: g.lasting()}}}
	g.program.Plan.Servers = append(g.program.Plan.Servers, s)
}

// relay plays the relays.
func (w *world) relay() {
	key, err := w.secret.Relay(deployment)
	for i, span := range w.program.Joining.Relays {
		w.running.Go(func() {
			if err != nil || !w.sleepUntil(span.From, nil) {
				return
			}
			ctx, end := context.WithTimeout(w.ctx, span.To-span.From)
			defer end()
			for _, kill := range append(slices.Clone(w.program.Joining.Kills), 0) {
				if w.relayOnce(ctx, key, i, kill); ctx.Err() != nil || !w.sleep(2*time.Second, ctx.Done()) {
					return
				}
			}
		})
	}
}

// relayOnce is a relay until it is killed, at some request to the coordinator; 0 is at none.
func (w *world) relayOnce(ctx context.Context, key protocol.RelayKey, i, kill int) {
	ctx, killed := context.WithCancel(ctx)
	defer killed()
	by := &operator{dies: kill, died: func() {
		w.history.count("relays killed")
		w.trace("relay %d is killed", i)
		w.relayKilled.Store(int64(w.cluster.now()))
		killed()
	}}
	store := w.cluster.open(nil, fmt.Sprint("relay ", i), ctx.Done(), by, []store.Credential{key.Credential()})
	defer store.Close()
	r := &relay.Relay{Heat: members{w}, Store: store, Key: key, Name: fmt.Sprint("relay", i), Every: time.Second,
		Say: func(text string) { w.trace("relay %d: %s", i, text) }}
	if err := r.Run(ctx); ctx.Err() == nil {
		w.history.violate("relay %d ended by itself: %v", i, err)
	}
}

// lastRelay is when the relay that stays must know who is gone, even if no relay saw them.
func (w *world) lastRelay() time.Duration {
	if w.program.Joining == nil {
		return 0
	}
	j := w.program.Joining
	last := max(j.Relays[len(j.Relays)-1].From, time.Duration(w.relayKilled.Load()))
	if len(j.Levels) > 0 {
		last = max(last, j.Levels[len(j.Levels)-1])
	}
	return max(last, w.Faults.last()) + contract.DefaultIfDown*time.Second + unknown
}

// members is Heat, for a relay.
type members struct{ world *world }

// Stack implements relay.Heat.
func (m members) Stack(context.Context, string) (*heatapi.Stack, error) {
	state := heatapi.State("UPDATE_COMPLETE")
	for _, x := range m.world.machines {
		if x.Undone > 0 && x.Undone <= m.world.cluster.now() && !isClosed(x.gone) {
			state = "ROLLBACK_IN_PROGRESS"
		}
	}
	return &heatapi.Stack{Name: stackName, ID: stackID, State: state}, nil
}

// waitsAgain reports that Heat has gone back to a machine, and waits until that is the server
// again.
func (w *world) waitsAgain(x *Machine) bool {
	return slices.ContainsFunc(w.machines, func(m *machine) bool {
		return m.Server == x.Server && m.Undone > 0 && m.Undone <= w.cluster.now() && w.numberOf(x) > 0
	}) && w.instance(x.Server) != x.Instance
}

// instance is the machine that a server is on.
func (w *world) instance(server contract.ServerPath) string {
	all := w.cluster.changesOf(deployment.Server(server))
	if len(all) == 0 {
		return ""
	}
	return incarnation(all[len(all)-1].data).Instance
}

// Deployments implements relay.Heat. Heat lists a machine a while after it has created it.
func (m members) Deployments(context.Context, string) ([]heatapi.Deployment, error) {
	w := m.world
	if within(w.Faults.HeatDown, w.cluster.now()) {
		return nil, errors.New("no route to host")
	}
	var all []heatapi.Deployment
	for n := range w.program.Joining.Members {
		x := w.inHeat(memberPath(n))
		if x == nil {
			continue
		}
		about, _ := json.Marshal(contract.HeatWaitAbout{Format: contract.HeatWaitFormat, Deployment: stackName, Stack: string(memberPath(n)), Wait: "hotc_here", Here: true})
		servers, _ := json.Marshal(contract.HeatServers{{Server: x.Server, ID: x.Instance}})
		status := string(protocol.HeatDone)
		if w.waitsAgain(x) {
			status = string(protocol.HeatWaits)
		}
		all = append(all, heatapi.Deployment{ID: x.String(), Status: status, Inputs: map[string]json.RawMessage{"hotc": about, "servers": servers}})
	}
	if x := w.inHeat(follower); x != nil {
		about, _ := json.Marshal(contract.HeatWaitAbout{Format: contract.HeatWaitFormat, Deployment: stackName, Wait: "hotc_done"})
		servers, _ := json.Marshal(contract.HeatServers{{Server: x.Server, ID: x.Instance, Values: map[string]json.RawMessage{"level": w.program.Joining.level(w.cluster.now())}}})
		status := string(protocol.HeatDone)
		if w.waitsAgain(x) {
			status = string(protocol.HeatWaits)
		}
		all = append(all, heatapi.Deployment{ID: "hotc_done", Status: status, Inputs: map[string]json.RawMessage{"hotc": about, "servers": servers}})
	}
	if d := w.dice; d.chance(0.1, w.cluster.now(), "Heat answers late") {
		time.Sleep(d.between(time.Second, latestAnswer, w.cluster.now(), "how late"))
	}
	return all, nil
}

// latestAnswer is how late Heat answers at most, latestWrite how long after that a relay has
// recorded the answer.
const (
	latestAnswer = 20 * time.Second
	latestWrite  = 10 * time.Second
)

// EndDeployment implements relay.Heat.
func (m members) EndDeployment(context.Context, string, heatapi.DeploymentEnd) (*heatapi.Deployment, error) {
	return nil, heatapi.ErrNotFound
}

// inHeat is the machine that Heat has as a server; nil is none.
func (w *world) inHeat(server contract.ServerPath) *Machine {
	return w.inHeatAt(server, w.cluster.now())
}

func (w *world) inHeatAt(server contract.ServerPath, now time.Duration) *Machine {
	var newest *Machine
	for i := range w.Faults.Machines {
		m := &w.Faults.Machines[i]
		if from := m.Made + w.dice.between(0, 20*time.Second, "Heat has", m); m.Server == server && from <= now && (m.Undone == 0 || m.Undone > now) && (newest == nil || m.Number > newest.Number) {
			newest = m
		}
	}
	if newest != nil && newest.Gone > 0 && newest.Gone <= now {
		return nil
	}
	return newest
}

// judgeMachines checks whether each server is the machine that Heat has, if that has an agent, and
// whether an older machine has replaced a newer one that was there.
func (w *world) judgeMachines(v *verdict) {
	for _, s := range w.program.Plan.Servers {
		x := w.inHeat(s.Path)
		for _, m := range w.machines {
			if m.Machine == x && m.last.Load() != nil && !m.last.Load().isEnded() && !m.left.Load() && v.servers[s.Path].Incarnation.Instance != x.Instance {
				w.history.violate("Heat has %v, whose agent is there, and the server is instance %s", x, v.servers[s.Path].Incarnation.Instance)
			}
		}
		var before *machine
		for _, x := range w.cluster.changesOf(deployment.Server(s.Path)) {
			now := x.machine
			if now != nil && before != nil && now.Number < before.Number && before.Undone == 0 && !before.left.Load() && !isClosed(before.gone) {
				w.history.violate("at %v %v has taken the place of %v, which is newer", w.cluster.at(x), now, before)
			}
			if before != nil && now != before {
				w.history.count("machines that were replaced")
			}
			before = now
		}
	}
}

// judgeJoining compares what the follower has run with to the members that Heat has.
func (w *world) judgeJoining(v *verdict) {
	if w.program.Joining == nil {
		return
	}
	w.judgeMachines(v)
	s := w.program.Plan.Servers[len(w.program.Plan.Servers)-1]
	if w.stuck(v, s, s.Roles[0]) {
		return
	}
	w.history.count("followers of groups up to date")
	has := v.role(follower, "r").Followed
	if x := w.inHeat(follower); x != nil && v.servers[follower].Incarnation.Instance == x.Instance {
		want := protocol.HeatRecordOf(w.program.Joining.level(w.cluster.now()), 0)
		w.history.count("followers with what Heat gives last")
		if has[contract.HeatCell("level")] != want.At() {
			w.history.violate("the follower has run with another value than Heat gives: %s", want.Value)
		}
	}
	for n := range w.program.Joining.Members {
		path, m := memberPath(n), w.inHeat(memberPath(n))
		is := v.servers[path]
		there := m != nil && is.Incarnation.Number > 0 && is.Incarnation.Instance == m.Instance
		want := map[contract.CellName]protocol.Count{}
		for _, o := range w.program.Plan.Servers[n].Roles[0].Outputs {
			if r := is.Cells[o.Cell]; r.State == protocol.Valued && !r.RoleFailed && there {
				want[o.Cell] = r.At()
			}
		}
		if len(want) < len(w.program.Plan.Servers[n].Roles[0].Outputs) {
			clear(want)
		}
		if len(want) > 0 {
			w.history.count("members that are in their group at rest")
		}
		for _, o := range w.program.Plan.Servers[n].Roles[0].Outputs {
			if has[o.Cell] != want[o.Cell] {
				w.history.violate("the follower has %v of %s, and Heat has %v: want %v", has[o.Cell], o.Cell, m, want[o.Cell])
			}
		}
	}
}

// joinedLists checks a list that the follower has read: it has no machine that Heat has deleted so
// long ago that its relay, if there was one, and agent must know.
func (w *world) joinedList(value string) {
	var lists [][]string
	if json.Unmarshal([]byte(value), &lists) != nil {
		return
	}
	w.history.count("lists of members")
	now := w.cluster.now()
	i := slices.IndexFunc(w.program.Joining.Relays, func(s Span) bool { return s.From+unknown < now && now < s.To })
	for _, of := range lists {
		text, _ := json.Marshal(of)
		for _, o := range origins(string(text)) {
			for _, version := range o.Of {
				for k := range w.Faults.Machines {
					m := &w.Faults.Machines[k]
					if m.Gone > 0 && i >= 0 && version == fmt.Sprintf("0 on %v", m) && now-m.Gone > unknown+time.Minute+contract.DefaultIfDown*time.Second { // Heat may be slow
						w.history.violate("at %v the follower reads %s of %v, which is gone since %v", now, o.Cell, m, m.Gone)
					}
				}
			}
		}
	}
}

// Definition implements relay.Heat. None of this stack's values is passed on.
func (m members) Definition(context.Context, *heatapi.Stack) (json.RawMessage, error) {
	return nil, heatapi.ErrNotFound
}

// Resources implements relay.Heat: the newest machine of each server.
func (m members) Resources(context.Context, string, string, int) ([]heatapi.Resource, error) {
	w := m.world
	if within(w.Faults.HeatDown, w.cluster.now()) {
		return nil, heatapi.ErrUnreachable
	}
	var all []heatapi.Resource
	for _, s := range w.program.Plan.Servers {
		if x := w.newestInHeat(s.Path, w.cluster.now()); x != nil {
			state := heatapi.State("CREATE_COMPLETE")
			if x.Gone > 0 && x.Gone <= w.cluster.now() {
				state = "DELETE_IN_PROGRESS"
			}
			all = append(all, heatapi.Resource{ID: x.Instance, State: state})
		}
	}
	return all, nil
}

// newestInHeat is the machine that Heat has created last for a server.
func (w *world) newestInHeat(server contract.ServerPath, now time.Duration) (newest *Machine) {
	for i := range w.Faults.Machines {
		if m := &w.Faults.Machines[i]; m.Server == server && m.Made <= now && (m.Undone == 0 || m.Gone > now) && (newest == nil || m.Number > newest.Number) {
			newest = m
		}
	}
	return newest
}

// Signals implements relay.Heat.
func (m members) Signals(context.Context, string, string, string) (map[string]string, error) {
	return nil, nil
}

// Signal implements relay.Heat.
func (m members) Signal(context.Context, string, string, string, any) error { return nil }
