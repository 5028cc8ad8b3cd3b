package graph

import (
	"cmp"
	"math"
	"slices"
)

// The layout is layered (Sugiyama): servers are put in columns so that most arrows point to the
// right, the rows of a column are ordered by the mean row of their neighbours, and arrows are
// curves between the columns.

// The measures of boxes, in pixels.
const (
	roleHeight = 30
	headHeight = 26
	boxPadding = 10
	rowGap     = 26
	columnGap  = 150
	boxMin     = 120
	boxMax     = 260
)

// box is a placed server or, without a server, a gap through which arrows pass a column.
type box struct {
	server *Server
	column int
	order  int
	x, y   float64
	w, h   float64
}

type layout struct {
	boxes   []*box
	byName  map[string]*box
	columns [][]*box
	// more marks columns that continue the previous one.
	more []bool
	w, h float64
	// in and out are the neighbours of each box.
	in, out map[*box][]*box
	// via are the gaps that arrows between two boxes pass through, from left to right.
	via map[[2]*box][]*box
}

func arrange(g *Graph) *layout {
	l := &layout{byName: map[string]*box{}, in: map[*box][]*box{}, out: map[*box][]*box{}, via: map[[2]*box][]*box{}}
	for i, s := range g.Servers {
		b := &box{server: s, order: i, w: boxMin, h: headHeight + float64(len(s.Roles))*roleHeight + boxPadding}
		b.w = max(b.w, textWidth(s.title())+2*boxPadding+10)
		for _, r := range s.Roles {
			b.w = max(b.w, textWidth(r)+4*boxPadding)
		}
		b.w = min(b.w, boxMax)
		l.boxes = append(l.boxes, b)
		l.byName[s.Name] = b
	}
	seen := map[[2]*box]bool{}
	for _, e := range g.Edges {
		from, to := l.byName[e.From.Server], l.byName[e.To.Server]
		if from != to && !seen[[2]*box{from, to}] {
			seen[[2]*box{from, to}] = true
			l.out[from] = append(l.out[from], to)
			l.in[to] = append(l.in[to], from)
		}
	}
	l.assignColumns()
	l.leaveGaps(g)
	l.orderRows()
	l.place(g)
	return l
}

// assignColumns puts each box behind those it needs. Arrows that close a cycle,
// found depth first, are left out.
func (l *layout) assignColumns() {
	seen, above := map[*box]bool{}, map[*box]bool{} // above are the ancestors of the visited box
	back := map[[2]*box]bool{}
	var finished []*box
	var visit func(b *box)
	visit = func(b *box) {
		seen[b], above[b] = true, true
		for _, to := range l.out[b] {
			if back[[2]*box{b, to}] = above[to]; !seen[to] {
				visit(to)
			}
		}
		above[b] = false
		finished = append(finished, b)
	}
	// Those with the fewest needs come first, so that cycles open at their sources.
	roots := slices.Clone(l.boxes)
	slices.SortStableFunc(roots, func(a, b *box) int { return cmp.Compare(len(l.in[a]), len(l.in[b])) })
	for _, root := range roots {
		if !seen[root] {
			visit(root)
		}
	}
	for _, b := range slices.Backward(finished) {
		for _, to := range l.out[b] {
			if !back[[2]*box{b, to}] {
				to.column = max(to.column, b.column+1)
			}
		}
	}
	for _, b := range l.boxes {
		for len(l.columns) <= b.column {
			l.columns = append(l.columns, nil)
		}
		l.columns[b.column] = append(l.columns[b.column], b)
	}
	l.spread()
}

// mostRows is how many boxes a column holds before it is split.
const mostRows = 24

// spread splits columns that are too long.
func (l *layout) spread() {
	var columns [][]*box
	for _, column := range l.columns {
		parts := (len(column) + mostRows - 1) / mostRows
		size := (len(column) + max(1, parts) - 1) / max(1, parts)
		for from := 0; from < len(column); from += size {
			columns = append(columns, column[from:min(len(column), from+size)])
			l.more = append(l.more, from > 0)
		}
	}
	l.columns = columns
	for i, column := range columns {
		for _, b := range column {
			b.column = i
		}
	}
}

// mostGaps bounds the gaps: if more are needed, arrows may cross boxes.
const mostGaps = 300

// gapHeight is the space for arrows that pass a column.
const gapHeight = 26

// leaveGaps makes room for arrows past columns, in both directions, so that they cross no box.
func (l *layout) leaveGaps(g *Graph) {
	count := 0
	for _, e := range g.Edges {
		left, right := l.ends(e)
		if pair := [2]*box{left, right}; l.via[pair] == nil && right.column > left.column+1 {
			l.via[pair] = make([]*box, right.column-left.column-1)
			count += len(l.via[pair])
		}
	}
	if count > mostGaps {
		l.via = map[[2]*box][]*box{}
		return
	}
	for _, e := range g.Edges { // in arrow order, for a deterministic picture
		left, right := l.ends(e)
		gaps := l.via[[2]*box{left, right}]
		if len(gaps) == 0 || gaps[0] != nil {
			continue
		}
		before := left
		for i := range gaps {
			gaps[i] = &box{column: left.column + 1 + i, order: left.order, h: gapHeight}
			l.columns[gaps[i].column] = append(l.columns[gaps[i].column], gaps[i])
			l.out[before] = append(l.out[before], gaps[i])
			l.in[gaps[i]] = append(l.in[gaps[i]], before)
			before = gaps[i]
		}
		l.out[before] = append(l.out[before], right)
		l.in[right] = append(l.in[right], before)
	}
}

// ends returns the boxes of an arrow, the left one first.
func (l *layout) ends(e *Edge) (left, right *box) {
	left, right = l.byName[e.From.Server], l.byName[e.To.Server]
	if left.column > right.column {
		return right, left
	}
	return left, right
}

// orderRows sweeps back and forth over the columns and sorts each by its neighbours' mean row.
func (l *layout) orderRows() {
	for _, column := range l.columns {
		number(column)
	}
	for round := range 8 {
		for i := range l.columns {
			column, neighbours := l.columns[i], l.in
			if round%2 == 1 {
				column, neighbours = l.columns[len(l.columns)-1-i], l.out
			}
			mean := map[*box]float64{}
			for _, b := range column {
				mean[b] = float64(b.order)
				if n := neighbours[b]; len(n) > 0 {
					sum := 0.0
					for _, x := range n {
						sum += float64(x.order) / float64(max(1, len(l.columns[x.column])-1))
					}
					mean[b] = sum / float64(len(n)) * float64(max(1, len(column)-1))
				}
			}
			slices.SortStableFunc(column, func(a, b *box) int { return cmp.Compare(mean[a], mean[b]) })
			number(column)
		}
	}
}

func number(column []*box) {
	for i, b := range column {
		b.order = i
	}
}

// place sets the boxes' coordinates; columns are centred.
func (l *layout) place(g *Graph) {
	busy := make([]int, len(l.columns)) // arrows that pass the space behind each column
	for _, e := range g.Edges {
		left, right := l.ends(e)
		for i := left.column; i < right.column; i++ {
			busy[i]++
		}
	}
	x := 0.0
	heights := make([]float64, len(l.columns))
	for i, column := range l.columns {
		width := 0.0
		for _, b := range column {
			width = max(width, b.w)
			heights[i] += b.h + rowGap
		}
		for _, b := range column {
			b.x, b.w = x, width
		}
		l.w = x + width
		x += width + columnGap + min(160, float64(busy[i])*20)
		if i+1 < len(l.more) && l.more[i+1] {
			x -= columnGap + min(160, float64(busy[i])*20) - rowGap
		}
		l.h = max(l.h, heights[i]-rowGap)
	}
	for i, column := range l.columns {
		y := (l.h - (heights[i] - rowGap)) / 2
		for _, b := range column {
			b.y = y
			y += b.h + rowGap
		}
	}
}

// port is the height at which an arrow meets a box.
func (b *box) port(p Port) float64 {
	for i, r := range b.server.Roles {
		if r == p.Role {
			return b.y + headHeight + float64(i)*roleHeight + roleHeight/2
		}
	}
	return b.y + headHeight/2
}

func textWidth(text string) float64 { return float64(len([]rune(text))) * 7.2 }

type point struct{ x, y float64 }

type curve struct{ a, b, c, d point }

func (c curve) at(t float64) point {
	u := 1 - t
	return point{u*u*u*c.a.x + 3*u*u*t*c.b.x + 3*u*t*t*c.c.x + t*t*t*c.d.x, u*u*u*c.a.y + 3*u*u*t*c.b.y + 3*u*t*t*c.c.y + t*t*t*c.d.y}
}

// between returns a curve that starts and ends level; it goes right if d is right of a.
func between(a, d point) curve {
	bend := math.Max(50, math.Abs(d.x-a.x)/2)
	if d.x < a.x {
		bend = -bend
	}
	return curve{a, point{a.x + bend, a.y}, point{d.x - bend, d.y}, d}
}

// backward is how much lower an arrow to the left meets a box than one to the right.
const backward = 7

// route returns the path of an arrow: through its gaps, one curve from column to column.
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

func through(a point, gaps []*box, d point) []curve {
	var route []curve
	for _, g := range gaps {
		in, out := point{g.x, g.y + g.h/2 - backward}, point{g.x + g.w, g.y + g.h/2 - backward}
		if a.x > g.x { // to the left, slightly lower
			in, out = point{g.x + g.w, g.y + g.h/2 + backward}, point{g.x, g.y + g.h/2 + backward}
		}
		route = append(route, between(a, in))
		a = out
	}
	return append(route, between(a, d))
}
