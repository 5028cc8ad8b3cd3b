package up

import (
	"encoding/json"
	"reflect"
	"testing"

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
		"moved": {"type": "file:///c/inner.yaml", "properties": {"script": {"get_file": "file:///c/x.sh"}}},
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
	var c Changes
	s := &heat.Stack{ID: "id", Parameters: map[string]string{"image": "a", "n": "1"}}
	if err := c.sure(s, seen, json.RawMessage(before), json.RawMessage(after), map[string]json.RawMessage{"n": []byte(`"2"`)}); err != nil {
		t.Fatal(err)
	}
	if want := (Changes{Added: []string{"new"}, Deleted: []string{"gone"}, Replaced: []string{"given", "other", "pinned"}}); !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	c = Changes{}
	if err := c.sure(s, seen, json.RawMessage(before), json.RawMessage(after), map[string]json.RawMessage{"n": []byte(`"1"`)}); err != nil || !reflect.DeepEqual(c.Replaced, []string{"other", "pinned"}) {
		t.Errorf("with the same value given: %+v (%v)", c, err)
	}
}
