package simulationtest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// register is a cell as its users see it: a write-once register with incarnations.
type register struct {
	incarnation int
	state       protocol.CellState
	value       string
}

// act is an operation on a cell as its caller saw it.
type act struct {
	op     string // enrol, put, fail, read, destroy
	number int    // the caller's incarnation, where it writes
	value  string // written or read
	failed bool   // the read saw a failed cell
	// unknown says that the caller never learned the result.
	unknown bool
	left    register // by a loss
}

// registerModel is the specification of a cell.
var registerModel = porcupine.Model{
	Init: func() any { return register{state: protocol.Empty} },
	Step: func(state, input, _ any) (bool, any) {
		return input.(act).step(state.(register))
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

func (a act) step(r register) (bool, register) {
	mine := a.number == r.incarnation
	switch a.op {
	case "enrol":
		return a.number > r.incarnation, register{incarnation: a.number, state: protocol.Empty}
	case "destroy":
		return true, register{state: protocol.Empty}
	case "lose":
		return true, a.left
	case "fail":
		return mine && r.state == protocol.Empty, register{r.incarnation, protocol.Failed, ""}
	case "put":
		if mine && r.state == protocol.Empty {
			return true, register{r.incarnation, protocol.Valued, a.value}
		}
		return a.unknown || mine && r.state == protocol.Valued && r.value == a.value, r
	default:
		if a.failed {
			return r.state == protocol.Failed, r
		}
		return r.state == protocol.Valued && r.value == a.value, r
	}
}

// checkCells checks every cell's history twice: as the callers saw it, whether a register could
// have answered so in some order; and in truth, commit by commit.
func (h *history) checkCells() {
	if h.world.program.Follow { // cells are not write-once registers there
		h.checkCommits()
		return
	}
	acts := map[contract.CellName][]porcupine.Operation{}
	h.commitActs(acts)
	h.accessActs(acts)
	for _, c := range h.world.program.Plan.Cells {
		if !porcupine.CheckOperations(registerModel, acts[c.Name]) {
			h.violate("what was seen of %s is not what a cell shows: %s", c.Name, describe(h.world.cluster.begin, acts[c.Name]))
		}
	}
	h.checkCommits()
}

func describe(begin time.Time, operations []porcupine.Operation) string {
	var b strings.Builder
	for _, o := range operations {
		end := "never"
		if o.Return != math.MaxInt64 {
			end = time.Duration(o.Return - begin.UnixNano()).String()
		}
		fmt.Fprintf(&b, "\n    %v to %v: %+v", time.Duration(o.Call-begin.UnixNano()), end, o.Input)
	}
	return b.String()
}

// until is when an operation was over; never, if its end was never reported.
func until(t time.Time) int64 {
	if t.IsZero() {
		return math.MaxInt64
	}
	return t.UnixNano()
}

// commitActs are the enrolments and failures, which agents do by themselves, and
// the publishing of facts and completions.
func (h *history) commitActs(acts map[contract.CellName][]porcupine.Operation) {
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cl := range h.world.program.Plan.Cells {
		path := deployment.Cell(contract.CellRef{Cell: cl.Name, Server: cl.Server})
		for _, x := range c.nodes[path] {
			number := incarnation(c.state(deployment.Server(cl.Server), x.commit+1).data).Number
			if at := c.commits[x.commit].at.UnixNano(); x.exists && !c.state(path, x.commit).exists && !c.commits[x.commit].lost && number > 0 { // a change adds it
				acts[cl.Name] = append(acts[cl.Name], porcupine.Operation{Call: at, Return: at + 1, Input: act{op: "lose", left: register{incarnation: number, state: protocol.Empty}}})
			}
		}
	}
	for i := range c.commits {
		x := &c.commits[i]
		for _, name := range x.gone {
			acts[name] = append(acts[name], porcupine.Operation{Call: x.at.UnixNano(), Return: x.at.UnixNano() + 1, Input: act{op: "destroy"}})
		}
		for _, cl := range h.world.program.Plan.Cells {
			if x.lost {
				acts[cl.Name] = append(acts[cl.Name], porcupine.Operation{Call: x.at.UnixNano(), Return: x.at.UnixNano() + 1, Input: c.lossOf(h.world, cl, i)})
			}
		}
		if x.machine == nil {
			continue
		}
		for _, w := range x.writes {
			for _, cl := range h.world.program.Plan.Cells {
				operation := porcupine.Operation{Call: x.asked.UnixNano(), Return: until(x.answered)}
				switch w.path {
				case deployment.Server(cl.Server):
					if operation.Input = (act{op: "enrol", number: incarnation(w.data).Number}); incarnation(w.data) == incarnation(c.state(w.path, i).data) {
						continue
					}
				case deployment.Cell(contract.CellRef{Cell: cl.Name, Server: cl.Server}):
					r := cell(w.data)
					again := c.lossesBefore(i)
					if again {
						r = c.plain(h.world, contract.CellRef{Cell: cl.Name, Server: cl.Server}, i+1)
					}
					before := cell(c.state(w.path, i).data)
					switch {
					case r.State == protocol.Failed && before.State == r.State && before.Incarnation == r.Incarnation && before.Cause.String() == r.Cause.String():
						continue // it has another stamp
					case r.State == protocol.Failed:
						operation.Input = act{op: "fail", number: r.Incarnation}
					case r.State == protocol.Valued && (again || isCompletion(cl.Name) || cl.Role == ""):
						operation.Input = act{op: "put", number: r.Incarnation, value: string(r.Value)}
					default:
						continue
					}
				default:
					continue
				}
				acts[cl.Name] = append(acts[cl.Name], operation)
			}
		}
	}
}

// accessActs are the roles' reads and writes. A role that reads a cell again gets its first value:
// all its reads of it are one.
func (h *history) accessActs(acts map[contract.CellName][]porcupine.Operation) {
	type shown struct {
		run  *run
		cell contract.CellName
	}
	type reading struct {
		porcupine.Operation
		value string
	}
	first := map[shown]*reading{}
	begun := map[shown]time.Time{}
	for _, a := range h.accesses {
		m := a.run.process.machine
		if a.write {
			operation := porcupine.Operation{Call: a.called.UnixNano(), Return: until(a.returned),
				Input: act{op: "put", number: h.number(m), value: a.value}}
			if a.returned.IsZero() || a.err != nil {
				operation.Return = math.MaxInt64
				operation.Input = act{op: "put", number: h.number(m), value: a.value, unknown: true}
			}
			acts[a.cells[0]] = append(acts[a.cells[0]], operation)
			continue
		}
		from := h.sawAt(a)
		for _, c := range a.cells {
			key := shown{a.run, c}
			if t, before := begun[key]; !before || from.Before(t) {
				begun[key] = from
			}
		}
		for _, o := range a.observations() {
			key := shown{a.run, o.cell}
			operation := porcupine.Operation{Call: begun[key].UnixNano(), Return: until(a.returned),
				Input: act{op: "read", value: o.value, failed: o.failed}}
			if o.failed {
				acts[o.cell] = append(acts[o.cell], operation)
				continue
			}
			if r := first[key]; r == nil {
				first[key] = &reading{operation, o.value}
			} else if r.value != o.value {
				h.violate("%s of %v saw two values of %s: %s, %s", a.run.key, a.run.process, o.cell, r.value, o.value)
			} else {
				r.Return = min(r.Return, operation.Return)
			}
		}
	}
	for key, r := range first {
		acts[key.cell] = append(acts[key.cell], r.Operation)
	}
}

// sawAt is the earliest moment of the state that a read may show: its call or, on a replica that is
// behind, when that was the whole state.
func (h *history) sawAt(a *access) time.Time {
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.faults.Lag == 0 || a.seen >= len(c.commits) || !c.commits[a.seen].at.Before(a.called) {
		return a.called
	}
	from := c.commits[a.seen].at.Add(-1)
	if earliest := a.called.Add(-c.faults.Lag); from.Before(earliest) {
		return earliest
	}
	return from
}

// observation is what a read reveals of one cell.
type observation struct {
	cell   contract.CellName
	value  string
	failed bool
}

func (a *access) observations() []observation {
	switch {
	case a.returned.IsZero():
		return nil
	case a.err != nil:
		// "blocked on CELL (input NAME) …, because …": the cell had failed.
		for _, c := range a.cells {
			if text := a.err.Error(); strings.Contains(text, "blocked on "+string(c)+" (") && strings.Contains(text, "\n  because ") {
				return []observation{{cell: c, failed: true}}
			}
		}
		return nil
	case len(a.cells) > 1:
		var values []json.RawMessage
		if json.Unmarshal([]byte(a.value), &values) != nil || len(values) != len(a.cells) {
			return []observation{{cell: a.cells[0], value: a.value}}
		}
		var all []observation
		for i, c := range a.cells {
			all = append(all, observation{cell: c, value: string(values[i])})
		}
		return all
	case a.input.Default != nil && a.value == string(a.input.Default), a.input.Optional && a.value == "null":
		return []observation{{cell: a.cells[0], failed: true}}
	}
	return []observation{{cell: a.cells[0], value: a.value}}
}

// checkCommits goes through the truth: no write for an incarnation other than the server's, one
// write of a cell in each, and a new one finds the cell empty.
func (h *history) checkCommits() {
	c := h.world.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []string
	for _, s := range h.world.program.Plan.Servers {
		found = append(found, c.checkServer(s, h.world.program.Follow)...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.violations = append(h.violations, found...)
}

func (c *cluster) checkServer(s contract.Server, follow bool) (found []string) {
	wrong := func(n int, format string, arguments ...any) {
		found = append(found, fmt.Sprintf("%v, %s: %s", c.commits[n].at.Sub(c.begin), c.commits[n].session, fmt.Sprintf(format, arguments...)))
	}
	for _, x := range c.nodes[deployment.Server(s.Path)] {
		if c.commits[x.commit].lost {
			continue
		}
		before := incarnation(c.state(deployment.Server(s.Path), x.commit).data)
		now := incarnation(x.data)
		lossy := c.lossesBefore(x.commit)
		if lossy && now == before {
			continue // its version has to be raised
		}
		if x.version > 0 && now.Number != before.Number+1 && !(lossy && now.Number > before.Number) {
			wrong(x.commit, "incarnation %d of %s after %d", now.Number, s.Path, before.Number)
		}
		for _, name := range s.Writes {
			left := c.state(deployment.Cell(contract.CellRef{Cell: name, Server: s.Path}), x.commit+1)
			if state := cell(left.data).State; left.exists && state != protocol.Empty && now.Number > 0 {
				wrong(x.commit, "incarnation %d of %s begins with %s %s", now.Number, s.Path, name, state)
			}
		}
	}
	for _, name := range s.Writes {
		path := deployment.Cell(contract.CellRef{Cell: name, Server: s.Path})
		for _, x := range c.nodes[path] {
			before, now := cell(c.state(path, x.commit).data), cell(x.data)
			stamped := now.Version == before.Version && content(now) == content(before) // only a stamp of its origin
			number := incarnation(c.state(deployment.Server(s.Path), x.commit+1).data).Number
			switch {
			case x.version == 0, c.commits[x.commit].lost:
			case now.Incarnation != number:
				wrong(x.commit, "%s is written for incarnation %d, the server is at %d", name, now.Incarnation, number)
			case now.State == protocol.Empty && before.Incarnation >= number:
				wrong(x.commit, "%s is emptied in its own incarnation", name)
			case x.machine != c.serverAt(s.Path, x.commit+1):
				wrong(x.commit, "%s is written by a machine that is not %s", name, s.Path)
			case now.State != protocol.Empty && before.State != protocol.Empty && before.Incarnation == number && (follow || stamped):
				same := content(now) == content(before)
				next := now.Version == before.Version+1 && !same || now.Version > before.Version+1 && c.lossesBefore(x.commit) // a value in between was lost
				if now.State != before.State || now.Version != before.Version && !next || now.Version == before.Version && !same {
					wrong(x.commit, "version %d of %s follows version %d, the same value %v", now.Version, name, before.Version, same)
				}
			case now.State != protocol.Empty && before.State != protocol.Empty && before.Incarnation == number:
				wrong(x.commit, "%s is written again in incarnation %d", name, number)
			}
		}
	}
	return found
}

// content is what a cell holds, sealed or not.
func content(r protocol.CellRecord) string { return string(r.Value) + r.Sealed }

// serverAt is the machine that was a server after that many commits. Locked.
func (c *cluster) serverAt(path contract.ServerPath, view int) *machine {
	if x := c.state(deployment.Server(path), view); x.exists {
		return x.machine
	}
	return nil
}
