package puppet_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/puppet"
)

// A read waits where the manifest evaluates it: what comes before is published, though
// an input of the role is not there, and what that brings about brings the input.
func TestAReadWaitsAsLateAsItCan(t *testing.T) {
	r := newTrial(t)
	r.input("port", `3306`)
	r.inputs = append(r.inputs, contract.Input{Name: "peer", Time: contract.Run})
	r.output("variable", "endpoint", "endpoint")
	r.output("resource", "peered", "Notify[peer]")
	published := make(chan struct{})
	r.arrives = func(ctx context.Context, _ string) (json.RawMessage, error) {
		select {
		case <-published:
			return json.RawMessage(`"other"`), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	r.onWrite = func(name string) {
		if name == "endpoint" {
			close(published)
		}
	}
	r.manifest(`
class peering ($peer) { notify { 'peer': message => $peer } }
$endpoint = "mysql://db:${port}/"
class { 'peering': peer => $peer }
`)
	r.succeed()
	want := []string{"get port", `put endpoint "mysql://db:3306/"`, "get peer", "put peered true"}
	if !slices.Equal(r.events, want) {
		t.Errorf("%q, want %q", r.events, want)
	}
}

// A manifest that never comes to a read does not wait for it.
func TestAnInputThatIsNotReadIsNotAwaited(t *testing.T) {
	r := newTrial(t)
	r.inputs = append(r.inputs, contract.Input{Name: "peer", Time: contract.Run})
	r.arrives = func(ctx context.Context, _ string) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	r.manifest("if $facts['kernel'] == 'Plan9' { notify { $peer: } }")
	r.succeed()
	if len(r.events) > 0 {
		t.Errorf("%q", r.events)
	}
}

// An optional input that did not come leaves what the manifest has without it.
func TestOptionalInputsThatDidNotCome(t *testing.T) {
	r := newTrial(t)
	for _, name := range []string{"none", "kernel", "app::port"} {
		r.optional(name, `null`)
	}
	r.optional("theme", `"dark"`)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		r.output("variable", name, name)
	}
	r.manifest(`
class app ($port = 80) {}
include app
$a = $app::port
$b = $none
$c = $facts['none']
$d = lookup('none', String, 'first', 'default')
$e = "${kernel} ${facts['kernel']} ${::kernel}"
$f = defined('$none')
$g = 'none' in $facts
$h = $theme
`)
	r.succeed()
	for name, want := range map[string]string{"a": `80`, "b": `null`, "c": `null`, "d": `"default"`, "e": `"Linux Linux Linux"`, "f": `false`, "g": `false`, "h": `"dark"`} {
		if got := r.published(name); got != want {
			t.Errorf("$%s = %s, want %s", name, got, want)
		}
	}
}

// An input takes the place of a fact, and nothing in a manifest takes its place.
func TestAnInputTakesThePlaceOfAFact(t *testing.T) {
	r := newTrial(t)
	r.input("kernel", `"input"`)
	r.output("variable", "seen", "seen")
	r.manifest("$seen = [$kernel, $::kernel, $facts['kernel'], getvar('facts.kernel')]")
	r.succeed()
	if got := r.published("seen"); got != `["input","input","input","input"]` {
		t.Error(got)
	}
	again := another(r)
	again.input("port", `1`)
	again.manifest("notice('first')\n$port = 80\n")
	again.fails(1, "Cannot reassign variable '$port': it is an input of the role (file: manifest/site.pp, line: 2")
}

// What fails is told in Puppet's own words, with the place in the user's files.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name, manifest string
		code           int
		says           string
	}{
		{"what is not a manifest", "notice('a')\nfile {", 1, "Error: Could not parse for environment hotc: Syntax error at end of input (file: manifest/site.pp)"},
		{"a function", "\nfail('no disk')", 1, "Evaluation Error: Error while evaluating a Function Call, no disk (file: manifest/site.pp, line: 2, column: 1)"},
		{"a wrong type", "class a (Integer $port) {}\nclass { 'a': port => 'x' }", 1, "Class[A]: parameter 'port' expects an Integer value, got String (file: manifest/site.pp, line: 2"},
		{"an unknown class", "include none", 1, "Could not find class ::none"},
		{"a command", "notify { 'first': }\nexec { '/bin/false': }\nexec { '/bin/sh -c \"exit 3\"': }", 6, "Exec[/bin/false]: change from 'notrun' to ['0'] failed: '/bin/false' returned 1 instead of one of [0] (file: manifest/site.pp, line: 2)"},
		{"a restart", "notify { 'first': } ~> service { 'x': ensure => running, provider => base, status => '/bin/true', hasrestart => true, restart => '/bin/false', start => '/bin/true', stop => '/bin/true' }", 6, "Service[x]: Failed to call refresh"},
		{"a circle", "notify { 'a': require => Notify['b'] } notify { 'b': require => Notify['a'] }", 1, "Found 1 dependency cycle"},
		{"an input", "notify { $broken: }", 1, "hotc: blocked on db.mysql:x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTrial(t)
			r.input("broken", "")
			r.errors["broken"] = errors.New("blocked on db.mysql:x")
			r.manifest(c.manifest)
			r.fails(c.code, c.says)
		})
	}
}

// Facts that are outputs are those that the run has left.
func TestFactsAsOutputs(t *testing.T) {
	r := newTrial(t)
	r.output("fact", "facts.os.family", "os.family")
	r.output("fact", "facts.demo", "demo")
	r.output("resource", "last", "Notify[last]")
	r.source["modules"] = map[string]any{"demo": map[string]any{"file": r.file(tarOf(t, map[string]string{
		"lib/facter/demo.rb": "Facter.add(:demo) { setcode { File.exist?('" + r.work + "/made') ? 'after' : 'before' } }\n",
	}))}}
	r.manifest("notice($facts['demo'])\nfile { '" + r.work + "/made': content => 'x' }\n-> notify { 'last': }")
	r.succeed()
	if !r.before("put last true", `put facts.demo "after"`) || r.published("facts.os.family") != `"Debian"` {
		t.Errorf("%q\n%s", r.events, r.stdout)
	}
}

// A control repository is taken as it is; its path of modules, too.
func TestAnEnvironment(t *testing.T) {
	r := newTrial(t)
	r.input("profile::db::url", `"mysql://db"`)
	r.output("variable", "seen", "seen")
	r.output("variable", "profile::db::level", "profile::db::level")
	r.source["environment"] = map[string]any{"path": "control", "file": r.file(tarOf(t, map[string]string{
		"control/environment.conf":                      "# ours\nmodulepath = site-modules:modules\nmanifest = entry/site.pp\n",
		"control/hiera.yaml":                            "version: 5\nhierarchy: [{name: common, path: common.yaml}]\n",
		"control/data/common.yaml":                      "profile::db::level: 3\nprofile::db::url: overruled\n",
		"control/entry/site.pp":                         "node default {\n  include profile::db\n  $seen = $profile::db::url\n}\n",
		"control/site-modules/profile/manifests/db.pp":  "class profile::db ($url, $level) { include helper }\n",
		"control/modules/helper/manifests/init.pp":      "class helper { include extra }\n",
		"control/modules/helper/lib/facter/nothing.rb":  "",
		"control/modules/helper/files/never/touched.sh": "",
	}))}
	r.source["modules"] = map[string]any{"extra": map[string]any{"file": r.file(tarOf(t, map[string]string{
		"puppet-extra-1.2.3/metadata.json": "{}", "puppet-extra-1.2.3/manifests/init.pp": "class extra {}\n",
	}))}}
	r.succeed()
	if got := r.published("seen") + r.published("profile::db::level"); got != `"mysql://db"3` {
		t.Errorf("%s\n%q", got, r.events)
	}
}

// Classes, a folder of manifests, a folder of modules, settings.
func TestTheOtherParts(t *testing.T) {
	r := newTrial(t)
	r.input("app::url", `"mysql://db"`)
	for _, name := range []string{"first", "second", "app::url"} {
		r.output("variable", name, name)
	}
	r.source["manifest"] = map[string]any{"file": r.file(tarOf(t, map[string]string{"a.pp": "$first = 1\n", "b.pp": "$second = $settings::show_diff\n"}))}
	r.source["modulepath"] = []any{map[string]any{"path": "deep", "file": r.file(tarOf(t, map[string]string{"deep/app/manifests/init.pp": "class app ($url) {}\n"}))}}
	r.source["classes"] = []string{"app"}
	r.source["settings"] = map[string]any{"show_diff": true, "strict_variables": true}
	r.succeed()
	if got := r.published("first") + r.published("second") + r.published("app::url"); got != `1true"mysql://db"` {
		t.Error(got)
	}
}

// What was replaced can be had back; what belongs to the run alone is nobody else's.
func TestWhatARunLeaves(t *testing.T) {
	r := newTrial(t)
	path := filepath.Join(r.work, "conf")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.manifest("file { '" + path + "': content => 'new', backup => 'puppet' }")
	r.succeed()
	kept := ""
	filepath.WalkDir(filepath.Join(r.work, "puppet", "clientbucket"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "contents" {
			text, _ := os.ReadFile(path)
			kept += string(text)
		}
		return err
	})
	if kept != "old" {
		t.Errorf("the replaced file is not kept: %q\n%s", kept, r.stdout)
	}
	if info, err := os.Stat(filepath.Join(r.work, "puppet")); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("%v %v", info, err)
	}
}

// A plan that another compiler has written is no reason to do something else.
func TestASourceThatCannotBe(t *testing.T) {
	for text, says := range map[string]string{
		`{"none": 1}`: `unknown field "none"`,
		`{"modules": {"../../x": {"file": "0"}}}`:                                                    `an invalid module name "../../x"`,
		`{"settings": {"strict": "x\n[agent]"}}`:                                                     `an invalid setting "strict"`,
		`{"manifest": {"text": "x", "name": "../../etc/x.pp"}}`:                                      `the plan's manifest has the invalid name "../../etc/x.pp"`,
		`{"modules": {"demo": {"file": "` + strings.Repeat("0", 64) + `"}}}`:                         `no file 000`,
		`{"hiera": {"url": "https://127.0.0.1:1/x.tgz", "sha256": "` + strings.Repeat("0", 64) + `"`: `read the role's source in the plan: unexpected EOF`,
	} {
		r := another(&trial{t: t})
		r.sourceText = text
		if _, err := r.run(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Before any role, the agent hears of a Puppet that is not there and must not come.
func TestCheck(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	d := puppet.Driver{}
	role := contract.Role{Source: json.RawMessage(`{}`)}
	if err := driver.CheckTool(t.Context(), d, role); err != nil {
		t.Errorf("the agent would install it: %v", err)
	}
	role.Install = &contract.Install{From: "none"}
	if err := driver.CheckTool(t.Context(), d, role); err == nil || !strings.Contains(err.Error(), "puppet is not on this server") {
		t.Error(err)
	}
}
