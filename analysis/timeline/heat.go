package timeline

import "github.com/hotc-dev/hotc/analysis/waits"

// WholeServers is the makespan if Heat ordered whole servers (depends_on between
// the same resources): each begins when all it needs anything of are done. False
// if that would be a circle, which Heat refuses.
func WholeServers(n *waits.Net, d Durations) (makespan float64, possible bool) {
	early, _ := n.Bounds()
	owner := map[waits.CellID]int{}
	for p, process := range n.Processes {
		for _, t := range process.Tasks {
			for _, cell := range t.Owns {
				owner[cell] = p
			}
		}
	}
	needs := make([]map[int]bool, len(n.Processes))
	readers := make([][]int, len(n.Processes))
	length := make([]float64, len(n.Processes))
	s := &simulation{net: n, durations: d}
	for p, tasks := range early {
		needs[p] = map[int]bool{}
		for t, steps := range tasks {
			length[p] += s.length(p, t)
			for i := range steps {
				if q, known := owner[steps[i].Cell]; steps[i].Op == waits.Read && known && q != p && !needs[p][q] {
					needs[p][q] = true
					readers[q] = append(readers[q], p)
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
