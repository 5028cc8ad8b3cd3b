package resourcetype

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables anew")

// sources are the tags of Heat's source that tables are made of, by the release's number.
var sources = map[int]string{10: "10.0.3", 11: "11.0.3", 12: "12.2.0", 13: "13.1.0", 14: "14.2.0", 15: "15.1.0", 16: "16.1.0", 17: "17.0.2", 18: "18.0.1", 19: "19.0.2",
	20: "20.0.1", 21: "21.0.1", 22: "22.0.1", 23: "23.0.0", 24: "24.1.1", 25: "25.0.1", 26: "26.0.1"}

// Each table is what the source of its release says. HOTC_HEAT_SOURCE=DIR names a clone of
// Heat's public repository (openstack/heat); with -update the tables are written anew. A
// release's code runs beside Debian's libraries (older.py), which is enough for what it says
// of types; that Debian's own release says the same either way shows it.
func TestReleases(t *testing.T) {
	clone := os.Getenv("HOTC_HEAT_SOURCE")
	if clone == "" {
		t.Skip("NOT compared with the sources of Heat's releases: HOTC_HEAT_SOURCE=DIR names a clone of openstack/heat")
	}
	for i, r := range all() {
		said := ofSource(t, clone, sources[r.number])
		if i == debian {
			if diff := cmp.Diff(r.table().lines, said.lines); diff != "" {
				t.Errorf("%s from its source (+), not as Debian's package (-):\n%s", r.name, diff)
			}
			continue
		}
		if *update {
			neighbour := ofSource(t, clone, sources[r.neighbour.number])
			writeTable(t, r.number, said, neighbour)
			continue
		}
		got := map[string]any{}
		for _, name := range r.names() {
			got[name] = r.whole(name)
		}
		if diff := cmp.Diff(lineValues(t, said.lines), got); diff != "" || !reflect.DeepEqual(said.head, r.table().head) {
			t.Errorf("%s: its table (+), its source (-): %s", r.name, diff)
		}
	}
}

// ofSource asks the source of a release.
func ofSource(t *testing.T, clone, tag string) *table {
	t.Helper()
	dir := t.TempDir()
	archive, err := exec.Command("git", "-C", clone, "archive", tag, "heat").Output()
	if err != nil {
		t.Fatalf("git archive %s: %v", tag, err)
	}
	tar := exec.Command("tar", "x", "-C", dir)
	tar.Stdin = bytes.NewReader(archive)
	if out, err := tar.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command("/usr/bin/python3", "older.py", "table")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "HEAT_VERSION="+tag, "PYTHONDONTWRITEBYTECODE=1")
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", tag, err, wrong.String())
	}
	out, err := readTable(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func lineValues(t *testing.T, lines map[string]string) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, line := range lines {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		out[name] = v
	}
	return out
}

func writeTable(t *testing.T, number int, said, neighbour *table) {
	t.Helper()
	var b strings.Builder
	head, _ := json.Marshal(map[string]any{"heat": said.Heat, "hot": said.HOT, "nothing": said.Nothing})
	fmt.Fprintf(&b, "%s\n", head)
	now, before := lineValues(t, said.lines), lineValues(t, neighbour.lines)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] == nil {
			fmt.Fprintf(&b, "%s %s\n", name, gone)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if patch, differs := difference(before[name], now[name]); differs {
			text, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", name, text)
		}
	}
	if err := os.WriteFile(filepath.Join("releases", fmt.Sprintf("%d.jsonl", number)), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// difference is the patch (RFC 7386) that makes one value of another.
func difference(a, b any) (patch any, differs bool) {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if !isX || !isY {
		return b, !reflect.DeepEqual(a, b)
	}
	out := map[string]any{}
	for name := range x {
		if _, has := y[name]; !has {
			out[name] = nil
		}
	}
	for name, v := range y {
		if p, differs := difference(x[name], v); differs {
			out[name] = p
		}
	}
	return out, len(out) > 0
}

// A patch puts each table back together.
func TestPatches(t *testing.T) {
	for _, c := range [][2]string{
		{`{"a":1,"b":{"c":[1,null],"d":2}}`, `{"a":2,"b":{"d":2}}`},
		{`null`, `{"a":{"b":{}}}`},
		{`{"a":{"b":1}}`, `{"a":"text","c":{"d":{"e":1}}}`},
		{`{}`, `{}`},
	} {
		var a, b any
		for i, into := range []*any{&a, &b} {
			if err := json.Unmarshal([]byte(c[i]), into); err != nil {
				t.Fatal(err)
			}
		}
		patch, _ := difference(a, b)
		if got := merged(a, patch); !reflect.DeepEqual(got, b) {
			t.Errorf("%s with %v is %v, not %s", c[0], patch, got, c[1])
		}
	}
}

// Every release can be read, and is found by each of its names.
func TestFind(t *testing.T) {
	for _, r := range all() {
		names := []string{r.name, strings.ToUpper(r.name), fmt.Sprint(r.number), r.table().Heat, fmt.Sprintf("%d.7.7", r.number)}
		if r.series != "" {
			names = append(names, r.series)
		}
		for _, name := range names {
			if find(name) != r {
				t.Errorf("%q does not find %s", name, r.name)
			}
		}
		if c, _ := Of(r.name); len(c.Names()) < 160 || c.Lookup("OS::Nova::Server") == nil || c.Newest() == 0 {
			t.Errorf("%s has no servers, or hardly any types: %d", r.name, len(c.Names()))
		}
		for _, name := range r.names() {
			if r.lookup(name) == nil {
				t.Errorf("%s has %s, and not", r.name, name)
			}
		}
	}
	for _, name := range []string{"", "icarus", "9", "190", "2023", "2023.9", ".", "19x"} {
		if r := find(name); r != nil {
			t.Errorf("%q finds %s", name, r.name)
		}
	}
}

// What changed from release to release, as its notes say.
func TestChanges(t *testing.T) {
	of := func(name string) *Catalogue {
		c, is := Of(name)
		if !is {
			t.Fatalf("there is no %s", name)
		}
		return c
	}
	if of("queens").Lookup("OS::Neutron::QoSMinimumBandwidthRule") != nil || of("zed").Lookup("OS::Neutron::QoSMinimumBandwidthRule") == nil {
		t.Error("OS::Neutron::QoSMinimumBandwidthRule came with ussuri")
	}
	if of("zed").Lookup("OS::Senlin::Cluster") == nil || of("epoxy").Lookup("OS::Senlin::Cluster") != nil {
		t.Error("Senlin went with dalmatian")
	}
	if a, b := of("zed").Lookup("OS::Nova::Server"), of("2023.1").Lookup("OS::Nova::Server"); a != b {
		t.Error("what did not change is there twice")
	}
}
