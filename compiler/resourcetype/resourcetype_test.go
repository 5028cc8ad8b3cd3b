package resourcetype

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/hot/hottest"
)

// The table is what stock Heat says. On another release than the one it is from there is
// nothing to compare, which is not a success.
func TestTableIsHeats(t *testing.T) {
	hottest.Skip(t)
	var said bytes.Buffer
	cmd := exec.Command("/usr/bin/python3", "schemas.py", "table")
	cmd.Stderr = &said
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("stock Heat is needed (apt-get install python3-heat, or %s=1): %v\n%s", hottest.SkipVariable, err, said.String())
	}
	if *update {
		if err := os.WriteFile("releases/19.jsonl", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("releases/19.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	wants, gots := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	if wants[0] != gots[0] {
		t.Fatalf("the table is from Heat %s, this machine has %s: go test -update writes it anew, %s=1 leaves all comparisons with stock Heat out",
			(*Catalogue)(nil).Release(), gots[0], hottest.SkipVariable)
	}
	if diff := cmp.Diff(wants, gots); diff != "" {
		t.Errorf("(-table +Heat; go test -update writes it anew):\n%s", diff)
	}
}

// Every type can be read, and none that is not there.
func TestLookup(t *testing.T) {
	var types *Catalogue
	names := types.Names()
	for _, name := range names {
		if found := types.Lookup(name); found == nil || found.Name != name {
			t.Errorf("%s: %v", name, found)
		}
	}
	if len(names) < 190 {
		t.Errorf("only %d types", len(names))
	}
	for _, name := range []string{"", "OS::Nova", "OS::Nova::Server\"", "server.yaml", "OS::Heat::None"} {
		if found := types.Lookup(name); found != nil {
			t.Errorf("%q: %v", name, found)
		}
	}
	server := types.Lookup("OS::Nova::Server")
	if !server.HasAttribute("first_address") || server.HasAttribute("last_address") || !server.Properties["flavor"].Required {
		t.Errorf("a server is %v", server)
	}
	if group := types.Lookup("OS::Heat::ResourceGroup"); !group.HasAttribute("resource.0.anything") {
		t.Error("the attributes of a group are not its members'")
	}
}
