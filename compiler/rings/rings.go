// Package rings finds what reaches itself in a graph: its strongly connected components.
package rings

// Of gives nodes that reach each other one number (Tarjan's algorithm).
func Of[N comparable](nodes []N, next func(N) []N) map[N]int {
	ring, order, low := map[N]int{}, map[N]int{}, map[N]int{}
	var open []N
	var visit func(n N)
	visit = func(n N) {
		order[n] = len(order) + 1
		low[n] = order[n]
		begin := len(open)
		open = append(open, n)
		for _, to := range next(n) {
			switch {
			case order[to] == 0:
				visit(to)
				low[n] = min(low[n], low[to])
			case ring[to] == 0:
				low[n] = min(low[n], order[to])
			}
		}
		if low[n] == order[n] {
			for _, one := range open[begin:] {
				ring[one] = order[n]
			}
			open = open[:begin]
		}
	}
	for _, n := range nodes {
		if order[n] == 0 {
			visit(n)
		}
	}
	return ring
}
