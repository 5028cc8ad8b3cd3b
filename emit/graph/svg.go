package graph

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// The space around the boxes, in pixels: above them are the title and the legend.
const (
	margin   = 48
	headRoom = 76
)

// SVG draws the graph. The picture is self-contained.
func (g *Graph) SVG(title string) []byte {
	l := arrange(g)
	p := &picture{layout: l, dense: len(g.Edges) > 80, labels: map[[2]int]bool{}, crossed: map[[2]int][]*Edge{}}
	loops := 0.0 // beside the last column, where arrows within it turn
	for _, e := range g.Edges {
		from, to := l.byName[e.From.Server], l.byName[e.To.Server]
		if from.column == to.column && from.column == len(l.columns)-1 {
			loops = 130
		}
		p.cross(e)
	}
	width, height := math.Max(l.w+2*margin+loops, 560), headRoom+l.h+margin/2
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="%d %d %.0f %.0f" font-family="system-ui,'DejaVu Sans',sans-serif">`+"\n", width, height, -margin, -headRoom, width, height)
	p.printf("<defs>\n")
	for _, color := range []string{runColor, deployColor, deadlockColor} {
		p.printf(`<marker id="%s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0.8 L10 5 L0 9.2 z" fill="%s"/></marker>`+"\n", color[1:], color)
	}
	p.printf("</defs>\n")
	p.printf(`<rect x="%d" y="%d" width="100%%" height="100%%" fill="#ffffff"/>`+"\n", -margin, -headRoom)
	p.text(20-margin, -48, 15, "#1c2733", "bold", "start", title)
	p.legend(20-margin, -26)
	for _, b := range l.boxes {
		p.box(b)
	}
	for _, deadlocked := range []bool{false, true} { // the most important on top
		for _, e := range g.Edges {
			if e.Deadlocked == deadlocked {
				p.edge(e)
			}
		}
	}
	p.WriteString(p.over.String())
	p.printf("</svg>\n")
	return []byte(p.String())
}

type picture struct {
	canvas
	over   canvas // labels, above all lines
	layout *layout
	dense  bool // too many arrows for labels
	labels map[[2]int]bool
	// crossed are the arrows that pass each cell of the grid.
	crossed map[[2]int][]*Edge
}

// cross notes where an arrow passes, so that other arrows' labels do not cover it.
func (p *picture) cross(e *Edge) {
	for _, c := range p.route(e) {
		steps := int(math.Abs(c.d.x-c.a.x)+math.Abs(c.d.y-c.a.y))/(cell/2) + 8
		for i := range steps + 1 {
			at := c.at(float64(i) / float64(steps))
			k := [2]int{int(math.Floor(at.x / cell)), int(math.Floor(at.y / cell))}
			if !slices.Contains(p.crossed[k], e) {
				p.crossed[k] = append(p.crossed[k], e)
			}
		}
	}
}

type canvas struct{ strings.Builder }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c, format, args...) }

func (c *canvas) text(x, y, size float64, color, weight, anchor, text string) {
	c.printf(`<text x="%.1f" y="%.1f" font-size="%.0f" fill="%s" font-weight="%s" text-anchor="%s">%s</text>`+"\n", x, y, size, color, weight, anchor, html.EscapeString(text))
}

func (p *picture) box(b *box) {
	border := "#9fb1c3"
	if len(b.server.Deadlocked) > 0 {
		border = deadlockColor
	}
	p.printf(`<g><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="8" fill="#f2f6fa" stroke="%s" stroke-width="1.2"/>`+"\n",
		html.EscapeString(b.server.title()), b.x, b.y, b.w, b.h, border)
	p.text(b.x+boxPadding+2, b.y+18, 13, "#1c2733", "bold", "start", shorten(b.server.title(), int(b.w/8.2)))
	for i, r := range b.server.Roles {
		y := b.y + headHeight + float64(i)*roleHeight
		stroke := "#cfd9e3"
		if b.server.Deadlocked[r] {
			stroke = deadlockColor
		}
		p.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="5" fill="#ffffff" stroke="%s"/>`+"\n", b.x+boxPadding, y+3, b.w-2*boxPadding, roleHeight-6, stroke)
		p.text(b.x+2*boxPadding, y+roleHeight/2+4, 12, "#33414e", "normal", "start", shorten(r, int((b.w-4*boxPadding)/6.6)))
		if i > 0 { // roles of a server run one after another
			p.printf(`<path d="M%.1f %.1f l4 4 l4 -4" fill="none" stroke="#9fb1c3" stroke-width="1.4"/>`+"\n", b.x+b.w/2-4, y-2)
		}
	}
	p.printf("</g>\n")
}

func (p *picture) edge(e *Edge) {
	route := p.route(e)
	style, width, opacity := "", 1.6, 0.9
	if e.Completion {
		style = ` stroke-dasharray="5 4"`
	}
	if p.dense {
		width, opacity = 1.1, 0.45
	}
	if e.Deadlocked {
		width, opacity = 2.6, 1
	}
	color := e.color()
	var d strings.Builder
	fmt.Fprintf(&d, "M%.1f %.1f", route[0].a.x, route[0].a.y)
	for i, c := range route {
		if i > 0 {
			fmt.Fprintf(&d, " L%.1f %.1f", c.a.x, c.a.y)
		}
		fmt.Fprintf(&d, " C%.1f %.1f %.1f %.1f %.1f %.1f", c.b.x, c.b.y, c.c.x, c.c.y, c.d.x, c.d.y)
	}
	p.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="%.1f" stroke-opacity="%.2f" marker-end="url(#%s)"%s><title>%s</title></path>`+"\n",
		d.String(), color, width, opacity, color[1:], style, html.EscapeString(e.tip()))
	if label := e.label(""); label != "" && (!p.dense || e.Deadlocked) {
		p.label(e, route, shorten(label, 26), color)
	}
}

// tip returns the tooltip of an arrow.
func (e *Edge) tip() string {
	name := func(q Port) string {
		if q.Role == "" {
			return q.Server
		}
		return q.Server + "." + q.Role
	}
	text := name(e.From) + " → " + name(e.To)
	if e.marked() != "" {
		text += ": " + e.marked()
	}
	if e.Time == contract.Run {
		return text + " (run time)"
	}
	return text + " (Heat)"
}

// label draws a label on an arrow where there is none yet.
func (p *picture) label(e *Edge, route []curve, text, color string) {
	secret, w := e.secret(), float64(len([]rune(text)))*5.9+8
	if secret {
		w += lockWidth
	}
	spot, found := p.room(e, route, w)
	if !found {
		return // the arrow's tooltip has it
	}
	cells(spot, w, func(k [2]int) { p.labels[k] = true })
	p.over.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="15" rx="4" fill="#ffffff" fill-opacity="0.85"/>`+"\n", spot.x-w/2, spot.y-8, w)
	if secret {
		p.over.printf(`<g transform="translate(%.1f %.1f)"><rect y="4" width="8" height="6" rx="1" fill="%s"/><path d="M1.8 4 V2.6 a2.2 2.2 0 0 1 4.4 0 V4" fill="none" stroke="%s" stroke-width="1.3"/></g>`+"\n", spot.x-w/2+4, spot.y-6, color, color)
		spot.x += lockWidth / 2
	}
	p.over.printf(`<text x="%.1f" y="%.1f" font-size="10.5" fill="%s" text-anchor="middle">%s</text>`+"\n", spot.x, spot.y+3.5, color, html.EscapeString(text))
}

// room finds a spot on an arrow or, failing that, beside it: one that covers no label and no box,
// and of these the one that covers the fewest other arrows.
func (p *picture) room(e *Edge, route []curve, w float64) (best point, found bool) {
	least := 0
	for _, aside := range []float64{0, -11, 11} {
		for _, c := range route {
			for _, t := range []float64{0.5, 0.42, 0.58, 0.34, 0.66, 0.3, 0.7, 0.26, 0.74, 0.22, 0.78, 0.18, 0.82} {
				try := c.at(t)
				if try.y += aside; !p.free(try, w) {
					continue
				}
				covers := p.covers(e, try, w)
				if aside != 0 {
					covers++
				}
				if !found || covers < least {
					best, least, found = try, covers, true
				}
			}
		}
	}
	return best, found
}

// covers is the number of other arrows that a label of an arrow would cover.
func (p *picture) covers(e *Edge, at point, w float64) int {
	others := map[*Edge]bool{}
	cells(at, w, func(k [2]int) {
		for _, other := range p.crossed[k] {
			others[other] = others[other] || other != e
		}
	})
	delete(others, e)
	return len(others)
}

// lockWidth is the space for the symbol of a secret.
const lockWidth = 11

// cell is the grid size for reserving label space.
const cell = 8

func (p *picture) free(at point, w float64) bool {
	for _, b := range p.layout.boxes {
		if at.x+w/2 > b.x-4 && at.x-w/2 < b.x+b.w+4 && at.y+8 > b.y && at.y-8 < b.y+b.h {
			return false
		}
	}
	free := true
	cells(at, w, func(k [2]int) { free = free && !p.labels[k] })
	return free
}

func cells(at point, w float64, visit func([2]int)) {
	for x := at.x - w/2 - cell/2; x <= at.x+w/2+cell/2; x += cell {
		for _, y := range []float64{at.y - 7, at.y, at.y + 7} {
			visit([2]int{int(math.Floor(x / cell)), int(math.Floor(y / cell))})
		}
	}
}

func (p *picture) legend(x, y float64) {
	for _, item := range []struct{ color, dash, text string }{{runColor, "", "value at run time"}, {runColor, "5 4", "completion"},
		{deployColor, "", "Heat's dependency"}, {deadlockColor, "", "deadlock"}} {
		dash := ""
		if item.dash != "" {
			dash = ` stroke-dasharray="` + item.dash + `"`
		}
		p.printf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2"%s/>`+"\n", x, y-4, x+24, y-4, item.color, dash)
		p.text(x+30, y, 11, "#4a5763", "normal", "start", item.text)
		x += 44 + float64(len(item.text))*6
	}
}
