package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// The colours of arrows, by meaning.
const (
	runColor      = "#c77700"
	deployColor   = "#2f6fb0"
	deadlockColor = "#d1242f"
)

func (e *Edge) color() string {
	switch {
	case e.Deadlocked:
		return deadlockColor
	case e.Time == contract.Run:
		return runColor
	}
	return deployColor
}

// label is an arrow's label; mark is added to the names of secret values.
func (e *Edge) label(mark string) string {
	if e.Completion {
		return "done"
	}
	var names []string
	for _, l := range e.Labels {
		if l.Secret {
			l.Name += mark
		}
		names = append(names, l.Name)
	}
	return strings.Join(names, ", ")
}

// marked is the label where no symbol for a secret can be drawn.
func (e *Edge) marked() string { return e.label(" (secret)") }

func (g *Graph) DOT() []byte {
	var b strings.Builder
	b.WriteString("digraph hotc {\n  rankdir=LR; compound=true; node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n")
	for i, s := range g.Servers {
		if len(s.Roles) == 0 {
			fmt.Fprintf(&b, "  %s [label=%s];\n", dotID(Port{Server: s.Name}), strconv.Quote(s.title()))
			continue
		}
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s; style=\"rounded,filled\"; color=\"#9fb1c3\"; fillcolor=\"#f4f7fa\"; fontname=\"sans-serif\";\n", i, strconv.Quote(s.title()))
		for n, role := range s.Roles {
			border := ""
			if s.Deadlocked[role] {
				border = ", color=\"" + deadlockColor + "\""
			}
			fmt.Fprintf(&b, "    %s [label=%s%s];\n", dotID(Port{s.Name, role}), strconv.Quote(role), border)
			if n > 0 {
				fmt.Fprintf(&b, "    %s -> %s [style=dotted, color=\"#9fb1c3\", arrowhead=none];\n", dotID(Port{s.Name, s.Roles[n-1]}), dotID(Port{s.Name, role}))
			}
		}
		b.WriteString("  }\n")
	}
	for _, e := range g.Edges {
		style := "solid"
		if e.Completion {
			style = "dashed"
		}
		whole := ""
		if i := g.whole(e.From); i >= 0 {
			whole += fmt.Sprintf(", ltail=cluster_%d", i)
		}
		if i := g.whole(e.To); i >= 0 {
			whole += fmt.Sprintf(", lhead=cluster_%d", i)
		}
		fmt.Fprintf(&b, "  %s -> %s [label=%s, color=%q, fontcolor=%q, style=%s%s];\n", dotID(g.end(e.From)), dotID(g.end(e.To)), strconv.Quote(e.marked()), e.color(), e.color(), style, whole)
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

func dotID(p Port) string { return strconv.Quote(p.Server + "." + p.Role) }

// end is where an arrow to a whole server is attached: its first role.
func (g *Graph) end(p Port) Port {
	if i := g.whole(p); i >= 0 {
		p.Role = g.Servers[i].Roles[0]
	}
	return p
}

// whole returns the index of a server with roles if an arrow means all of it; otherwise -1.
func (g *Graph) whole(p Port) int {
	return slices.IndexFunc(g.Servers, func(s *Server) bool { return p.Role == "" && s.Name == p.Server && len(s.Roles) > 0 })
}

func (g *Graph) Mermaid() []byte {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := map[Port]string{}
	id := func(p Port) string {
		if i := g.whole(p); i >= 0 {
			return fmt.Sprintf("s%d", i)
		}
		if ids[p] == "" {
			ids[p] = fmt.Sprintf("n%d", len(ids))
		}
		return ids[p]
	}
	for i, s := range g.Servers {
		if len(s.Roles) == 0 {
			fmt.Fprintf(&b, "  %s[%s]\n", id(Port{Server: s.Name}), mermaidText(s.title()))
			continue
		}
		fmt.Fprintf(&b, "  subgraph s%d[%s]\n", i, mermaidText(s.title()))
		for n, role := range s.Roles {
			fmt.Fprintf(&b, "    %s[%s]\n", id(Port{s.Name, role}), mermaidText(role))
			if n > 0 {
				fmt.Fprintf(&b, "    %s ~~~ %s\n", id(Port{s.Name, s.Roles[n-1]}), id(Port{s.Name, role}))
			}
		}
		b.WriteString("  end\n")
	}
	links := 0
	for _, s := range g.Servers {
		links += max(0, len(s.Roles)-1)
	}
	var styles strings.Builder
	for _, e := range g.Edges {
		arrow := "-->"
		if e.Completion {
			arrow = "-.->"
		}
		label := ""
		if e.marked() != "" {
			label = "|" + mermaidText(e.marked()) + "|"
		}
		fmt.Fprintf(&b, "  %s %s%s %s\n", id(e.From), arrow, label, id(e.To))
		fmt.Fprintf(&styles, "  linkStyle %d stroke:%s,color:%s\n", links, e.color(), e.color())
		links++
	}
	return []byte(b.String() + styles.String())
}

// mermaidText quotes a label with Mermaid's entities.
func mermaidText(text string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(text) + `"`
}
