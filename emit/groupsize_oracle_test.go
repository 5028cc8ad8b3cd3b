package emit_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// A root template with a group of servers, and a nested one with another.
const (
	groupIn = `
    type: OS::Heat::ResourceGroup
    metadata: {hotc: {max_members: 4}}
    properties:
      count: COUNT
      resource_def:
        type: OS::Nova::Server
        properties: {image: i, flavor: f}
        metadata: {hotc: {roles: [{name: r, driver: script, source: 'x=1', outputs: {x: {type: string}}}]}}
`
	groupInRoot = `heat_template_version: VERSION
parameters:
  conf: {type: json, default: {nothing: null, two: "2"}}
resources:
  v: {type: OS::Heat::Value, properties: {type: json, value: {a: 1}}}
  tier: {type: tier.yaml, properties: {conf: {get_param: conf}}}
  group:` + groupIn + `outputs:
  sum: {value: here}
`
	groupInTier = `heat_template_version: VERSION
parameters:
  conf: {type: json}
resources:
  group:` + groupIn
)

// A group whose count comes out null, or is left out, has Heat's default, one member, and
// so says every sum and list that is made of it.
func TestCountsThatAreNull(t *testing.T) {
	const (
		null, two = "{get_param: [conf, nothing]}", "{get_param: [conf, two]}"
		yes, no   = "{equals: [{get_param: [conf, two]}, '2']}", "{equals: [{get_param: [conf, two]}, '3']}"
	)
	for name, c := range map[string]struct {
		version, root, tier string
		want                int
		list                string // what the root reads of its group, where its version can
	}{
		"from an attribute, and nested": {version: "2018-08-31", root: "{get_attr: [v, value, lost]}", tier: null, want: 2, list: "[null]"},
		"beside a text":                 {version: "2018-08-31", root: two, tier: null, want: 3, list: "[null,null]"},
		"by a condition":                {version: "2018-08-31", root: "{if: [" + yes + ", {get_param: [conf, nothing]}, 3]}", tier: "1", want: 2, list: "[null]"},
		"left out":                      {version: "2021-04-16", root: "{if: [" + no + ", 3]}", tier: "1", want: 2, list: "[null]"},
		"left out in the nested one":    {version: "2021-04-16", root: "{if: [" + yes + ", 3]}", tier: "{if: [" + no + ", 3]}", want: 4, list: "[null,null,null]"},
		"before yaql":                   {version: "2015-10-15", root: null, tier: two, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := groupInRoot, t.TempDir()
			if c.list != "" {
				root += "  list: {value: {get_attr: [group, x]}}\n"
			}
			for file, text := range map[string]string{"main.yaml": strings.Replace(root, "COUNT", c.root, 1), "tier.yaml": strings.Replace(groupInTier, "COUNT", c.tier, 1)} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(text, "VERSION", c.version, 1)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, found := compile(t, options(filepath.Join(dir, "main.yaml")))
			if r == nil {
				t.Fatal(found)
			}
			outputs, members := countedByHeat(t, r.Folder, c.want)
			if got, want := string(outputs["sum"].Value), strconv.Itoa(c.want+signalled(t, r.Folder["stack.yaml"])); got != want {
				t.Errorf("hotc_done waits for %s signals, want %s", got, want)
			}
			if got := strings.ReplaceAll(string(outputs["list"].Value), " ", ""); got != c.list {
				t.Errorf("the list over the group is %s, want %s", got, c.list)
			}
			if members != c.want {
				t.Errorf("Heat makes %d servers, want %d", members, c.want)
			}
		})
	}
}

// countedByHeat makes a stack of a folder in which the output sum shows how many servers
// hotc_done waits for.
func countedByHeat(t *testing.T, folder emit.Folder, servers int) (outputs map[string]heattest.Output, made int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	for name, text := range folder {
		// Heat before 23.0.0 fails on the group itself (hot.Expr.WithElse says why).
		folder[name] = []byte(strings.Replace(string(text), "\n      count: {if: [{equals: [{get_param: [conf, two]}, '3']}, 3]}\n", "\n      count: null\n", 1))
	}
	text := folder["stack.yaml"]
	folder["stack.yaml"] = []byte(strings.Replace(string(text), "sum: {value: here}", "sum: {value: "+waitedFor(t, text)+"}", 1))
	if err := folder.Write(dir); err != nil {
		t.Fatal(err)
	}
	st := stockHeat.Oracle(t).Create(t, "site", heattest.Input{Template: filepath.Join(dir, "stack.yaml"), Parameters: map[string]any{"hotc_secret": secret}})
	booted := st.Servers(t, servers)
	for { // a sum may be a stack of its own, which is made beside the servers
		outputs := st.Outputs(t)
		if string(outputs["sum"].Value) != "null" || st.Status(t).Status != "IN_PROGRESS" {
			return outputs, len(booted)
		}
	}
}

// waitedFor is the text of hotc_done's count.
func waitedFor(t *testing.T, stack []byte) string {
	t.Helper()
	at := templateOf(t, stack).Resource("hotc_done").Property("count").Extent()
	return string(stack[at.Start:at.End])
}

// signalled is how many signals the handle of hotc_done has from the start.
func signalled(t *testing.T, stack []byte) int {
	t.Helper()
	if templateOf(t, stack).Resource("hotc_done_handle").Entry.Value.Get("metadata") == nil {
		return 0
	}
	return 1
}

func templateOf(t *testing.T, stack []byte) *hot.Template {
	t.Helper()
	var diags source.Diagnostics
	template := hot.ParseTemplate(source.NewFile("stack.yaml", stack), &diags)
	if template == nil {
		t.Fatal(diags.All())
	}
	return template
}
