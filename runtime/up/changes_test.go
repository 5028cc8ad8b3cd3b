package up

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/emit/heat/heattest"
	"github.com/hotc-dev/hotc/runtime/heat"
)

func TestOnlyWhatIsSureIsSaidToBeReplaced(t *testing.T) {
	before := `{"parameters": {"image": {"type": "string", "default": "a"}, "n": {"type": "string", "default": "1"}}, "resources": {
		"same": {"type": "OS::Nova::Server", "properties": {"flavor": "small", "user_data": "one", "user_data_update_policy": "IGNORE"}},
		"refers": {"type": "OS::Cinder::VolumeAttachment", "properties": {"instance_uuid": {"get_resource": "other"}}},
		"other": {"type": "OS::Nova::Server", "properties": {"name": "one"}},
		"moved": {"type": "file:///a/b/inner.yaml", "properties": {"script": {"get_file": "file:///a/b/x.sh"}}},
		"pinned": {"type": "OS::Nova::Server", "properties": {"image": {"get_param": "image"}}},
		"given": {"type": "OS::Nova::Server", "properties": {"key_name": {"str_replace": {"params": {"n": {"get_param": ["n", 0]}}}}}},
		"gone": {"type": "OS::Heat::Value"},
		"hotc_deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {"v": 1}}}}`
	after := `{"parameters": {"image": {"type": "string", "default": "b"}, "n": {"type": "string", "default": "1"}}, "resources": {
		"same": {"type": "OS::Nova::Server", "properties": {"flavor": "small", "user_data": {"get_param": "n"}, "user_data_update_policy": "IGNORE"}},
		"refers": {"type": "OS::Cinder::VolumeAttachment", "properties": {"instance_uuid": {"get_resource": "other"}}},
		"other": {"type": "OS::Nova::Server", "properties": {"name": "two"}},
		"moved": {"type": "inner.yaml", "properties": {"script": {"get_file": "x.sh"}}},
		"pinned": {"type": "OS::Nova::Server", "properties": {"image": {"get_param": "image"}}},
		"given": {"type": "OS::Nova::Server", "properties": {"key_name": {"str_replace": {"params": {"n": {"get_param": ["n", 0]}}}}}},
		"new": {"type": "OS::Heat::Value"},
		"hotc_deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {"v": 2}}}}`
	of := func(names ...string) (list []heat.Change) {
		for _, name := range names {
			c := heat.Change{Name: name}
			c.Stack.ID = "id"
			list = append(list, c)
		}
		return list
	}
	inner := heat.Change{Name: "other"}
	inner.Stack.ID = "another"
	seen := &heat.Changes{Added: of("new"), Deleted: of("gone"), Replaced: append(of("same", "refers", "other", "moved", "pinned", "given", "hotc_deployment"), inner), Unchanged: of()}
	dir := t.TempDir()
	write(t, dir, map[string]string{"t.yaml": strings.Replace(after, "{", `{"heat_template_version": "2018-08-31", `, 1), "inner.yaml": "heat_template_version: 2018-08-31\n", "x.sh": "true\n"})
	template, err := heat.ReadTemplate(t.Context(), filepath.Join(dir, "t.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u := &Up{Cloud: &cloud{definition: before}, Template: template, stack: &heat.Stack{ID: "id", Parameters: map[string]string{"image": "a", "n": "1"}}}
	for given, want := range map[string]Changes{
		`"2"`: {Added: []string{"new"}, Deleted: []string{"gone"}, Replaced: []string{"given", "other", "pinned"}, Given: []string{"image", "n"}, Derived: []string{"given", "pinned"}},
		`"1"`: {Added: []string{"new"}, Deleted: []string{"gone"}, Replaced: []string{"other", "pinned"}, Given: []string{"image"}, Derived: []string{"pinned"}},
	} {
		var c Changes
		u.Options.Given = map[string]json.RawMessage{"n": []byte(given)}
		if err := c.sure(t.Context(), u, seen); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("with n %s:\ngot  %+v, %v\nwant %+v", given, c, err, want)
		}
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var judge heattest.Shared

// What stock Heat foresees in groups and nested stacks has its path; what only refers to
// something that changes is left out there, too.
func TestReplacementsInNestedStacksAreForeseen(t *testing.T) {
	e := judge.Oracle(t).Endpoints
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{"OS_AUTH_URL": e.AuthURL, "OS_USERNAME": e.Username, "OS_PASSWORD": e.Password, "OS_PROJECT_ID": e.Project, "OS_USER_DOMAIN_NAME": "Default"} {
		t.Setenv(name, value)
	}
	client, err := heat.Connect(t.Context(), heat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"site.yaml": `heat_template_version: 2018-08-31
parameters:
  batch: {type: string, default: a}
  size: {type: number, default: 1}
  word: {type: string, default: one}
resources:
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def:
        type: hotc/members/web.yaml
        properties: {hints: {get_param: batch}, word: {get_param: word}}
  tier:
    type: inner.yaml
    properties: {word: {get_param: word}}
`,
		"hotc/members/web.yaml": `heat_template_version: 2018-08-31
parameters: {hints: {type: string}, word: {type: string}}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: i, flavor: f, scheduler_hints: {batch: {get_param: hints}}, user_data: {get_param: word}, user_data_format: RAW, user_data_update_policy: IGNORE}
`,
		"inner.yaml": `heat_template_version: 2018-08-31
parameters: {word: {type: string}}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: word}}}
  random: {type: OS::Heat::RandomString, properties: {salt: fixed, length: 8}}
  named: {type: OS::Heat::RandomString, properties: {salt: {get_param: word}}}
`})
	template, err := heat.ReadTemplate(t.Context(), filepath.Join(dir, "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := client.Create(t.Context(), "nested", template, heat.StackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u := &Up{Cloud: client, Template: template}
	for u.stack == nil || u.stack.State.InProgress() {
		if u.stack, err = client.StackAt(t.Context(), "nested", id); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = client.Delete(t.Context(), u.stack) }()
	for given, want := range map[string]Changes{
		`{"batch": "b"}`:  {Replaced: []string{"web/0"}},
		`{"word": "two"}`: {Replaced: []string{"tier/named"}},
		`{"size": 2}`:     {Within: true}, // where a group grows Heat's own preview fails
	} {
		u.Options.Given = nil
		if err := json.Unmarshal([]byte(given), &u.Options.Given); err != nil {
			t.Fatal(err)
		}
		got, err := u.foresee(t.Context())
		if err != nil || !slices.Equal(got.Added, want.Added) || !slices.Equal(got.Deleted, want.Deleted) || !slices.Equal(got.Replaced, want.Replaced) || got.Within != want.Within {
			t.Errorf("with %s: %+v, %v", given, got, err)
		}
	}
}
