package install_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/puppet"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// A server without Puppet gets the distribution's, which then starts a service there
// as it does without systemd; the service's success is an output.
func TestPuppetFromPackages(t *testing.T) {
	if exec.Command("dpkg-query", "-s", "puppet-agent").Run() != nil {
		t.Skip("SKIPPED: the package puppet-agent is not on this machine, so that it cannot be offered to another")
	}
	onItsOwnMachine(t, func(t *testing.T) {
		offer(t, repacked(t, "puppet-agent"))
		if out, err := exec.Command("dpkg", "--purge", "--force-all", "puppet-agent").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if path, err := exec.LookPath("puppet"); err == nil {
			t.Fatalf("%s is still there", path)
		}
		i, installed := installer(t)
		d := puppet.Driver{Grace: process.Grace}
		var program string
		for range 2 { // the second time it is used as it is
			var err error
			if program, err = i.Ensure(t.Context(), d.Tool(), plan.Install{Version: "7"}); err != nil {
				log, _ := os.ReadFile(i.Log.Name())
				t.Fatalf("%v\n%s", err, log)
			}
		}
		if program != "/usr/bin/puppet" || strings.Join(*installed, " ") != "puppet end" {
			t.Errorf("%s, %v", program, *installed)
		}
		got := apply(t, d, program, "Service[demo]")
		if got["up"] != "true" {
			t.Errorf("%v", got)
		}
		if out, err := exec.Command("/etc/init.d/demo", "status").CombinedOutput(); err != nil {
			t.Errorf("the service does not run: %v: %s", err, out)
		}
	})
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

// repacked is a package made of what this machine has of it.
func repacked(t *testing.T, name string) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(tree, "DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	script := `set -e
dpkg-query -L "$1" | while read -r file; do if [ ! -d "$file" ] && [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
	tar -C / --null -T - -cf - 2>/dev/null | tar -C "$2" -xf -
dpkg-query -s "$1" | sed '/^Status:/d; /^Conffiles:/,/^[A-Z]/{/^Conffiles:/d; /^ /d}' >"$2/DEBIAN/control"
for part in preinst postinst prerm postrm conffiles; do
	[ ! -e "/var/lib/dpkg/info/$1.$part" ] || cp "/var/lib/dpkg/info/$1.$part" "$2/DEBIAN/$part"
done
dpkg-deb --build --root-owner-group -Znone "$2" "/srv/repository/$1.deb"`
	if out, err := exec.Command("sh", "-c", script, "sh", name, tree).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join("/srv/repository", name+".deb")
}

// published keeps what a role without inputs writes.
type published map[string]string

func (published) Read(context.Context, string) (json.RawMessage, error) { panic("nothing is read") }
func (published) WriteText(context.Context, string, []byte) error       { panic("not used") }
func (published) File(context.Context, string) ([]byte, error)          { return []byte(service), nil }
func (p published) Write(_ context.Context, name string, v json.RawMessage) error {
	p[name] = string(v)
	return nil
}

// apply runs the manifest, with a resource as the output up.
func apply(t *testing.T, d puppet.Driver, program, resource string) published {
	t.Helper()
	folder, got := t.TempDir(), published{}
	server, err := socket.Serve(t.Context(), folder, got)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	source, _ := json.Marshal(map[string]any{"manifest": map[string]any{"text": "0", "name": "demo.pp"},
		"outputs": map[string]any{"up": map[string]any{"resource": resource}}})
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	job := &driver.Job{Role: plan.Role{Name: "r", Source: source, Outputs: []plan.Output{{Name: "up"}}}, Folder: folder, Work: t.TempDir(),
		Values: got, Files: got, Stdout: out, Stderr: out, Program: program, Started: func(context.Context) error { return nil },
		Environment: append(os.Environ(), socket.Variable+"="+server.Path())}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if exit, err := d.Run(t.Context(), job); err != nil || !exit.OK() {
		text, _ := os.ReadFile(out.Name())
		t.Errorf("%v, %v\n%s", exit, err, text)
	}
	t.Logf("applied in %v", time.Since(started).Round(time.Millisecond))
	return got
}
