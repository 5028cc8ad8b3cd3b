package follow

import "github.com/hotc-dev/hotc/compiler/program"

// rings gives roles that reach each other one number (Tarjan's algorithm).
func rings(roles []*program.Role, next func(*program.Role) []*program.Role) map[*program.Role]int {
	ring, order, low := map[*program.Role]int{}, map[*program.Role]int{}, map[*program.Role]int{}
	var open []*program.Role
	var visit func(r *program.Role)
	visit = func(r *program.Role) {
		order[r] = len(order) + 1
		low[r] = order[r]
		begin := len(open)
		open = append(open, r)
		for _, to := range next(r) {
			switch {
			case order[to] == 0:
				visit(to)
				low[r] = min(low[r], low[to])
			case ring[to] == 0:
				low[r] = min(low[r], order[to])
			}
		}
		if low[r] == order[r] {
			for _, one := range open[begin:] {
				ring[one] = order[r]
			}
			open = open[:begin]
		}
	}
	for _, r := range roles {
		if order[r] == 0 {
			visit(r)
		}
	}
	return ring
}
