package install_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver/ansible"
)

// A server without Ansible gets the distribution's, with what that depends on, and runs
// a playbook that reads an input and sets a fact.
func TestAnsibleFromPackages(t *testing.T) {
	packages := []string{"ansible-core", "python3-resolvelib"}
	needPackage(t, packages...)
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, repacked(t, packages[0]), repacked(t, packages[1]))
		lacks(t, "ansible-playbook", packages...)
		i, installed := installer(t)
		program := ensureTwice(t, i, ansible.Driver{}.Tool(), contract.Install{Version: ">=2.14"})
		if program != "/usr/bin/ansible-playbook" || strings.Join(*installed, " ") != "ansible end" {
			t.Errorf("%s, %v", program, *installed)
		}
		source := map[string]any{"playbook": []string{"site.yml"}, "text": map[string]any{"file": "0", "name": "site.yml"}, "host": "localhost"}
		got := play(t, ansible.Driver{}, program, source, playbook, map[string]string{"address": `"10.0.0.1"`}, "url")
		if got["url"] != `"http://10.0.0.1/"` {
			t.Errorf("%v", got)
		}
	})
}

const playbook = `- hosts: all
  gather_facts: false
  tasks:
    - set_fact: {url: "http://{{ address }}/"}
`
