package timeline

import (
	"slices"

	"github.com/hotc-dev/hotc/analysis/waits"
)

// WholeServers is the makespan if Heat ordered whole servers (depends_on between
// the same resources): each begins when all servers that it reads from are done. False
// if that would be a cycle, which Heat refuses.
func WholeServers(n *waits.Net, d Durations) (makespan float64, possible bool) {
	early, _ := n.Bounds()
	owner := n.Owners()
	begins := begins(n, early)
	needs := make([]map[int]bool, len(n.Processes))
	readers := make([][]int, len(n.Processes))
	length := make([]float64, len(n.Processes))
	s := &simulation{net: n, durations: d}
	for p, tasks := range early {
		needs[p] = map[int]bool{}
		seen := map[waits.CellID]bool{}
		var need func(cell waits.CellID)
		need = func(cell waits.CellID) {
			if seen[cell] {
				return
			}
			seen[cell] = true
			if before, begun := begins[cell]; begun {
				for _, c := range before {
					need(c)
				}
				return
			}
			if q, known := owner[cell]; known && q != p && !needs[p][q] {
				needs[p][q] = true
				readers[q] = append(readers[q], p)
			}
		}
		for t, steps := range tasks {
			length[p] += s.length(p, t)
			for i := range steps {
				if steps[i].Op == waits.Read {
					need(steps[i].Cell)
				}
			}
		}
	}
	start, left := make([]float64, len(needs)), make([]int, len(needs))
	var ready []int
	for p := range needs {
		if left[p] = len(needs[p]); left[p] == 0 {
			ready = append(ready, p)
		}
	}
	done := 0
	for len(ready) > 0 {
		p := ready[0]
		ready = ready[1:]
		done++
		end := start[p] + length[p]
		makespan = max(makespan, end)
		for _, q := range readers[p] {
			start[q] = max(start[q], end)
			if left[q]--; left[q] == 0 {
				ready = append(ready, q)
			}
		}
	}
	return makespan, done == len(needs)
}

// begins are the cells that only mark the start of Heat's work, such as that of a nested
// stack before it waits for its members, with the cells read before.
func begins(n *waits.Net, early [][][]waits.Step) map[waits.CellID][]waits.CellID {
	out := map[waits.CellID][]waits.CellID{}
	for p, process := range n.Processes {
		for t := range process.Tasks {
			if !process.Tasks[t].Heat {
				continue
			}
			var read, written []waits.CellID
			for _, step := range early[p][t] {
				switch step.Op {
				case waits.Write:
					written = append(written, step.Cell)
					out[step.Cell] = slices.Clone(read)
				case waits.Read:
					read = append(read, step.Cell)
					written = nil
				}
			}
			for _, cell := range written { // no read follows these
				delete(out, cell)
			}
		}
	}
	return out
}
