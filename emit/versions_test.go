package emit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// inputsOfVersions are the values of the inputs in testdata/versions, of whatever
// version they are.
var inputsOfVersions = map[string]string{
	"param": `"ann"`, "replaced": `"hello ann"`, "joined": `"a-ann"`, "old_join": `"a-ann"`, "selected": `"ann"`, "repeated": `["x.NAME","y.NAME"]`,
	"digested": `"49915e0d7d4b402e3017d010bc1c0e83cac6c797d6c16e66340fe3268693a6a1"`, "split": `"ann"`, "json": `"{\"n\": \"ann\"}"`,
	"merged": `{"a":1,"b":"ann"}`, "chosen": `"ann"`, "queried": `2`, "mapped": `{"l":"ann"}`, "filtered": `["y"]`, "strict": `"hi ann"`, "url": `"http://ann:80"`,
	"concat": `["a","x","y"]`, "unique": `["x","y"]`, "holds": `true`, "found": `8080`, "plain": `"ann"`,
}

func versionTemplates(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../testdata/versions/*.yaml")
	if err != nil || len(all) != 13 {
		t.Fatalf("%d templates: %v", len(all), err)
	}
	return all
}

// Roles work in a template of any version of HOT: what stock Heat puts into the boot file of
// the server is what the inputs mean there.
func TestVersions(t *testing.T) {
	for _, template := range versionTemplates(t) {
		t.Run(filepath.Base(template), func(t *testing.T) {
			r, found := compile(t, options(template))
			if strings.HasPrefix(filepath.Base(template), "cfn-") {
				if r != nil || !strings.Contains(found, `error[H309]: "server" has roles, which hotc supports only in HOT templates`) {
					t.Error(found)
				}
				return
			}
			if r == nil || found != "" {
				t.Fatal(found)
			}
			in := inputOf(t, r)
			stockHeat.Oracle(t).Accepts(t, in)
			var boot struct{ Deploy map[string]json.RawMessage }
			if err := json.Unmarshal([]byte(bootFile(t, stockHeat.Oracle(t).Create(t, "site", in).Servers(t, 1)[0].NovaUserData)), &boot); err != nil {
				t.Fatal(err)
			}
			for _, in := range serverOf(t, r.Built.Plan, "server").Roles[0].Inputs {
				if got, want := evaluated(t, in, bootValues{boot.Deploy}), inputsOfVersions[in.Name]; got != want {
					t.Errorf("%s is %s, want %s", in.Name, got, want)
				}
			}
		})
	}
}

var (
	hotcBlock = regexp.MustCompile(`(?m)^      hotc:\n(?:        .*\n)+`)
	ofTheRole = regexp.MustCompile(`(?m)^  done: .*\n`)
)

// A template without any hotc metadata is emitted as it is, whatever its version.
func TestPlainTemplates(t *testing.T) {
	folder := t.TempDir()
	for _, template := range versionTemplates(t) {
		text, err := os.ReadFile(template)
		if err != nil {
			t.Fatal(err)
		}
		plain := ofTheRole.ReplaceAllString(hotcBlock.ReplaceAllString(string(text), ""), "")
		if strings.Contains(plain, "hotc:") {
			t.Fatalf("%s still has roles:\n%s", template, plain)
		}
		path := filepath.Join(folder, filepath.Base(template))
		if err := os.WriteFile(path, []byte(plain), 0o600); err != nil {
			t.Fatal(err)
		}
		r, found := compile(t, options(path))
		if r == nil || found != "" {
			t.Fatal(found)
		}
		if diff := cmp.Diff(plain, string(r.Folder["stack.yaml"])); diff != "" || len(r.Folder) != 1 {
			t.Errorf("%s: the text changed, or there is more than it:\n%s", template, diff)
		}
	}
}

// Of a deployment of many templates without roles, groups of every kind and dozens of
// mappings, stock Heat makes the same resources and outputs before and after.
func TestRoundTrip(t *testing.T) {
	const template = "../testdata/overcloud/overcloud.yaml"
	environments := []string{"../testdata/overcloud/environments/registry.yaml", "../testdata/overcloud/environments/sizes.yaml"}
	o := options(template)
	o.Environments = environments
	r, found := compile(t, o)
	if r == nil || found != "" {
		t.Fatal(found)
	}
	dir := folderOf(t, r)
	after := heattest.Input{Template: filepath.Join(dir, "stack.yaml")}
	for _, name := range r.Environments {
		after.Environments = append(after.Environments, filepath.Join(dir, name))
	}
	if diff := cmp.Diff(made(t, heattest.Input{Template: template, Environments: environments}), made(t, after)); diff != "" {
		t.Errorf("Heat makes something else of it (-before +after):\n%s", diff)
	}
}

// made is what Heat makes of a template: resources by path with their types, servers
// with what Nova gets, outputs. Ids, which differ in each stack, are left out.
func made(t *testing.T, in heattest.Input) map[string]string {
	t.Helper()
	st := stockHeat.Oracle(t).Create(t, "site", in)
	st.Complete(t)
	out := map[string]string{}
	for _, r := range st.Resources(t) {
		out["resource "+madeUp.ReplaceAllString(r.Path, "/NAME")] = r.Type + " " + r.Status
	}
	for _, s := range st.Booted(t) {
		metadata, err := json.Marshal(s.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		out["server "+madeUp.ReplaceAllString(s.Path, "/NAME")] = string(metadata) + s.UserData
	}
	for name, o := range st.Outputs(t) {
		out["output "+name] = anyID.ReplaceAllString(string(o.Value)+o.Error, "ID")
	}
	return out
}

// madeUp are names that Heat makes up for members of groups.
var madeUp = regexp.MustCompile(`/[a-z0-9]{12}`)

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
