package main

import (
	"bytes"
	"os"
	"os/exec"
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

// The real pre-commit builds the hook from this repository, passes what is right and shows what is
// wrong.
func TestPreCommit(t *testing.T) {
	for _, name := range []string{"pre-commit", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("NOT TRIED WITH PRE-COMMIT: %s is not installed (apt-get install %s)", name, name)
		}
	}
	own, dir := filepath.Join(t.TempDir(), "hotc"), t.TempDir()
	t.Setenv("PRE_COMMIT_HOME", t.TempDir())
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} { // pre-commit has a GOPATH of its own
		t.Setenv(name, command(t, ".", "go", "env", name))
	}
	t.Setenv("GOFLAGS", "-trimpath")
	command(t, ".", "git", "clone", "-q", "../..", own)
	command(t, dir, "git", "init", "-q")
	for name, text := range map[string]string{
		"web.yaml":                "heat_template_version: 2018-08-31\nresources: {}\n",
		".pre-commit-config.yaml": "repos: [{repo: '" + own + "', rev: " + command(t, own, "git", "rev-parse", "HEAD") + ", hooks: [{id: hotc-lint}]}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, "git", "add", "-A")
	if out := command(t, dir, "pre-commit", "run", "--all-files"); !strings.Contains(out, "Passed") {
		t.Errorf("of what is right: %s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte("heat_template_version: 2018-08-31\nresorces: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("pre-commit", "run", "--all-files")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"Failed", "exit code: 1", "web.yaml:2:1: error[H203]"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("of what is wrong, without %q: %v: %s", want, err, out)
		}
	}
}

// command runs one that must go well, and gives what it prints.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}
