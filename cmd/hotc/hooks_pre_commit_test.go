package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The hook has what pre-commit asks for, and what it calls fails for a wrong template only.
func TestPreCommitHook(t *testing.T) {
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Name, Description, Language, Entry string
		Args                                   []string
		Types                                  []string `yaml:"types_or"`
		PassFilenames                          *bool    `yaml:"pass_filenames"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	if d.KnownFields(true); d.Decode(&hooks) != nil || len(hooks) == 0 {
		t.Fatalf("%s", text)
	}
	for _, h := range hooks {
		if h.ID == "" || h.Name == "" || h.Language != "golang" || !strings.HasPrefix(h.Entry, "hotc ") {
			t.Errorf("%+v", h)
		}
		for template, want := range map[string]int{"resources: {}": exitOK, "resorces: {}": exitError} {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("heat_template_version: 2018-08-31\n"+template+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			var out bytes.Buffer
			if got := run(t.Context(), append(strings.Fields(h.Entry)[1:], h.Args...), streams{in: strings.NewReader(""), out: &out, err: &out}); got != want {
				t.Errorf("%s, %s: status %d, want %d: %s", h.ID, template, got, want, out.String())
			}
		}
	}
}
