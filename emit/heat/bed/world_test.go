//go:build e2e

package bed_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// patience bounds what would otherwise hang a test; no test is about it.
const patience = 4 * time.Minute

// world is a compiled folder, a secret and the ZooKeeper that both are for.
type world struct {
	t      testing.TB
	bed    *bed.Bed
	url    string
	secret string
	dir    string
}

// newWorld compiles a template for the ZooKeeper that all tests share, or for
// one of the test's own.
func newWorld(t testing.TB, template string, own ...*bed.Ensemble) *world {
	t.Helper()
	theBed(t)
	zk := place.zk
	if len(own) > 0 {
		zk = own[0]
	}
	return worldOn(t, zk.URL("hotc"), template)
}

// worldOn compiles a template for a coordinator.
func worldOn(t testing.TB, url, template string, flags ...string) *world {
	t.Helper()
	w := &world{t: t, bed: theBed(t), url: url, secret: filepath.Join(t.TempDir(), "secret")}
	w.must("secret", "new", w.secret)
	w.dir = w.compile(template, flags...)
	return w
}

// ensemble is a ZooKeeper of the test's own.
func ensemble(t testing.TB, size int) *bed.Ensemble {
	t.Helper()
	zk, err := theBed(t).ZooKeeper(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, m := range zk.Members {
				t.Logf("ZooKeeper at %s:\n%s", m.Address, m.Log())
			}
		}
		if err := zk.Close(); err != nil {
			t.Error(err)
		}
	})
	return zk
}

// compile makes a folder of a template and moves it elsewhere.
func (w *world) compile(template string, flags ...string) string {
	w.t.Helper()
	made, moved := filepath.Join(w.t.TempDir(), "made"), filepath.Join(w.t.TempDir(), "moved")
	text, err := os.ReadFile(filepath.Join(place.programs, "hotc-agent"))
	if err != nil {
		w.t.Fatal(err)
	}
	digest := sha256.Sum256(text)
	w.must(append([]string{"compile", template, "-o", made, "--coordinator", w.url, "--agent-url", w.bed.FilesURL + "/hotc-agent",
		"--agent-sha256", "amd64=" + hex.EncodeToString(digest[:]), "--agent-sha256", "arm64=" + hex.EncodeToString(digest[:])}, flags...)...)
	if err := os.Rename(made, moved); err != nil {
		w.t.Fatal(err)
	}
	return moved
}

// must runs hotc and returns what it printed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, err := hotc(args...)
	if err != nil {
		w.t.Fatalf("hotc %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// deployment is a stack of a world.
type deployment struct {
	*world
	name  string
	stack *heattest.Stack
}

// on runs a command of hotc's about the deployment.
func (d *deployment) on(args ...string) string {
	d.t.Helper()
	return d.must(append(args, "--stack", d.name, "--coordinator", d.url, "--secret-file", d.secret)...)
}

func (d *deployment) apply() {
	d.t.Helper()
	d.on("apply", d.dir)
}

// input is what Heat gets of a folder: the environments that it was compiled
// with, and the secret.
func (w *world) input(dir string) heattest.Input {
	in := heattest.Input{Template: filepath.Join(dir, "stack.yaml")}
	list, err := os.ReadFile(filepath.Join(dir, "hotc", "environments"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	for name := range strings.FieldsSeq(string(list)) {
		in.Environments = append(in.Environments, filepath.Join(dir, name))
	}
	in.Environments = append(in.Environments, w.secret+".env.yaml")
	return in
}

// create lets Heat begin with a stack. What its servers have to say is printed if
// the test fails; they are removed with the test.
func (w *world) create(name string) *deployment {
	w.t.Helper()
	return w.watched(&deployment{world: w, name: name, stack: w.bed.Oracle.Create(w.t, name, w.input(w.dir))})
}

// watched tells what there is to know of a deployment whose test fails, and removes it with
// the test.
func (w *world) watched(d *deployment) *deployment {
	w.t.Cleanup(func() {
		if w.t.Failed() {
			d.tell()
			d.unhook()
		}
		if s := d.stack.Status(w.t); s.Action != "DELETE" {
			d.stack.Delete(w.t)
		}
	})
	return d
}

// unhook lets Heat go on where it may still wait for delete hooks, whose relay is gone.
func (d *deployment) unhook() {
	ctx, stop := context.WithTimeout(context.Background(), commandTime)
	defer stop()
	cmd := hotcCommand(ctx, "down", d.name, "--yes", "--skip-hooks", "--coordinator", d.url, "--secret-file", d.secret)
	cmd.Env = d.clientEnvironment()
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Logf("hotc down %s: %v\n%s", d.name, err, out)
	}
}

// deploy applies and creates.
func (w *world) deploy(name string) *deployment {
	w.t.Helper()
	(&deployment{world: w, name: name}).apply()
	return w.create(name)
}

// server waits for a server of the stack.
func (d *deployment) server(path string) *bed.Server {
	d.t.Helper()
	s, err := d.bed.Server(d.stack.Server(d.t, path).ID)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// standing is what hotc says of a server.
type standing struct {
	Path        string
	Came, Alive bool
	Incarnation int
	Instance    string
	Phase       string
	Roles       []struct {
		Name, Status string
		Ended        time.Time
		Cause        reasons
		Update       struct {
			Status  string
			Started time.Time
		}
		ToUpdate bool `json:"to_update"`
	}
}

// reasons is a cause and what it goes back to.
type reasons struct {
	Role, Reason string
	Cause        *reasons
}

func (r reasons) root() reasons {
	for r.Cause != nil {
		r = *r.Cause
	}
	return r
}

// status is `hotc status`, by server.
func (d *deployment) status() map[string]standing {
	d.t.Helper()
	var all struct{ Servers []standing }
	if err := json.Unmarshal([]byte(d.on("status", "--json")), &all); err != nil {
		d.t.Fatal(err)
	}
	servers := map[string]standing{}
	for _, s := range all.Servers {
		servers[s.Path] = s
	}
	return servers
}

// role is what hotc says of a role; "" while nothing is known.
func (d *deployment) role(server, role string) string {
	d.t.Helper()
	for _, r := range d.status()[server].Roles {
		if r.Name == role {
			return r.Status
		}
	}
	return ""
}

// await waits until a role has a status.
func (d *deployment) await(server, role, status string) {
	d.t.Helper()
	until(d.t, fmt.Sprintf("%s.%s to be %s", server, role, status), func() bool { return d.role(server, role) == status })
}

// open lets the roles go on that wait for the file /tmp/open.
func open(t testing.TB, s *bed.Server, text string) {
	t.Helper()
	if err := s.Write("tmp/opens", text); err != nil {
		t.Fatal(err)
	}
	inServer(t, s, "mv", "/tmp/opens", "/tmp/open")
}

// inServer runs a command in a server and returns what it printed.
func inServer(t testing.TB, s *bed.Server, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	out, err := s.Exec(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expectFile compares a file of a server's.
func expectFile(t testing.TB, s *bed.Server, path, want string) {
	t.Helper()
	if got, err := s.Read(path); err != nil || got != want {
		t.Errorf("%s on %s is %q (%v), want %q", path, s.Name, got, err, want)
	}
}

// do fails the test if a fault cannot be done.
func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until waits for something.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// tell prints what is known of a deployment whose test has failed.
func (d *deployment) tell() {
	s := d.stack.Status(d.t)
	d.t.Logf("stack %s: %s: %s", d.name, s, s.Reason)
	for _, command := range []string{"status", "why"} {
		out, err := hotc(command, "--stack", d.name, "--coordinator", d.url, "--secret-file", d.secret)
		d.t.Logf("hotc %s (%v):\n%s", command, err, out)
	}
	for _, booted := range d.stack.Booted(d.t) {
		server, err := d.bed.Server(booted.ID)
		if err != nil {
			d.t.Log(err)
			continue
		}
		d.t.Logf("server %s (%s):\n%s", booted.Path, server.Address, server.Logs())
	}
}
