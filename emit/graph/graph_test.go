package graph_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/emit/graph"
)

func small() *graph.Graph {
	db, web := graph.Port{Server: "db", Role: "mysql"}, graph.Port{Server: "web", Role: `a "quoted" <role>`}
	return &graph.Graph{
		Servers: []*graph.Server{{Name: "db", Roles: []string{"base", "mysql"}}, {Name: "web", Roles: []string{web.Role}, Deadlocked: map[string]bool{web.Role: true}}},
		Edges: []*graph.Edge{{From: db, To: web, Labels: []graph.Label{{Name: "url"}, {Name: "password", Secret: true}}, Time: contract.Run, Deadlocked: true},
			{From: web, To: db, Time: contract.Run, Completion: true}, {From: graph.Port{Server: "db"}, To: graph.Port{Server: "web"}, Time: contract.Deploy}},
	}
}

// Roles are in their servers' clusters, in order; a deadlock's arrow is red.
func TestDOT(t *testing.T) {
	got := string(small().DOT())
	for _, want := range []string{`subgraph cluster_0`, `"db.base" -> "db.mysql" [style=dotted`, `label="url, password (secret)", color="#d1242f"`, `label="done", color="#c77700", fontcolor="#c77700", style=dashed`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestMermaid(t *testing.T) {
	got := string(small().Mermaid())
	for _, want := range []string{"flowchart LR\n", `["a #quot;quoted#quot; #lt;role#gt;"]`, `-->|"url, password (secret)"|`, "linkStyle 1 stroke:#d1242f"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// Pictures are well-formed, whatever the names, the same each time, and drawn for
// hundreds of servers too.
func TestSVG(t *testing.T) {
	large := &graph.Graph{}
	for i := range 500 {
		large.Servers = append(large.Servers, &graph.Server{Name: fmt.Sprint("s", i), Roles: []string{"r"}})
		large.Edges = append(large.Edges, &graph.Edge{From: graph.Port{Server: fmt.Sprint("s", i/7), Role: "r"}, To: graph.Port{Server: fmt.Sprint("s", i), Role: "r"}, Time: contract.Run})
	}
	hung := &timeline.Run{Hung: true, Processes: []timeline.Process{{Name: "a<b", Tasks: []timeline.Task{{Name: "a<b", Heat: true, End: 40},
		{Name: "r", Start: 40, End: -1, Waits: []timeline.Wait{{Cell: "b.r:x", From: 50, To: -1}}}}}}}
	for name, text := range map[string]func() []byte{"small": func() []byte { return small().SVG("a < b") }, "large": func() []byte { return large.SVG("large") },
		"empty": func() []byte { return (&graph.Graph{}).SVG("empty") }, "timeline": func() []byte { return graph.Timeline("a < b", hung) }} {
		first := text()
		decoder := xml.NewDecoder(strings.NewReader(string(first)))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if string(first) != string(text()) {
			t.Errorf("%s: not the same twice", name)
		}
	}
}
