package schema_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xeipuuv/gojsonschema"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint"
	"github.com/hotc-dev/hotc/emit/lint/format"
	"github.com/hotc-dev/hotc/emit/lint/schema"
)

func compiled(t *testing.T, name string) *gojsonschema.Schema {
	t.Helper()
	for _, s := range schema.All {
		if s.Name == name {
			out, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(s.Text(nil)))
			if err != nil {
				t.Fatal(name, err)
			}
			return out
		}
	}
	t.Fatal("no schema " + name)
	return nil
}

// violations are what a schema says of a text in YAML.
func violations(t *testing.T, s *gojsonschema.Schema, text []byte) string {
	t.Helper()
	var quiet source.Diagnostics
	root := yaml.Parse(source.NewFile("a", text), &quiet)
	if root == nil {
		t.Fatal(quiet.All()[0])
	}
	result, err := s.Validate(gojsonschema.NewBytesLoader(value.EncodeJSON(root.Data())))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(result.Errors())
}

// report is what is found in the project's templates.
func report(t *testing.T) (*lint.Report, []lint.Target) {
	t.Helper()
	targets, err := lint.Find(t.Context(), "../../../testdata", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := lint.Run(t.Context(), targets, lint.Options{Compile: emit.Options{Parameters: map[string]string{}, Signal: "heat",
		Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}, Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	return r, targets
}

// Every template of the project that has no error, and no warning about a resource's
// properties, fits the schema.
func TestTemplatesFit(t *testing.T) {
	s := compiled(t, "template")
	r, targets := report(t)
	wrong := map[string]bool{}
	for f := range r.Active() {
		if f.Severity == source.Error || strings.HasPrefix(string(f.Code), "H2") {
			wrong[f.File] = true
		}
	}
	fit := 0
	for _, x := range targets {
		if wrong[x.Path] || !bytes.Contains(x.Text, []byte("heat_template_version")) {
			continue
		}
		fit++
		if got := violations(t, s, x.Text); got != "[]" {
			t.Errorf("%s: %s", x.Path, got)
		}
	}
	if fit < 20 {
		t.Errorf("only %d templates", fit)
	}
}

// What an editor is to underline does not fit.
func TestMistakesDoNotFit(t *testing.T) {
	s := compiled(t, "template")
	head := "heat_template_version: 2018-08-31\n"
	for text, fits := range map[string]bool{
		head: true,
		head + "resources: {a: {type: 'OS::Cinder::Volume', properties: {size: {get_param: x}}}}":                                          true,
		head + "resources: {a: {type: 'Our::Own', properties: {anything: 1}}}":                                                             true,
		head + "resources: {a: {type: child.yaml, properties: {anything: 1}}}":                                                             true,
		head + "resources: {a: {type: 'OS::Cinder::Volume', properties: {if: [a, {size: 1}, {size: 2}]}}}":                                 false, // Heat refuses it, too
		head + "resources: {a: {type: 'OS::Cinder::Volume', properties: {sise: 1}}}":                                                       false,
		head + "resources: {a: {type: 'OS::Neutron::Subnet', properties: {name: s, network: n, allocation_pools: [{start: a, ends: b}]}}}": false,
		head + "resources: {a: {typ: 'OS::Cinder::Volume'}}":                                                                               false,
		head + "resorces: {}":                                               false,
		head + "parameters: {a: {type: strng}}":                             false,
		"heat_template_version: 2018-08-30":                                 false,
		"heat_template_version: rocky\noutputs: {a: {value: 1}}":            true,
		head + "outputs: {a: {value: 1, descripton: x}}":                    false,
		head + "resources: {a: {type: 'OS::Nova::Server', properties: {}}}": false, // a flavor is needed
	} {
		if got := violations(t, s, []byte(text)); (got == "[]") != fits {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// What hotc lint prints fits its schema, with all that it may have.
func TestReportFits(t *testing.T) {
	r, _ := report(t)
	r.Findings = append(r.Findings, lint.Finding{Diagnostic: source.Fail(source.CannotRead, "gone", ""), File: "gone"})
	r.Findings[0].Suppressed = &lint.Suppression{By: lint.Comment, Reason: "known"}
	mended := *r.Findings[1].Diagnostic
	mended.Fix = &source.Fix{Does: "remove it", Edits: []source.Edit{{Span: mended.At.Span}}}
	r.Findings[1].Diagnostic = &mended
	var out bytes.Buffer
	if err := format.Write(&out, "json", r, ""); err != nil || !bytes.Contains(out.Bytes(), []byte(`"does"`)) {
		t.Fatal(err)
	}
	s := compiled(t, "lint")
	result, err := s.Validate(gojsonschema.NewBytesLoader(out.Bytes()))
	if err != nil || !result.Valid() {
		t.Error(err, result.Errors())
	}
	for _, broken := range []string{`"version": 2`, `"severity": "fatal"`, `"line": 0`, `"code": "X1"`} {
		key, _, _ := strings.Cut(broken, ":")
		at := bytes.Index(out.Bytes(), []byte(key+":"))
		end := at + bytes.IndexByte(out.Bytes()[at:], ',')
		text := string(out.Bytes()[:at]) + broken + string(out.Bytes()[end:])
		if result, err := s.Validate(gojsonschema.NewStringLoader(text)); err != nil || result.Valid() {
			t.Errorf("%s fits: %v", broken, err)
		}
	}
}

// Each schema is one, and has an address of its own.
func TestSchemasCompile(t *testing.T) {
	for _, s := range schema.All {
		compiled(t, s.Name)
		if !bytes.Contains(s.Text(nil), []byte(`"$id": "https://hotc.dev/schema/`)) {
			t.Errorf("%s has no address", s.Name)
		}
	}
}
