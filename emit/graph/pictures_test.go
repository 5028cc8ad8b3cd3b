package graph_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/graph"
)

var update = flag.Bool("update", false, "write the golden files anew")

// drawn is the graph of a template in testdata.
func drawn(t *testing.T, template string, single bool) *graph.Graph {
	t.Helper()
	var diags source.Diagnostics
	r := emit.Analyse(emit.Options{Template: template, Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}}, &diags)
	if r == nil {
		t.Fatal(diags.All())
	}
	return graph.New(r.Program, r.Analysis, r.Findings, single)
}

// Each picture stands beside its template, in three languages.
func TestPictures(t *testing.T) {
	for _, name := range []string{"deadlock", "groups"} {
		g := drawn(t, "testdata/"+name+".yaml", false)
		for kind, got := range map[string][]byte{"dot": g.DOT(), "mmd": g.Mermaid(), "svg": g.SVG(name + ".yaml")} {
			t.Run(name+"."+kind, func(t *testing.T) {
				golden := filepath.Join("testdata", name+"."+kind)
				if *update {
					if err := os.WriteFile(golden, got, 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", golden, diff)
				}
			})
		}
	}
}

// 601 servers are five boxes, or 601.
func TestGroupsCollapse(t *testing.T) {
	var names []string
	for _, s := range drawn(t, "testdata/groups.yaml", false).Servers {
		names = append(names, s.Name)
	}
	if got, want := strings.Join(names, " "), "head worker/* tier/*/db tier/*/web report"; got != want {
		t.Errorf("boxes %s, not %s", got, want)
	}
	if n := len(drawn(t, "testdata/groups.yaml", true).Servers); n != 602 {
		t.Errorf("%d boxes with --single", n)
	}
}

// What is drawn red is the cycle and no more.
func TestDeadlockIsRed(t *testing.T) {
	red := map[string]bool{}
	for _, e := range drawn(t, "testdata/deadlock.yaml", false).Edges {
		if e.Deadlocked {
			red[e.From.Server+"."+e.From.Role+" → "+e.To.Server+"."+e.To.Role] = true
		}
	}
	if len(red) != 2 || !red["db.mysql → app.serve"] || !red["app.serve → db.mysql"] {
		t.Errorf("%v", red)
	}
}
