package waits_test

import (
	"fmt"
	"maps"

	"github.com/hotc-dev/hotc/analysis/waits"
)

// explorer is the oracle: it tries every interleaving and every way of every fork
// of a small net. It shares only the net's types with the analysis.
type explorer struct {
	net   *waits.Net
	nodes []node
	seen  map[string]bool
	// hangs and ends count final states in which some process is blocked, or none.
	hangs, ends int
}

// node is a place in a process: its step and where it continues.
type node struct {
	step *waits.Step
	next []int // one, or one for each way of a choice
	end  bool  // of a task
	task int
}

const done = -1

type situation struct {
	at    []int
	cells []byte // 0 empty, 1 written, 2 failed
	keys  map[string]int
}

func (s situation) String() string { return fmt.Sprint(s.at, s.cells, s.keys) }

func (s situation) clone() situation {
	return situation{append([]int(nil), s.at...), append([]byte(nil), s.cells...), maps.Clone(s.keys)}
}

// explore tries all runs, with some keys decided in advance.
func explore(n *waits.Net, decided map[string]int) *explorer {
	e := &explorer{net: n, seen: map[string]bool{}}
	s := situation{cells: make([]byte, len(n.Cells)), keys: maps.Clone(decided)}
	if s.keys == nil {
		s.keys = map[string]int{}
	}
	for p := range n.Processes {
		entry := done
		for t := len(n.Processes[p].Tasks) - 1; t >= 0; t-- {
			e.nodes = append(e.nodes, node{end: true, task: t, next: []int{entry}})
			entry = e.compile(n.Processes[p].Tasks[t].Body, len(e.nodes)-1, t)
		}
		s.at = append(s.at, entry)
	}
	e.visit(s)
	return e
}

// compile turns steps into nodes that continue at next; it returns the first.
func (e *explorer) compile(steps []waits.Step, next, task int) int {
	for i := len(steps) - 1; i >= 0; i-- {
		n := node{step: &steps[i], task: task, next: []int{next}}
		if steps[i].Op == waits.Choice {
			n.next = nil
			for _, way := range steps[i].Ways {
				n.next = append(n.next, e.compile(way, next, task))
			}
		}
		e.nodes = append(e.nodes, n)
		next = len(e.nodes) - 1
	}
	return next
}

func (e *explorer) visit(s situation) {
	if key := s.String(); e.seen[key] {
		return
	} else {
		e.seen[key] = true
	}
	moved, alive := false, false
	for p := range s.at {
		if s.at[p] != done {
			alive = true
			moved = e.move(s, p) || moved
		}
	}
	switch {
	case moved:
	case alive:
		e.hangs++
	default:
		e.ends++
	}
}

// move takes every step that a process can take; false if it can take none.
func (e *explorer) move(s situation, p int) bool {
	n := e.nodes[s.at[p]]
	to := func(next int, change func(*situation)) {
		t := s.clone()
		t.at[p] = next
		if change != nil {
			change(&t)
		}
		e.visit(t)
	}
	die := func(t *situation) { e.die(t, p, n.task) }
	if n.end {
		for _, c := range e.net.Processes[p].Tasks[n.task].Owns {
			if s.cells[c] == 0 {
				to(done, die)
				return true
			}
		}
		to(n.next[0], nil)
		return true
	}
	switch n.step.Op {
	case waits.Write:
		to(n.next[0], func(t *situation) {
			if t.cells[n.step.Cell] == 0 {
				t.cells[n.step.Cell] = 1
			}
		})
	case waits.Choice:
		for way, next := range n.next {
			if decided, is := s.keys[n.step.Key]; n.step.Key != "" && is && decided != way {
				continue
			}
			to(next, func(t *situation) {
				if n.step.Key != "" {
					t.keys[n.step.Key] = way
				}
			})
		}
	case waits.Read:
		switch c := s.cells[n.step.Cell]; {
		case c == 0 && n.step.Timeout == 0:
			return false
		case c == 0 || c == 2 && !n.step.Tolerant:
			to(done, die)
		default:
			to(n.next[0], nil)
		}
	}
	return true
}

func (e *explorer) die(s *situation, p, task int) {
	for _, t := range e.net.Processes[p].Tasks[task:] {
		for _, c := range t.Owns {
			if s.cells[c] == 0 {
				s.cells[c] = 2
			}
		}
	}
}
