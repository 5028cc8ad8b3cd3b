package install_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/install"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

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

// served offers a file at a URL, by its checksum.
func served(t *testing.T, file string) contract.Install {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
	t.Cleanup(s.Close)
	return contract.Install{From: "url", URL: s.URL + "/" + filepath.Base(file), SHA256: sumOf(data)}
}

// ensureTwice installs a tool; the second time it is used as it is.
func ensureTwice(t *testing.T, i *install.Installer, tool driver.Tool, want contract.Install) (program string) {
	t.Helper()
	for range 2 {
		var err error
		if program, err = i.Ensure(t.Context(), tool, want); err != nil {
			log, _ := os.ReadFile(i.Log.Name())
			t.Fatalf("%v\n%s", err, log)
		}
	}
	return program
}

// values are those of a role: its inputs, its one file, and what it publishes.
type values struct {
	file   string
	inputs map[string]string
	mu     sync.Mutex
	wrote  map[string]string
}

func (v *values) Read(_ context.Context, name string) (json.RawMessage, error) {
	value, declared := v.inputs[name]
	if !declared {
		return nil, errors.New("the role declares no input " + name)
	}
	return json.RawMessage(value), nil
}

func (v *values) Write(_ context.Context, name string, value json.RawMessage) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrote[name] = string(value)
	return nil
}

func (v *values) WriteText(ctx context.Context, name string, text []byte) error {
	value, err := driver.Parse("", text)
	if err != nil {
		return err
	}
	return v.Write(ctx, name, value)
}

func (v *values) File(context.Context, string) ([]byte, error) { return []byte(v.file), nil }

// play runs a role with an installed program, and returns what it published.
func play(t *testing.T, d driver.Driver, program string, source any, file string, inputs map[string]string, outputs ...string) map[string]string {
	t.Helper()
	folder, v := t.TempDir(), &values{file: file, inputs: inputs, wrote: map[string]string{}}
	server, err := socket.Serve(t.Context(), folder, v)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r := contract.Role{Name: "r"}
	if r.Source, err = json.Marshal(source); err != nil {
		t.Fatal(err)
	}
	for name := range inputs {
		r.Inputs = append(r.Inputs, contract.Input{Name: name, Time: contract.Run})
	}
	for _, name := range outputs {
		r.Outputs = append(r.Outputs, contract.Output{Name: name})
	}
	job := &driver.Job{Grace: process.Grace, Role: r, Folder: folder, Work: t.TempDir(), Values: v, Files: v, Stdout: out, Stderr: out, Program: program,
		Started:     func(context.Context) error { return nil },
		Environment: append(os.Environ(), socket.Variable+"="+server.Path())}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if exit, err := d.Run(t.Context(), job); err != nil || !exit.OK() {
		text, _ := os.ReadFile(out.Name())
		t.Errorf("%v, %v\n%s", exit, err, text)
	}
	return v.wrote
}
