// Package check reads a plan.json that may have been edited, truncated or written by
// another version: it validates it against its JSON Schema, then checks what a schema
// cannot express, that every name refers to something. Agents trust the coordinator and
// do not link this package and its validator.
package check

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Schema is the JSON Schema of plan.json.
//
//go:embed plan.schema.json
var Schema []byte

var compiled = sync.OnceValues(func() (*gojsonschema.Schema, error) {
	return gojsonschema.NewSchema(gojsonschema.NewBytesLoader(Schema))
})

// mostReported bounds the violations that one error lists.
const mostReported = 10

// Plan reads and checks a plan. The error names each invalid place by its JSON pointer:
// /servers/0/roles/1/name.
func Plan(data []byte) (*contract.Plan, error) {
	if err := format(data); err != nil {
		return nil, err
	}
	schema, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("the plan's schema: %w", err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(data))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if !result.Valid() {
		return nil, violations(result.Errors())
	}
	var p contract.Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("not a plan: %w", err)
	}
	return &p, names(&p)
}

// format distinguishes a plan of another version from a broken one.
func format(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	var head struct {
		Format json.RawMessage `json:"format"`
	}
	if err := d.Decode(&head); err != nil {
		var place *json.SyntaxError
		if errors.As(err, &place) {
			return fmt.Errorf("not JSON: %v at byte %d", err, place.Offset)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("not JSON: unexpected end")
		}
		return fmt.Errorf("not a plan: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("not JSON: more than one value")
	}
	if want := fmt.Sprint(contract.Format); len(head.Format) > 0 && string(head.Format) != want {
		return fmt.Errorf("/format: the plan has format %s, but this hotc reads format %s", head.Format, want)
	}
	return nil
}

func violations(found []gojsonschema.ResultError) error {
	lines := make([]string, 0, len(found))
	for _, e := range found {
		at := strings.TrimPrefix(e.Context().String("/"), gojsonschema.STRING_ROOT_SCHEMA_PROPERTY)
		if at == "" {
			at = "/"
		}
		lines = append(lines, at+": "+e.Description())
	}
	sort.Strings(lines)
	if over := len(lines) - mostReported; over > 0 {
		lines = append(lines[:mostReported], fmt.Sprintf("and %d more", over))
	}
	return errors.New(strings.Join(lines, "\n"))
}
