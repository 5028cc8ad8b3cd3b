package cloudinit

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// Cloud-init's own schema has no key at the top that is unknown here.
func TestKeysAreCloudInits(t *testing.T) {
	text, err := os.ReadFile("/usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v1.json")
	if os.IsNotExist(err) {
		t.Skip("NOT COMPARED: cloud-init is not installed (apt-get install cloud-init)")
	}
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
		AllOf []struct {
			Ref string `json:"$ref"`
		} `json:"allOf"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, part := range schema.AllOf {
		for key := range schema.Defs[part.Ref[len("#/$defs/"):]].Properties {
			known++
			if !slices.Contains(Keys(), key) {
				t.Errorf("cloud-init knows %q", key)
			}
		}
	}
	if known < 50 {
		t.Errorf("the schema has only %d keys", known)
	}
}
