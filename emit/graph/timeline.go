package graph

import (
	"fmt"
	"html"
	"math"

	"github.com/hotc-dev/hotc/analysis/timeline"
)

// The timeline's measures, in pixels.
const (
	laneHeight  = 34
	barHeight   = 22
	chartWidth  = 900
	topMargin   = 64
	charWidth   = 6.6
	smallChar   = 5.8
	rightMargin = 40
)

// Timeline draws a predicted run: one lane per server, one bar per role, hatched while blocked,
// with the critical path outlined.
func Timeline(title string, r *timeline.Run) []byte {
	c := &chart{run: r, end: span(r)}
	for _, p := range r.Processes {
		if len(p.Tasks) > 1 || p.Tasks[0].End != p.Tasks[0].Start { // others take no time and wait for nothing
			c.lanes = append(c.lanes, p)
			c.left = math.Max(c.left, float64(len([]rune(p.Name)))*charWidth)
		}
	}
	c.left = math.Min(c.left, 220) + 32
	c.critical = r.Critical
	height := topMargin + len(c.lanes)*laneHeight + 56
	c.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" font-family="system-ui,'DejaVu Sans',sans-serif">`+"\n",
		c.left+chartWidth+rightMargin, height, c.left+chartWidth+rightMargin, height)
	c.printf(`<defs><pattern id="blocked" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#fdf3e1"/><rect width="2" height="6" fill="#f0b44c"/></pattern></defs>` + "\n")
	c.printf(`<rect width="100%%" height="100%%" fill="#ffffff"/>` + "\n")
	c.text(16, 28, 15, "#1c2733", "bold", "start", title)
	c.axis(len(c.lanes))
	for i, p := range c.lanes {
		c.lane(i, p)
	}
	c.legend(float64(topMargin + len(c.lanes)*laneHeight + 34))
	c.printf("</svg>\n")
	return []byte(c.String())
}

type chart struct {
	canvas
	run      *timeline.Run
	lanes    []timeline.Process
	critical []timeline.Link
	left     float64
	end      float64
}

func (c *chart) x(seconds float64) float64 { return c.left + seconds/c.end*chartWidth }

// span is the time that the picture covers; what hangs is drawn slightly beyond the last event.
func span(r *timeline.Run) float64 {
	end := 1.0
	for _, p := range r.Processes {
		for _, t := range p.Tasks {
			end = math.Max(end, math.Max(t.Start, t.End))
			for _, w := range t.Waits {
				end = math.Max(end, math.Max(w.From, w.To))
			}
		}
	}
	if r.Hung {
		end *= 1.25
	}
	return end
}

func (c *chart) axis(lanes int) {
	step := niceStep(c.end / 8)
	bottom := float64(topMargin + lanes*laneHeight)
	for s := 0.0; s <= c.end+step/1000; s += step {
		c.printf(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%.1f" stroke="#e4e9ef"/>`+"\n", c.x(s), topMargin-8, c.x(s), bottom)
		c.text(c.x(s), topMargin-14, 11, "#6b7885", "normal", "middle", clock(s))
	}
}

// niceStep returns a round number of seconds near about.
func niceStep(about float64) float64 {
	for _, s := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400} {
		if s >= about {
			return s
		}
	}
	return math.Ceil(about/14400) * 14400
}

func clock(s float64) string {
	if s < 60 {
		return fmt.Sprintf("%.4gs", s)
	}
	return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60)
}

func (c *chart) lane(i int, p timeline.Process) {
	y := float64(topMargin + i*laneHeight)
	if i%2 == 0 {
		c.printf(`<rect x="0" y="%.1f" width="%.1f" height="%d" fill="#f7f9fb" fill-opacity="0.7"/>`+"\n", y, c.left+chartWidth+rightMargin, laneHeight)
	}
	c.text(c.left-12, y+laneHeight/2+4, 12, "#1c2733", "600", "end", shorten(p.Name, 30))
	for n, t := range p.Tasks {
		if t.Start < 0 {
			continue
		}
		c.bar(y+(laneHeight-barHeight)/2, p, t, n)
	}
}

// rolePaint are the colours of a server's roles, used in turn.
var rolePaint = [...]string{"#3b82c4", "#3a9d8f", "#7a6bc0", "#5b8f3f"}

func (c *chart) bar(y float64, p timeline.Process, t timeline.Task, n int) {
	end, color, name := t.End, rolePaint[(n+len(rolePaint)-1)%len(rolePaint)], p.Name+"."+t.Name
	if end < 0 {
		end = c.end
	}
	if t.Heat {
		color, name = "#b8c4d0", p.Name
	}
	if end <= t.Start {
		return
	}
	label := t.Name
	if t.Heat {
		label = "boot"
	}
	c.printf(`<g><title>%s: %s to %s, blocked %s</title>`+"\n", html.EscapeString(name), clock(t.Start), clock(end), clock(t.Blocked))
	c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3" fill="%s"/>`+"\n", c.x(t.Start), y, math.Max(1, c.x(end)-c.x(t.Start)-1), barHeight, color)
	free, from, labelled := 0.0, t.Start, false // the label is in the first stretch that is wide enough
	room := func(to float64) {
		if !labelled && c.x(to)-c.x(from) > float64(len(label))*smallChar+8 {
			free, labelled = c.x(from), true
		}
	}
	for _, w := range t.Waits {
		to := w.To
		stroke := "#f0b44c"
		if to < 0 {
			to, stroke = c.end, "#c0392b"
		}
		room(w.From)
		from = to
		c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="url(#blocked)" stroke="%s" stroke-width="0.8"><title>%s waits for %s%s</title></rect>`+"\n",
			c.x(w.From), y, math.Max(1, c.x(to)-c.x(w.From)-1), barHeight, stroke, html.EscapeString(name), html.EscapeString(w.Cell), forEver(w))
	}
	room(end)
	if labelled {
		color := "#ffffff"
		if t.Heat {
			color = "#33414e"
		}
		c.text(free+6, y+15, 11, color, "normal", "start", label)
	}
	for _, l := range c.critical {
		if l.Task == name && l.To > l.From {
			c.printf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3" fill="none" stroke="#d6336c" stroke-width="2"/>`+"\n", c.x(l.From), y-1, math.Max(1, c.x(l.To)-c.x(l.From)-1), barHeight+2)
		}
	}
	c.printf("</g>\n")
}

func forEver(w timeline.Wait) string {
	if w.To < 0 {
		return " for ever"
	}
	return " for " + clock(w.To-w.From)
}

func (c *chart) legend(y float64) {
	x := c.left
	for _, item := range [][2]string{{`fill="#b8c4d0"`, "Heat creates it"}, {`fill="#3b82c4"`, "a role runs"}, {`fill="url(#blocked)" stroke="#f0b44c"`, "waits for a value"},
		{`fill="none" stroke="#d6336c" stroke-width="2"`, "critical path"}} {
		c.printf(`<rect x="%.1f" y="%.1f" width="22" height="12" rx="2" %s/>`+"\n", x, y-10, item[0])
		c.text(x+28, y, 11, "#4a5763", "normal", "start", item[1])
		x += 40 + float64(len(item[1]))*smallChar + 24
	}
}

func shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
