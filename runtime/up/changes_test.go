package up

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/status"
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
		"plain": {"type": "OS::Nova::Server", "properties": {"user_data": {"get_param": "n"}}},
		"bare": {"type": "OS::Nova::Server", "properties": {"user_data": "mine", "user_data_format": "RAW"}},
		"follower": {"type": "OS::Nova::Server", "properties": {"user_data": {"str_replace": {"params": {"at": {"get_attr": ["other", "first_address"]}}}}}},
		"next": {"type": "OS::Cinder::VolumeAttachment", "properties": {"instance_uuid": {"get_resource": "follower"}}},
		"gone": {"type": "OS::Heat::Value"},
		"hotc_deployment": {"type": "OS::Heat::SoftwareDeployment", "properties": {"v": 1}}}}`
	after := `{"parameters": {"image": {"type": "string", "default": "b"}, "n": {"type": "string", "default": "1"}}, "resources": {
		"same": {"type": "OS::Nova::Server", "properties": {"flavor": "small", "user_data": {"get_param": "n"}, "user_data_update_policy": "IGNORE"}},
		"refers": {"type": "OS::Cinder::VolumeAttachment", "properties": {"instance_uuid": {"get_resource": "other"}}},
		"other": {"type": "OS::Nova::Server", "properties": {"name": "two"}},
		"moved": {"type": "inner.yaml", "properties": {"script": {"get_file": "x.sh"}}},
		"pinned": {"type": "OS::Nova::Server", "properties": {"image": {"get_param": "image"}}},
		"given": {"type": "OS::Nova::Server", "properties": {"key_name": {"str_replace": {"params": {"n": {"get_param": ["n", 0]}}}}}},
		"plain": {"type": "OS::Nova::Server", "properties": {"user_data": {"get_param": "n"}}},
		"bare": {"type": "OS::Nova::Server", "properties": {"user_data": "mine, and an agent", "user_data_format": "RAW", "user_data_update_policy": "IGNORE"}},
		"follower": {"type": "OS::Nova::Server", "properties": {"user_data": {"str_replace": {"params": {"at": {"get_attr": ["other", "first_address"]}}}}}},
		"next": {"type": "OS::Cinder::VolumeAttachment", "properties": {"instance_uuid": {"get_resource": "follower"}}},
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
	seen := &heat.Changes{Added: of("new"), Deleted: of("gone"), Replaced: append(of("same", "refers", "other", "moved", "pinned", "given", "plain", "follower", "next", "hotc_deployment"), inner), Unchanged: of()}
	dir := t.TempDir()
	write(t, dir, map[string]string{"t.yaml": strings.Replace(after, "{", `{"heat_template_version": "2018-08-31", `, 1), "inner.yaml": "heat_template_version: 2018-08-31\n", "x.sh": "true\n"})
	template, err := heat.ReadTemplate(t.Context(), filepath.Join(dir, "t.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	server := func(name string) heat.Resource {
		return heat.Resource{Name: name, Type: "OS::Estate::Server", ID: "machine", StackID: "id", State: "UPDATE_COMPLETE"}
	}
	bare := server("bare")
	has := []heat.Resource{{Name: "refers", StackID: "id", State: "CHECK_FAILED"}, server("same"), bare, server("other"), server("follower")}
	plan := &contract.Plan{Servers: []contract.Server{{Path: "same"}, {Path: "bare", Roles: []contract.Role{{Name: "first"}}}, {Path: "other"}, {Path: "new"}}}
	now := &status.Status{ByPath: map[contract.ServerPath]*status.Server{"same": {}}}
	u := &Up{Cloud: &cloud{definition: before, has: has}, Template: template, Plan: plan, now: now, stack: &heat.Stack{ID: "id", Parameters: map[string]string{"image": "a", "n": "7"}}}
	for given, want := range map[string]Changes{
		`{}`: {Added: []string{"new"}, Deleted: []string{"gone"}, Replaced: []string{"given", "other", "pinned", "plain", "refers"}, Perhaps: []string{"follower", "next"},
			Bare: map[string]heat.Resource{"bare": bare}, Given: []string{"image", "n"}, Derived: []string{"given", "pinned", "plain"}, Values: map[string]Value{"image": {"a", "b", true}, "n": {"7", "1", true}}},
		`{"n": "2"}`: {Added: []string{"new"}, Deleted: []string{"gone"}, Replaced: []string{"given", "other", "pinned", "plain", "refers"}, Perhaps: []string{"follower", "next"},
			Bare: map[string]heat.Resource{"bare": bare}, Given: []string{"image", "n"}, Derived: []string{"given", "pinned", "plain"}, Values: map[string]Value{"image": {"a", "b", true}, "n": {"7", "2", false}}},
		`{"n": "7"}`: {Added: []string{"new"}, Deleted: []string{"gone"}, Replaced: []string{"other", "pinned", "refers"}, Perhaps: []string{"follower", "next"},
			Bare: map[string]heat.Resource{"bare": bare}, Given: []string{"image"}, Derived: []string{"pinned"}, Values: map[string]Value{"image": {"a", "b", true}}},
	} {
		var c Changes
		u.Options.Given = nil
		if err := json.Unmarshal([]byte(given), &u.Options.Given); err != nil {
			t.Fatal(err)
		}
		err := c.sure(t.Context(), u, seen)
		if c.machines = nil; err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("with n %s:\ngot  %+v, %v\nwant %+v", given, c, err, want)
		}
	}
	alone := &Up{Plan: plan, stack: &heat.Stack{}}
	if plain := alone.isNew("bare"); !plain {
		t.Error("a server of a stack that is not hotc's is not new")
	}
	alone.stack.Parameters = map[string]string{contract.SecretParameter: "******"}
	if alone.isNew("bare") {
		t.Error("a server is new, whose deployment the coordinator has lost")
	}
	for roles, want := range map[int]string{0: "the roles that read its address, name or id would wait", 1: "its roles would never run"} {
		plan.Servers[1].Roles = make([]contract.Role, roles)
		if err := u.refuseBare(map[string]heat.Resource{"bare": bare}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %d roles: %v", roles, err)
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

var oracle heattest.Shared

// What stock Heat foresees in groups and nested stacks has its path; there, too, resources that
// only refer to a changed one are left out.
func TestReplacementsInNestedStacksAreForeseen(t *testing.T) {
	e := oracle.Oracle(t).Endpoints
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
  image: {type: string, default: i}
  flavor: {type: string, default: f}
resources:
  db: {type: OS::Nova::Server, properties: {image: {get_param: image}, flavor: {get_param: flavor}}}
  safe: {type: OS::Nova::Server, properties: {image: {get_param: image}, flavor: f, image_update_policy: REPLACE}}
  web:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: size}
      resource_def:
        type: hotc/members/web.yaml
        properties: {hints: {get_param: batch}, word: {get_param: word}, server_properties: {image: {get_param: image}, flavor: {get_param: flavor}}}
  tier:
    type: inner.yaml
    properties: {word: {get_param: word}}
`,
		"hotc/members/web.yaml": `heat_template_version: 2018-08-31
parameters: {hints: {type: string}, word: {type: string}, server_properties: {type: json}}
resources:
  server:
    type: OS::Nova::Server
    properties: {image: {get_param: [server_properties, image]}, flavor: {get_param: [server_properties, flavor]}, scheduler_hints: {batch: {get_param: hints}}, user_data: {get_param: word}, user_data_format: RAW, user_data_update_policy: IGNORE}
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
	name := "nested-" + rand.Text() // unique: Heat deletes the previous run's slowly
	id, err := client.Create(t.Context(), name, template, heat.StackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u := &Up{Cloud: client, Template: template, Plan: &contract.Plan{}}
	for u.stack == nil || u.stack.State.InProgress() {
		if u.stack, err = client.StackAt(t.Context(), name, id); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { _ = client.Delete(t.Context(), u.stack) }()
	for given, want := range map[string]Changes{
		`{"batch": "b"}`:                {Replaced: []string{"web/0"}},
		`{"image": "j"}`:                {Replaced: []string{"safe"}, Rebuilt: []string{"db", "web/0"}},
		`{"flavor": "g"}`:               {Resized: []string{"db", "web/0"}},
		`{"image": "j", "flavor": "g"}`: {Replaced: []string{"safe"}, Rebuilt: []string{"db", "web/0"}},
		`{"word": "two"}`:               {Replaced: []string{"tier/named"}},
		`{"size": 2, "image": "j"}`:     {Replaced: []string{"safe"}, Rebuilt: []string{"db", "web/0"}, Within: true},
		`{"size": 2}`:                   {Within: true}, // Heat's own preview fails where a group grows
	} {
		u.Options.Given = nil
		if err := json.Unmarshal([]byte(given), &u.Options.Given); err != nil {
			t.Fatal(err)
		}
		got, err := u.foresee(t.Context())
		if err != nil || !slices.Equal(got.Added, want.Added) || !slices.Equal(got.Deleted, want.Deleted) || !slices.Equal(got.Replaced, want.Replaced) || !slices.Equal(got.Rebuilt, want.Rebuilt) || !slices.Equal(got.Resized, want.Resized) || got.Within != want.Within {
			t.Errorf("with %s: %+v, %v", given, got, err)
		}
	}
}

// A parameter gets another value where Heat would show another string, however lists, maps, numbers
// and booleans are written, and whoever supplies them. Hidden ones are compared by the stack's
// tags, which reveal nothing of them.
func TestWhichParametersGetAnotherValue(t *testing.T) {
	const declared = `{"heat_template_version": "2018-08-31", "parameters": {"s": {"type": "string", "default": "x"}, "n": {"type": "number", "default": 1}, "b": {"type": "boolean", "default": true},
		"l": {"type": "comma_delimited_list", "default": "a, b"}, "j": {"type": "json", "default": {"a": [1, "x"], "b": {}}}, "h": {"type": "string", "hidden": true},
		"hl": {"type": "comma_delimited_list", "hidden": "true", "default": ["a"]}, "apart": {"type": "string", "hidden": true, "default": ""}, "shown": {"type": "string", "hidden": false, "default": "x"}, "hotc_secret": {"type": "string", "hidden": true}}}`
	dir := t.TempDir()
	write(t, dir, map[string]string{"t.yaml": declared})
	template, err := heat.ReadTemplate(t.Context(), filepath.Join(dir, "t.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	raw := func(text string) (values map[string]json.RawMessage) {
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		return values
	}
	u := &Up{Template: template, Key: []byte("key"), Options: heat.StackOptions{Parameters: raw(`{"h": "hush", "hotc_secret": "one"}`)}, Values: map[string]json.RawMessage{"apart": nil},
		stack: &heat.Stack{Parameters: map[string]string{"s": "x", "n": "1", "b": "True", "l": "a,b", "j": `{"b": {}, "a": [1, "x"]}`, "h": "******", "hl": "******", "apart": "******", "shown": "x", "hotc_secret": "******"}}}
	same := u.tags()
	if len(same) != 3 || strings.Contains(strings.Join(same, ""), "hush") {
		t.Errorf("the stack's tags are %v", same)
	}
	for _, tag := range same {
		if len(tag) > 80 || strings.Contains(tag, ",") {
			t.Errorf("Heat does not take the tag %s", tag)
		}
	}
	for _, c := range []struct{ tagged, given, values, hidden, want, unknown string }{
		{"yes", `{}`, `{}`, `{"h": "hush"}`, "", ""},
		{"yes", `{"l": "a,b", "n": "1.0", "b": "yes", "j": "{\"a\":[1,\"x\"],\"b\":{}}"}`, `{}`, `{"h": "hush"}`, "", ""},
		{"yes", `{"l": "a,c", "n": "1.5", "b": "no", "j": "{\"a\":[1,\"x\"],\"b\":1}", "s": ""}`, `{}`, `{"h": "hush"}`, "b j l n s", ""},
		{"yes", `{"s": "x"}`, `{"l": ["a", "b", "c"], "j": {"a": [1, "x"]}, "s": "y"}`, `{"h": "hush"}`, "j l", ""},
		{"yes", `{}`, `{"hl": "a,b"}`, `{"h": "another"}`, "h hl", ""},
		{"", `{"shown": "y"}`, `{}`, `{"h": "hush"}`, "shown", "h hl"},
	} {
		u.stack.Tags = nil
		if c.tagged != "" {
			u.stack.Tags = same
		}
		u.Options.Given, u.Options.Parameters = raw(c.given), raw(c.hidden)
		if u.Values = raw(c.values); u.Values != nil {
			u.Values["apart"] = nil
		}
		got, unknown, _, err := u.supplied()
		if err != nil || strings.Join(got, " ") != c.want || strings.Join(unknown, " ") != c.unknown {
			t.Errorf("%+v: %v, unknown %v, %v", c, got, unknown, err)
		}
	}
}
