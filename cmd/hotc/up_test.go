package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

func TestWhatHeatNamesHasItsPlace(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"site.yaml":  "heat_template_version: 2018-08-31\nresources:\n  db:\n    type: OS::Heat::Value\n    properties: {value: 1}\n  db2:\n    type: OS::Heat::Value\n    properties: {value: 1}\n  tier: {type: inner.yaml}\n",
		"inner.yaml": "heat_template_version: 2018-08-31\nresources:\n  web:\n    type: OS::Heat::Value\n    properties: {value: 1}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var diags source.Diagnostics
	r := emit.Compile(emit.Options{Template: filepath.Join(dir, "site.yaml"), Limits: emit.DefaultLimits, Version: version}, &diags)
	if r == nil {
		t.Fatal(diags.All())
	}
	for said, want := range map[string]string{
		"Property error: resources.db.properties.value: no": "site.yaml:3",
		"Property error: resources.db2: no":                 "site.yaml:6",
		"resources.tier: resources.web<nested>: no":         "inner.yaml:3", // the longer name is as good
		"Quota exceeded":       "",
		"resources.nobody: no": "",
	} {
		got := ""
		if at := placeNamed(r, said); at.File != nil {
			line, _ := at.File.Position(at.Span.Start)
			got = filepath.Base(at.File.Name) + ":" + string(rune('0'+line))
		}
		if got != want && (want != "inner.yaml:3" || got != "site.yaml:9") {
			t.Errorf("%q is at %q, want %q", said, got, want)
		}
	}
}

func TestUpRefusesBeforeItDoesAnything(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") || strings.HasPrefix(name, "HOTC_") {
			t.Setenv(name, "")
		}
	}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("HOME", t.TempDir())
	where := []string{"--stack", "site", "--coordinator", "zk://127.0.0.1:1/hotc"}
	template := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(template, []byte("heat_template_version: 2018-08-31\nparameters: {key: {type: string}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args   []string
		status int
		part   string
	}{
		{[]string{"up"}, 2, "hotc up TEMPLATE"},
		{[]string{"up", template}, 2, "which stack?"},
		{[]string{"up", template, "-P", "key=a", "--stack", "site"}, 2, "which coordinator?"},
		{append([]string{"up", template + "x"}, where...), 1, "H101"},
		{append([]string{"up", template}, where...), 2, "no default for key"},
		{append([]string{"up", template, "-P", "key=a"}, where...), 1, "no cloud is selected"},
		{append([]string{"up", template, "-P", "key=a", "--signal", "smoke"}, where...), 2, "--signal"},
		{append([]string{"up", template}, append(where, "--stack", "a b")...), 2, "a b"},
		{[]string{"down", "a b"}, 2, "a b"},
		{[]string{"down", "site"}, 2, "which coordinator?"},
		{[]string{"down", "site", "--coordinator", "zk://127.0.0.1:1/hotc"}, 1, "no cloud is selected"},
		{[]string{"down", "a", "--stack", "b", "--coordinator", "zk://127.0.0.1:1/hotc"}, 2, "which stack: a or b?"},
	} {
		var out, errs strings.Builder
		status := run(t.Context(), x.args, streams{in: strings.NewReader(""), out: &out, err: &errs})
		if status != x.status || !strings.Contains(errs.String(), x.part) {
			t.Errorf("hotc %s ended with %d: %s", strings.Join(x.args, " "), status, errs.String())
		}
	}
	secrets, _ := filepath.Glob(filepath.Join(state, "hotc", "*", keptSecretFile))
	if len(secrets) > 0 {
		t.Errorf("secrets were made: %v", secrets)
	}
}

func TestTheKeptSecretIsFoundWhateverTheOrderOfHosts(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(secretFileVariable, "")
	one, other := &target{stack: "s", url: "zk://a:1,b:2/hotc"}, &target{stack: "s", url: "zk://b:2,a:1/hotc"}
	if one.secretPath() != "" {
		t.Fatal("there is a secret already")
	}
	if _, err := one.makeState(); err != nil {
		t.Fatal(err)
	}
	made, err := one.makeSecret()
	if err != nil || made == "" || other.secretPath() != made {
		t.Errorf("%q and %q: %v", made, other.secretPath(), err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := other.makeSecret(); again != "" || err != nil {
		t.Errorf("it is made again: %q, %v", again, err)
	}
	for _, x := range []*target{{stack: "s2", url: one.url}, {stack: "s", url: "zk://a:1,b:2/other"}, {stack: "s", url: "zk://a:1/hotc"}} {
		if x.secretPath() != "" {
			t.Errorf("%s at %s has it, too", x.stack, x.url)
		}
	}
}

// Heat takes names as long as a file's may be: the folder's, which has more in it, is cut.
func TestTheSecretOfAStackWithALongName(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv(secretFileVariable, "")
	long := strings.Repeat("x", 254)
	one, other := &target{stack: long + "a", url: "zk://a:1/hotc"}, &target{stack: long + "b", url: "zk://a:1/hotc"}
	if _, err := one.makeState(); err != nil {
		t.Fatal(err)
	}
	made, err := one.makeSecret()
	if err != nil || made == "" || one.secretPath() != made || other.secretPath() != "" {
		t.Errorf("%q, %q and %q: %v", made, one.secretPath(), other.secretPath(), err)
	}
}

func TestWhatHasFailedHasItsPlace(t *testing.T) {
	dir := t.TempDir()
	roles := "    metadata: {hotc: {roles: [{name: r, driver: script, source: 'true'}]}}\n"
	for name, text := range map[string]string{
		"site.yaml": "heat_template_version: 2018-08-31\nresources:\n  server:\n    type: OS::Heat::Value\n    properties: {value: 1}\n  tier: {type: inner.yaml}\n  web:\n    type: OS::Heat::ResourceGroup\n" +
			"    properties:\n      count: 2\n      resource_def: {type: inner.yaml}\n  app:\n    type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: 1\n      max_size: 2\n      resource:\n        type: OS::Nova::Server\n        properties: {image: i, flavor: f}\n    " + roles,
		"inner.yaml": "heat_template_version: 2018-08-31\nresources:\n  server:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n" + roles,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var diags source.Diagnostics
	r := emit.Compile(emit.Options{Template: filepath.Join(dir, "site.yaml"), Limits: emit.DefaultLimits, Drivers: drivers(), Version: version, Coordinator: "zk://h/hotc", Signal: contract.RelaySignals}, &diags)
	if r == nil {
		t.Fatal(diags.All())
	}
	for path, want := range map[string]string{
		"server": "site.yaml:3:3", "tier": "site.yaml:6:3", "tier/server": "inner.yaml:3:3", "tier/nobody": "site.yaml:6:3", "web/1/server": "inner.yaml:3:3", "web/7/server": "inner.yaml:3:3", "web/1": "site.yaml:7:3",
		"app/x1y2/server": "site.yaml:12:3", "app": "site.yaml:12:3", "nobody": "",
	} {
		at := placeAt(r, strings.Split(path, "/"))
		got := ""
		if at.Known() {
			got = filepath.Base(at.String())
		}
		if got != want {
			t.Errorf("%s is at %q, want %q", path, got, want)
		}
	}
}
