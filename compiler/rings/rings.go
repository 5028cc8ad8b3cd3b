// Package rings finds cycles and strongly connected components of a graph.
package rings

// Of numbers the strongly connected component of each node (Tarjan's algorithm).
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

// First is the first cycle of a depth-first search, as its edges; nil if there is none.
func First[N comparable, E any](nodes []N, edges func(from N, yield func(edge E, to N) bool)) []E {
	var path []E
	seen, place := map[N]bool{}, map[N]int{} // place is a node's index on the path
	var visit func(n N) []E
	visit = func(n N) (cycle []E) {
		if i, on := place[n]; on {
			return path[i:]
		}
		if seen[n] {
			return nil
		}
		seen[n], place[n] = true, len(path)
		edges(n, func(edge E, to N) bool {
			path = append(path, edge)
			if cycle = visit(to); cycle == nil {
				path = path[:len(path)-1]
			}
			return cycle == nil
		})
		delete(place, n)
		return cycle
	}
	for _, n := range nodes {
		if cycle := visit(n); cycle != nil {
			return cycle
		}
	}
	return nil
}
