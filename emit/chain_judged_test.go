package emit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/emit/heat/judge"
)

// What hotc puts in a chain's place makes the same resources, under the same names, with
// the same properties, and gives the same attributes as the chain itself does, in every
// version of HOT. Stock Heat makes both: it does not look at the roles.
func TestChainIsWhatHeatMakes(t *testing.T) {
	for version, rows := range map[string][]string{"2013-05-23": {"true"}, "2014-10-16": {"false"}, "2018-08-31": {"true", "false"}} {
		for _, concurrent := range rows {
			t.Run(version+", concurrent "+concurrent, func(t *testing.T) {
				dir := t.TempDir()
				main := filepath.Join(dir, "main.yaml")
				env := filepath.Join(dir, "types.yaml")
				more := "  refs: {value: {get_attr: [row, refs, 1]}}\n  named: {value: {get_attr: [row, attributes, all]}}\n  deep: {value: {get_attr: [row, all, list, 1]}}\n"
				if version == "2013-05-23" { // selects from the list
					more = "  deep: {value: {get_attr: [row, all, 1, list, 1]}}\n"
				}
				writeAll(t, map[string]string{
					main: "heat_template_version: " + version + `
parameters:
  n: {type: number, default: 3}
  none: {type: string, default: ''}
resources:
  row:
    type: OS::Heat::ResourceChain
    properties:
      resources: [My::One, My::Two, 'My::One', My::Plain]
      concurrent: ` + concurrent + `
      resource_properties:
        text: "it's $1"
        number: {get_param: n}
        flag: true
        mixed: 7
        list: [a, b]
        map: {k: [1, {x: null}], z: 1.5, t: 'yes'}
        empty: {get_param: none}
outputs:
  all: {value: {get_attr: [row, all]}}
  one: {value: {get_attr: [row, resource.2.all]}}
  inside: {value: {get_attr: [row, resource.2, all]}}
  row: {value: {get_resource: row}}
` + more,
					filepath.Join(dir, "one.yaml"):   chainMember(version, "string"),
					filepath.Join(dir, "two.yaml"):   chainMember(version, "number"),
					filepath.Join(dir, "plain.yaml"): strings.Replace(chainMember(version, "string"), "{hotc: ", "{other: ", 1),
					env:                              "resource_registry: {My::One: one.yaml, My::Two: two.yaml, My::Plain: plain.yaml}\n",
				})
				o := options(main)
				o.Environments, o.Signal = []string{env}, false
				r, found := compile(t, o)
				if r == nil {
					t.Fatal(found)
				}
				own := makes(t, judge.Input{Template: main, Environments: []string{env}})
				ours := makes(t, inputOf(t, r))
				if diff := cmp.Diff(own, ours); diff != "" {
					t.Errorf("what Heat makes of the chain (-), and of what hotc writes (+):\n%s", diff)
				}
			})
		}
	}
}

func writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// chainMember has a server with roles, and gives back what it was handed.
func chainMember(version, mixed string) string {
	return "heat_template_version: " + version + `
parameters:
  text: {type: string}
  number: {type: number}
  flag: {type: boolean}
  mixed: {type: ` + mixed + `}
  list: {type: comma_delimited_list}
  map: {type: json}
  empty: {type: string, default: preset}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, name: {get_param: text}}
    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true'}]}}
outputs:
  all:
    value: {text: {get_param: text}, number: {get_param: number}, flag: {get_param: flag}, mixed: {get_param: mixed}, list: {get_param: list}, map: {get_param: map}, empty: {get_param: empty}}
`
}

// makes is what Heat makes of a template, without the ids.
func makes(t *testing.T, in judge.Input) string {
	t.Helper()
	st := stockHeat.Judge(t).Create(t, "row", in)
	st.Complete(t)
	var lines []string
	for _, s := range st.Booted(t) {
		lines = append(lines, fmt.Sprintf("server %s, path %s", s.Name, s.Path))
	}
	for _, r := range st.Resources(t) {
		if r.Path != "row" && !strings.Contains(r.Path, "/hotc_boot_") { // of another type; and of roles
			lines = append(lines, fmt.Sprintf("%s: %s %s", r.Path, r.Type, r.Status))
		}
	}
	for name, o := range st.Outputs(t) {
		v, _ := json.Marshal(o)
		lines = append(lines, fmt.Sprintf("output %s: %s", name, v))
	}
	slices.Sort(lines)
	return ids.ReplaceAllString(strings.Join(lines, "\n"), "ID")
}

var ids = regexp.MustCompile(`arn:[^"]*|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
