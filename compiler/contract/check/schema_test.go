package check_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// The schema knows whatever the compiler may write: a field that it lacks makes a plan that
// the next command refuses.
func TestSchemaHasEveryField(t *testing.T) {
	text, err := os.ReadFile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	root.covers(t, "", reflect.TypeFor[contract.Plan](), &root, map[string]bool{})
}

// onlyPublished are what a server's part has in the coordinator, and never in plan.json.
var onlyPublished = []string{"reads", "writes", "seals", "keys", "relayed"}

// schema is as much of a JSON schema as tells which keys an object may have.
type schema struct {
	Ref         string             `json:"$ref"`
	Definitions map[string]*schema `json:"definitions"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Others      json.RawMessage    `json:"additionalProperties"`
}

func (s *schema) covers(t *testing.T, path string, of reflect.Type, root *schema, seen map[string]bool) {
	if s == nil {
		return
	}
	if name := strings.TrimPrefix(s.Ref, "#/definitions/"); name != "" {
		if seen[name] {
			return
		}
		seen[name] = true
		root.Definitions[name].covers(t, path, of, root, seen)
		return
	}
	switch of.Kind() {
	case reflect.Pointer:
		s.covers(t, path, of.Elem(), root, seen)
	case reflect.Slice:
		s.Items.covers(t, path+"/0", of.Elem(), root, seen)
	case reflect.Map:
		var others *schema
		_ = json.Unmarshal(s.Others, &others) // true and false cover nothing below
		others.covers(t, path+"/KEY", of.Elem(), root, seen)
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Anonymous || name == "-" || name == "" {
				continue
			}
			below, has := s.Properties[name]
			added := of == reflect.TypeFor[contract.Server]() && slices.Contains(onlyPublished, name)
			if !has && !added && string(s.Others) == "false" {
				t.Errorf("%s: the schema does not allow %q", path, name)
			}
			below.covers(t, path+"/"+name, field.Type, root, seen)
		}
	}
}
