package install_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver/puppet"
)

// needPackage skips where a package cannot be offered to another machine, because this
// one has it not.
func needPackage(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if exec.Command("dpkg-query", "-s", name).Run() != nil {
			t.Skipf("SKIPPED: the package %s is not on this machine, so that it cannot be offered to another", name)
		}
	}
}

// lacks takes packages away from the machine inside.
func lacks(t *testing.T, program string, packages ...string) {
	t.Helper()
	if out, err := exec.Command("dpkg", append([]string{"--purge", "--force-all"}, packages...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if path, err := exec.LookPath(program); err == nil {
		t.Fatalf("%s is still there", path)
	}
}

// A server without Puppet gets the distribution's, which then starts a service there
// as it does without systemd; the service's success is an output.
func TestPuppetFromPackages(t *testing.T) {
	needPackage(t, "puppet-agent")
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, repacked(t, "puppet-agent"))
		lacks(t, "puppet", "puppet-agent")
		i, installed := installer(t)
		program := ensureTwice(t, i, puppet.Driver{}.Tool(), contract.Install{Version: "7"})
		if program != "/usr/bin/puppet" || strings.Join(*installed, " ") != "puppet end" {
			t.Errorf("%s, %v", program, *installed)
		}
		applyService(t, program)
	})
}

// The same from a package's file at a URL: what it depends on comes from the
// distribution.
func TestPuppetFromAURL(t *testing.T) {
	needPackage(t, "puppet-agent", "hiera")
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, repacked(t, "hiera"))
		deb := repacked(t, "puppet-agent")
		lacks(t, "puppet", "puppet-agent", "hiera")
		i, installed := installer(t)
		program := ensureTwice(t, i, puppet.Driver{}.Tool(), served(t, deb))
		if program != "/usr/bin/puppet" || strings.Join(*installed, " ") != "puppet end" {
			t.Errorf("%s, %v", program, *installed)
		}
		applyService(t, program)
	})
}

// applyService runs the manifest below with the installed Puppet: the service's
// successful start is the output up.
func applyService(t *testing.T, program string) {
	t.Helper()
	source := map[string]any{"manifest": map[string]any{"text": "0", "name": "demo.pp"},
		"outputs": map[string]any{"up": map[string]any{"resource": "Service[demo]"}}}
	got := play(t, puppet.Driver{}, program, source, service, nil, "up")
	if got["up"] != "true" {
		t.Errorf("%v", got)
	}
	if out, err := exec.Command("/etc/init.d/demo", "status").CombinedOutput(); err != nil {
		t.Errorf("the service does not run: %v: %s", err, out)
	}
}

// service is a manifest with a service of the old kind.
const service = `
file { '/etc/init.d/demo':
  mode    => '0755',
  content => @(SCRIPT),
    #!/bin/sh
    ### BEGIN INIT INFO
    # Provides:          demo
    # Required-Start:
    # Required-Stop:
    # Default-Start:     2 3 4 5
    # Default-Stop:      0 1 6
    # Short-Description: a service that sleeps
    ### END INIT INFO
    control="start-stop-daemon --pidfile /run/demo.pid --exec /usr/bin/sleep"
    case $1 in
    start) $control --start --background --make-pidfile -- 1000 ;;
    stop) $control --stop ;;
    status) $control --status ;;
    esac
    | SCRIPT
}
-> service { 'demo':
  ensure => running,
  enable => true,
}
`
