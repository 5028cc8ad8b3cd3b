package rule_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	"github.com/hotc-dev/hotc/emit/lint"
)

// Templates from elsewhere, such as public ones: HOTC_PUBLIC=DIR. What Heat accepts has no
// error, and Heat accepts it with every fix applied; -v lists what only Heat refuses, and
// how often each rule finds something.
func TestPublicTemplates(t *testing.T) {
	dir := os.Getenv("HOTC_PUBLIC")
	if dir == "" {
		t.Skip("NO PUBLIC TEMPLATES: HOTC_PUBLIC=DIR names a folder with some")
	}
	refused, found, accepted, mended := 0, 0, 0, 0
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
					} else if items, is := given[p.Name].([]any); is {
						asText[p.Name] = fmt.Sprint(items...) // there is one
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
		emit.Lint(emit.Options{Template: name, Parameters: asText, Signal: "heat", Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}, Version: "test"}, &diags)
		said, errors := false, []string{}
		for _, d := range diags.All() {
			hits[d.Code]++
			said = said || d.Severity != source.Info
			if d.Refused || d.Severity == source.Error {
				errors = append(errors, d.Error())
			}
		}
		switch {
		case verdict.Accepted:
			accepted++
			for _, d := range diags.All() {
				if r := rule.Of(d.Code); r != nil && r.Template != nil && r.Evidence == rule.HeatRefuses && d.Severity == r.Severity {
					t.Logf("doubtful: %v", d)
				}
			}
			mended += mendedStands(t, name, given, asText)
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
	t.Logf("%d accepted, %d of them mended, %d refused, of which %d are found; hits: %v", accepted, mended, refused, found, hits)
}

// mendedStands applies the fixes of a template, the safe ones and then the unsafe ones, too,
// and asks Heat about the result, which is stored beside the template meanwhile. It returns
// the number of fixed versions.
func mendedStands(t *testing.T, name string, given map[string]any, asText map[string]string) (mended int) {
	t.Helper()
	for _, unsafe := range []bool{false, true} {
		o := lint.Options{Compile: emit.Options{Parameters: asText, Signal: "heat", Limits: emit.DefaultLimits, Drivers: []driver.Driver{script.Driver}, Version: "test"}}
		changes, _, err := lint.Fix(t.Context(), []lint.Target{{Path: name}}, o, unsafe)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, c := range changes {
			if c.Path != name {
				continue // of a nested one Heat is asked where it is nested in nothing
			}
			beside := name + ".mended" + filepath.Ext(name)
			if err := os.WriteFile(beside, c.After, 0o600); err != nil {
				t.Fatal(err)
			}
			verdict := stockHeat.Oracle(t).Validate(t, heattest.Input{Template: beside, Parameters: stillDeclared(c.After, given)})
			if err := os.Remove(beside); err != nil {
				t.Fatal(err)
			}
			if mended++; !verdict.Accepted && !cloudOnly.MatchString(verdict.Error) {
				t.Errorf("%s: mended (unsafe: %v), Heat refuses what it took: %s", name, unsafe, verdict.Error)
			}
		}
	}
	return mended
}

// stillDeclared are the values of parameters that a template declares.
func stillDeclared(text []byte, given map[string]any) map[string]any {
	out := map[string]any{}
	if parsed := hot.ParseTemplate(source.NewFile("mended.yaml", text), &source.Diagnostics{}); parsed != nil {
		for name, v := range given {
			if parsed.Parameter(name) != nil {
				out[name] = v
			}
		}
	}
	return out
}

// madeUp is a value that a parameter accepts.
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
