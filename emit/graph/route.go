package graph

import (
	"math"
	"slices"
)

// point is a place in a picture.
type point struct{ x, y float64 }

// curve is a cubic Bézier curve.
type curve struct{ a, b, c, d point }

func (c curve) at(t float64) point {
	u := 1 - t
	return point{u*u*u*c.a.x + 3*u*u*t*c.b.x + 3*u*t*t*c.c.x + t*t*t*c.d.x, u*u*u*c.a.y + 3*u*u*t*c.b.y + 3*u*t*t*c.c.y + t*t*t*c.d.y}
}

// between is a curve that leaves and arrives level; it goes right if d is right of a.
func between(a, d point) curve {
	bend := math.Max(50, math.Abs(d.x-a.x)/2)
	if d.x < a.x {
		bend = -bend
	}
	return curve{a, point{a.x + bend, a.y}, point{d.x - bend, d.y}, d}
}

// backward is how much lower an arrow to the left meets a box than one to the right.
const backward = 7

// route is the way of an arrow: through the gaps that were left for it, one curve from
// column to column.
func (p *picture) route(e *Edge) []curve {
	from, to := p.layout.byName[e.From.Server], p.layout.byName[e.To.Server]
	a, d := point{from.x + from.w, from.port(e.From)}, point{to.x, to.port(e.To)}
	switch {
	case from == to: // beside the box
		d.x = to.x + to.w
		if e.From == e.To {
			a.y, d.y = a.y-backward, d.y+backward
		}
		return []curve{{a, point{a.x + 46, a.y}, point{d.x + 46, d.y}, d}}
	case from.column == to.column: // around, on the right
		d.x = to.x + to.w
		far := 50 + math.Min(80, math.Abs(d.y-a.y)/4)
		return []curve{{a, point{a.x + far, a.y}, point{d.x + far, d.y}, d}}
	case from.column < to.column:
		return through(a, p.layout.via[[2]*box{from, to}], d)
	}
	a, d = point{from.x, a.y + backward}, point{to.x + to.w, d.y + backward}
	back := slices.Clone(p.layout.via[[2]*box{to, from}])
	slices.Reverse(back)
	return through(a, back, d)
}

// through goes through gaps.
func through(a point, gaps []*box, d point) []curve {
	var route []curve
	for _, g := range gaps {
		in, out := point{g.x, g.y + g.h/2 - backward}, point{g.x + g.w, g.y + g.h/2 - backward}
		if a.x > g.x { // to the left, a bit lower
			in, out = point{g.x + g.w, g.y + g.h/2 + backward}, point{g.x, g.y + g.h/2 + backward}
		}
		route = append(route, between(a, in))
		a = out
	}
	return append(route, between(a, d))
}
