package graph_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	for _, name := range []string{"deadlock", "groups", "plain"} {
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

// Each arrow has its label, labels cover neither each other nor a box, and nothing is left blank.
func TestLabels(t *testing.T) {
	label := regexp.MustCompile(`<rect x="([-0-9.]+)" y="([-0-9.]+)" width="([0-9.]+)" height="(15)" rx="4"`)
	box := regexp.MustCompile(`<rect x="([-0-9.]+)" y="([-0-9.]+)" width="([0-9.]+)" height="([0-9.]+)" rx="8"`)
	found := func(pattern *regexp.Regexp, svg string) (all [][4]float64) {
		for _, m := range pattern.FindAllStringSubmatch(svg, -1) {
			var r [4]float64
			for i := range r {
				r[i], _ = strconv.ParseFloat(m[i+1], 64)
			}
			all = append(all, r)
		}
		return all
	}
	overlap := func(a, b [4]float64) bool {
		return a[0] < b[0]+b[2] && b[0] < a[0]+a[2] && a[1] < b[1]+b[3] && b[1] < a[1]+a[3]
	}
	for _, template := range []string{"testdata/deadlock.yaml", "testdata/groups.yaml", "../../testdata/slurm/cluster.yaml", "../../testdata/three-tier/site.yaml"} {
		t.Run(filepath.Base(filepath.Dir(template))+"/"+filepath.Base(template), func(t *testing.T) {
			g := drawn(t, template, false)
			svg := string(g.SVG(template))
			labels, boxes := found(label, svg), found(box, svg)
			if len(labels) != len(g.Edges) || len(boxes) != len(g.Servers) {
				t.Errorf("%d labels and %d boxes for %d arrows and %d servers", len(labels), len(boxes), len(g.Edges), len(g.Servers))
			}
			bottom := 0.0
			for _, b := range boxes {
				bottom = max(bottom, b[1]+b[3])
			}
			for i, l := range labels {
				for _, other := range append(slices.Clone(boxes), labels[:i]...) {
					if overlap(l, other) {
						t.Errorf("the label at %v is over what is at %v", l, other)
					}
				}
			}
			size := regexp.MustCompile(`viewBox="[-0-9.]+ ([-0-9.]+) [0-9.]+ ([0-9.]+)"`).FindStringSubmatch(svg)
			top, _ := strconv.ParseFloat(size[1], 64)
			height, _ := strconv.ParseFloat(size[2], 64)
			if blank := top + height - bottom; blank < 0 || blank > 50 {
				t.Errorf("%.0f pixels are below the last box", blank)
			}
		})
	}
}
