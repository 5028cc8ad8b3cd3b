//go:build e2e

package bed_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/emit/heat/bed"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
)

// relayed deploys a template with --signal=relay.
func relayed(t testing.TB, template, name string, parameters ...string) *deployment {
	t.Helper()
	theBed(t)
	return worldOn(t, place.zk.URL("hotc"), template, "--signal=relay").owned(name, parameters...)
}

// owned applies, and creates the stack in the owner's project, where relays ask.
func (w *world) owned(name string, parameters ...string) *deployment {
	t := w.t
	t.Helper()
	(&deployment{world: w, name: name}).apply()
	args := []string{"stack", "create", "-t", filepath.Join(w.dir, "stack.yaml"), name}
	for _, file := range w.input(w.dir).Environments {
		args = append(args, "-e", file)
	}
	for _, x := range parameters {
		args = append(args, "--parameter", x)
	}
	openstack(t, w, args...)
	return w.watched(&deployment{world: w, name: name, stack: w.bed.Oracle.Find(t, name)})
}

// relay is a running hotc relay.
type runningRelay struct {
	cmd  *exec.Cmd
	said *said
}

// said is what a process has printed so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// relay starts one; it is killed with the test.
func (d *deployment) relay(args ...string) *runningRelay {
	d.t.Helper()
	args = append([]string{"relay", "--stack", d.name, "--coordinator", d.url, "--secret-file", d.secret}, args...)
	ctx, stop := context.WithTimeout(context.Background(), commandTime)
	d.t.Cleanup(stop)
	r := &runningRelay{cmd: hotcCommand(ctx, args...), said: &said{}}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = d.clientEnvironment(), r.said, r.said
	do(d.t, r.cmd.Start())
	d.t.Cleanup(func() {
		r.kill()
		if d.t.Failed() {
			d.t.Logf("a relay of %s said:\n%s", d.name, r.said)
		}
	})
	return r
}

func (r *runningRelay) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

// machine is the server that has come under a path, once it is another one than before.
func (d *deployment) machine(path string, before *bed.Server) *bed.Server {
	d.t.Helper()
	var found *bed.Server
	until(d.t, "a machine "+path, func() bool {
		s := d.status()[path]
		if !s.Alive || before != nil && s.Instance == before.ID {
			return false
		}
		server, err := d.bed.Server(s.Instance)
		found = server
		return err == nil
	})
	return found
}

// ends waits for the end of the stack's last action.
func (d *deployment) ends(want string, reason ...string) {
	d.t.Helper()
	var s heattest.Status
	until(d.t, "the stack to be "+want, func() bool {
		s = d.stack.Status(d.t)
		return s.Status != "IN_PROGRESS"
	})
	if s.String() != want {
		d.t.Fatalf("stack %s is %s and not %s: %s", d.name, s, want, s.Reason)
	}
	for _, part := range reason {
		if !strings.Contains(s.Reason, part) {
			d.t.Errorf("stack %s is %s: %s; want %q in it", d.name, s, s.Reason, part)
		}
	}
}

// with is the deployment's input with parameters.
func (d *deployment) with(pairs ...any) heattest.Input {
	in := d.input(d.dir)
	in.Parameters = map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		in.Parameters[pairs[i].(string)] = pairs[i+1]
	}
	return in
}

// No server has a way to Heat, or credentials for it. Relays come and go: two, one of them
// killed, then both, and another started when all is done.
func TestRelays(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/gate.yaml", "relays")
	first, second := d.relay(), d.relay()
	writer := d.booted("writer")
	d.await("reader1", "reads", "blocked")
	d.await("reader2", "reads", "blocked")
	boot := inServer(t, writer, "cat", "/etc/hotc/boot.json")
	for _, not := range []string{"signal", "password", "user_id", d.bed.Oracle.Endpoints.AuthURL} {
		if strings.Contains(boot, not) {
			t.Errorf("the boot file has %q: %s", not, boot)
		}
	}
	first.kill()
	open(t, writer, "told by a relay")
	second.kill()
	third := d.relay("--once")
	d.wellDone("told by a relay")
	if err := third.cmd.Wait(); err != nil {
		t.Errorf("relay --once: %v\n%s", err, third.said)
	}
}

// Whatever Heat changes it waits for the roles of what it has then; each failure has its
// reason and is mended by the next update, one that comes over another included.
func TestRelayTellsTheTruth(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/relayed.yaml", "truth")
	d.relay()
	db := d.machine("db", nil)
	open(t, db, "first")
	d.ends("CREATE_COMPLETE")
	if got := string(d.stack.Outputs(t)["value"].Value); got != `"first"` {
		t.Errorf("the output is %s", got)
	}

	d.stack.Update(t, d.with("batch", "b")) // replaces db
	db = d.machine("db", db)
	d.await("db", "gate", "running")
	for range 3 {
		time.Sleep(time.Second) // Heat looks once a second
		if s := d.stack.Status(t); s.String() != "UPDATE_IN_PROGRESS" {
			t.Fatalf("the role of the new server runs, and the stack is %s", s)
		}
	}
	open(t, db, "second")
	d.ends("UPDATE_COMPLETE")
	if got := string(d.stack.Outputs(t)["value"].Value); got != `"second"` {
		t.Errorf("the output is %s", got)
	}
}

// The stack is updated by hand, and no relay is there: Heat waits, and hotc status says so, and
// what to do.
func TestUpdateWithoutARelay(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/relayed.yaml", "alone")
	r := d.relay()
	db := d.machine("db", nil)
	open(t, db, "first")
	d.ends("CREATE_COMPLETE")
	until(t, "the relay to have written that down", func() bool { return !strings.Contains(d.on("status", "--json"), `"IN_PROGRESS"`) })
	r.kill()
	until(t, "the relay to be gone", func() bool { return strings.Contains(d.on("status"), "no relay") })
	do(t, db.Reboot())
	d.rebooted("db", db, 2)
	if text := d.on("status"); strings.Contains(text, "Heat does not know yet") {
		t.Errorf("after a reboot:\n%s", text)
	}
	d.stack.Update(t, d.with("batch", "b"))
	for _, want := range []string{"waits to replace its machine, and no relay is running to check with Heat", "start one where Heat and the coordinator can be reached: hotc relay alone"} {
		until(t, "hotc status to say "+want, func() bool { return strings.Contains(d.on("status"), want) })
	}
	d.relay()
	open(t, d.machine("db", db), "second")
	d.ends("UPDATE_COMPLETE")
}

// A member that fails as the group grows fails the update; when its role has been mended the
// next update completes.
func TestRelayMemberFails(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/relayed.yaml", "member", "size=1", "bad=1")
	d.relay()
	open(t, d.machine("db", nil), "value")
	d.ends("CREATE_COMPLETE")
	grown := d.with("size", 2, "bad", "1")
	d.stack.Update(t, grown)
	d.ends("UPDATE_FAILED", "web/1.join: exit status 4", "relayed.yaml:")
	do(t, d.machine("web/1", nil).Write("tmp/mended", ""))
	d.on("retry", "web/1.join")
	d.await("web/1", "join", "done")
	d.stack.Update(t, grown)
	d.ends("UPDATE_COMPLETE")
}

// roundsVariable is another number of updates over updates than two.
const roundsVariable = "HOTC_ROUNDS"

// A second update comes over a first one that fails: the stack never hangs.
func TestRelaySecondUpdate(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/relayed.yaml", "second")
	d.relay()
	db := d.machine("db", nil)
	open(t, db, "first")
	d.ends("CREATE_COMPLETE")
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv(roundsVariable), "2"))
	do(t, err)
	for i := range rounds {
		batch := fmt.Sprintf("b%d", i)
		d.stack.Update(t, d.with("batch", batch))
		db = d.machine("db", db)
		d.await("db", "gate", "running")
		d.stack.Update(t, d.with("batch", batch, "bad", batch))
		open(t, db, "fail")
		d.ends("UPDATE_FAILED") // Heat's reason may be that it has cancelled the group's update therefore
		for _, r := range d.stack.Resources(t) {
			if r.Path == "hotc_done" && (r.Status != "FAILED" || !strings.Contains(r.Reason, "db.gate: exit status 3")) {
				t.Errorf("the wait is %s_%s: %s", r.Action, r.Status, r.Reason)
			}
		}
	}
	d.stack.Update(t, d.with("batch", "last"))
	open(t, d.machine("db", db), "mended")
	d.ends("UPDATE_COMPLETE")
	if got := string(d.stack.Outputs(t)["value"].Value); got != `"mended"` {
		t.Errorf("the output is %s", got)
	}
}
