package rule_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// Templates that lie elsewhere, such as public ones: HOTC_PUBLIC=DIR. What Heat takes has no
// error; of what it refuses, -v lists that of which hotc says nothing, and how often each
// rule finds something.
func TestPublicTemplates(t *testing.T) {
	dir := os.Getenv("HOTC_PUBLIC")
	if dir == "" {
		t.Skip("NO PUBLIC TEMPLATES: HOTC_PUBLIC=DIR names a folder with some")
	}
	refused, found, accepted := 0, 0, 0
	hits := map[source.Code]int{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		switch filepath.Ext(name) {
		case ".yaml", ".yml", ".template", ".hot":
		default:
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || len(text) > 400_000 || !bytes.Contains(text, []byte("emplate_version")) && !bytes.Contains(text, []byte("FormatVersion")) {
			return err
		}
		parsed := hot.ParseTemplate(source.NewFile(name, text), &source.Diagnostics{})
		given, asText := map[string]any{}, map[string]string{}
		if parsed != nil {
			for _, p := range parsed.Parameters {
				if p.Default == nil {
					given[p.Name] = madeUp(p)
					if s, is := given[p.Name].(string); is {
						asText[p.Name] = s
					} else {
						text, _ := json.Marshal(given[p.Name])
						asText[p.Name] = string(text)
					}
				}
			}
		}
		verdict := stockHeat.Oracle(t).Validate(t, heattest.Input{Template: name, Parameters: given})
		if cloudOnly.MatchString(verdict.Error) {
			return nil
		}
		var diags source.Diagnostics
		emit.Lint(emit.Options{Template: name, Parameters: asText, Signal: "heat", Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver{}}, Version: "test"}, &diags)
		said, errors := false, []string{}
		for _, d := range diags.All() {
			hits[d.Code]++
			said = said || d.Severity != source.Info
			if d.Severity == source.Error {
				errors = append(errors, d.Error())
			}
		}
		switch {
		case verdict.Accepted:
			accepted++
			for _, d := range diags.All() {
				if r := rule.Of(d.Code); r != nil && r.Template != nil && r.Truth == rule.HeatRefuses && d.Severity == r.Severity {
					t.Logf("doubtful: %v", d)
				}
			}
			if len(errors) > 0 {
				t.Errorf("%s: Heat takes it, hotc says\n  %s", name, strings.Join(errors, "\n  "))
			}
		case said:
			refused, found = refused+1, found+1
		default:
			refused++
			t.Logf("missed: %s: %.300s", name, verdict.Error)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d accepted, %d refused, of which %d are found; hits: %v", accepted, refused, found, hits)
}

// madeUp is a value that a parameter takes.
func madeUp(p *hot.Parameter) any {
	for _, c := range p.Constraints {
		if len(c.Allowed) > 0 {
			return c.Allowed[0]
		}
		if c.Kind == "range" && c.Min != nil {
			return c.Min
		}
	}
	switch p.Type {
	case "number":
		return 3
	case "boolean":
		return true
	case "json":
		return map[string]any{}
	case "comma_delimited_list":
		return []any{"10.0.0.5"}
	}
	return "10.0.0.5"
}
