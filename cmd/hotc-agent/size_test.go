package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// BenchmarkSize builds the agent as a release does, and measures it: the program,
// and what it holds in memory while a role waits for a value.
func BenchmarkSize(b *testing.B) {
	program := buildAgent(b)
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	script := func(start startCoordinator) func(testing.TB) *bed {
		return func(b testing.TB) *bed { return newBedOn(b, start, false, "hotc-agent get x") }
	}
	for _, way := range []struct {
		name string
		make func(testing.TB) *bed
	}{{"script", script(inMemory)}, {"script-zookeeper", script(inZooKeeper)}, {"ansible", withPlaybook}, {"chef", withRecipe}, {"puppet", withManifest}, {"salt", withStates}, {"plugin", withPlugIn}} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				bed := way.make(b)
				bed.program = program
				p := bed.start()
				bed.awaitBlocked()
				b.ReportMetric(float64(residentKiB(b, p.Process.Pid))/1024, "MiB-resident")
				p.Process.Kill()
				p.status()
			}
			b.ReportMetric(float64(info.Size())/1e6, "MB-program")
		})
	}
}

// withPlaybook is a server whose role is a playbook that waits.
func withPlaybook(b testing.TB) *bed {
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		b.Skip("SKIPPED: no ansible-playbook on PATH (Debian: ansible-core)")
	}
	return newBedOf(b, inMemory, func(digest string) contract.Role {
		return contract.Role{Driver: "ansible", Source: json.RawMessage(fmt.Sprintf(`{"playbook":["site.yml"],"text":{"file":%q,"name":"site.yml"},"host":"localhost"}`, digest))}
	}, "- hosts: all\n  gather_facts: false\n  tasks: [{debug: {msg: '{{ x }}'}}]\n")
}

// withRecipe is a server whose role is a recipe that waits: in Chef where it is on
// PATH, else in its stand-in.
func withRecipe(b testing.TB) *bed {
	orStandIn(b, "chef-solo", "ruby '../../runtime/driver/chef/testdata/standin/chef-solo.rb'")
	cookbooks, err := driver.Archive(fstest.MapFS{"web/metadata.rb": {Data: []byte("name 'web'")}, "web/recipes/default.rb": {Data: []byte("node['x']")}})
	if err != nil {
		b.Fatal(err)
	}
	return newBedOf(b, inMemory, func(digest string) contract.Role {
		return contract.Role{Driver: "chef", Source: json.RawMessage(fmt.Sprintf(`{"cookbooks":[{"file":%q}],"run_list":["web"]}`, digest))}
	}, string(cookbooks))
}

// orStandIn puts a program's stand-in on PATH, where there is no such program.
func orStandIn(b testing.TB, name, command string) {
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	here, err := os.Getwd()
	if err != nil {
		b.Fatal(err)
	}
	folder := b.TempDir()
	text := fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", strings.ReplaceAll(command, "'..", "'"+here+"/.."))
	if err := os.WriteFile(filepath.Join(folder, name), text, 0o700); err != nil {
		b.Fatal(err)
	}
	b.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

// withStates is a server whose role is an SLS file that waits: in Salt where it is on
// PATH, else in its stand-in.
func withStates(b testing.TB) *bed {
	orStandIn(b, "salt-call", "/usr/bin/python3 -B '../../runtime/driver/salt/testdata/standin/salt-call.py'")
	return newBedOf(b, inMemory, func(digest string) contract.Role {
		return contract.Role{Driver: "salt", Source: json.RawMessage(fmt.Sprintf(`{"sls":["web"],"text":{"file":%q,"name":"web"}}`, digest))}
	}, "a: {test.nop: [{text: \"{{ pillar['x'] }}\"}]}\n")
}

// withManifest is a server whose role is a manifest that waits.
func withManifest(b testing.TB) *bed {
	if _, err := exec.LookPath("puppet"); err != nil {
		b.Skip("SKIPPED: no puppet on PATH (Debian: puppet-agent)")
	}
	return newBedOf(b, inMemory, func(digest string) contract.Role {
		return contract.Role{Driver: "puppet", Source: json.RawMessage(fmt.Sprintf(`{"manifest":{"text":%q,"name":"site.pp"},"outputs":{}}`, digest))}
	}, "notice($x)\n")
}

// withPlugIn is a server whose role is a plug-in's that waits.
func withPlugIn(b testing.TB) *bed {
	return newBedOf(b, inMemory, func(digest string) contract.Role {
		return contract.Role{Driver: "plugin", Source: json.RawMessage(fmt.Sprintf(`{"name":"wait","executable":%q,"source":null}`, digest))}
	}, "#!/bin/sh\nread -r start\necho '{\"protocol\": 1}'\necho '{\"get\": \"x\"}'\nread -r value\necho '{\"done\": true}'\n")
}

func inZooKeeper(t testing.TB, _ string) (string, func(...store.Credential) store.Session) {
	url := zktest.Start(t).URL("/hotc")
	return url, func(creds ...store.Credential) store.Session {
		store, err := zookeeper.Open(context.Background(), url, creds...)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

func residentKiB(b *testing.B, pid int) (size int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &size); err == nil {
			return size
		}
	}
	b.Fatal("no VmRSS")
	return 0
}
