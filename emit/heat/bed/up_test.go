//go:build e2e

package bed_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// operator is somebody with a state folder, a ROOT and Heat's credentials, who types
// `hotc up` and `hotc down`.
type operator struct {
	t     testing.TB
	env   []string
	state string
}

func newOperator(t testing.TB) *operator {
	t.Helper()
	theBed(t)
	state := t.TempDir()
	return &operator{t, append((&world{bed: place.bed}).clientEnvironment(), "HOTC_COORDINATOR="+place.zk.URL("hotc"), "XDG_STATE_HOME="+state, "TMPDIR="+t.TempDir()), state}
}

// command is one that the operator types.
type command struct {
	*exec.Cmd
	mu   sync.Mutex
	text bytes.Buffer
}

// Write takes what it prints.
func (c *command) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *command) printed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (o *operator) start(args ...string) *command {
	o.t.Helper()
	ctx, stop := context.WithTimeout(o.t.Context(), commandTime)
	o.t.Cleanup(stop)
	c := &command{Cmd: hotcCommand(ctx, args...)}
	c.Env, c.Stdout, c.Stderr = o.env, c, c
	do(o.t, c.Start())
	o.t.Cleanup(func() {
		if o.t.Failed() {
			o.t.Logf("hotc %s has printed:\n%s", strings.Join(args, " "), c.printed())
		}
	})
	return c
}

// run runs a command to its end and returns its status and all that it printed.
func (o *operator) run(args ...string) (status int, text string) {
	o.t.Helper()
	c := o.start(args...)
	err := c.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		o.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), c.printed()
}

// expect runs a command that ends with a status and says some things.
func (o *operator) expect(status int, args []string, parts ...string) string {
	o.t.Helper()
	got, text := o.run(args...)
	if got != status {
		o.t.Fatalf("hotc %s ended with %d, not %d:\n%s", strings.Join(args, " "), got, status, text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			o.t.Errorf("hotc %s does not say %q:\n%s", strings.Join(args, " "), part, text)
		}
	}
	return text
}

// removed takes a stack away with the test, however that has gone.
func (o *operator) removed(stack string) {
	o.t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), commandTime)
		defer stop()
		c := hotcCommand(ctx, "down", stack, "--yes", "--skip-hooks")
		c.Env = o.env
		if out, err := c.CombinedOutput(); err != nil {
			o.t.Errorf("hotc down %s: %v: %s", stack, err, out)
		}
	})
}

func up(template, stack string, more ...string) []string {
	return append([]string{"up", template, "--stack", stack}, more...)
}

// One command goes up, comes back to what is there, and one goes down.
func TestUpAndDown(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	for stack, x := range map[string][3]string{
		"upsite":  {examples + "three-tier/site.yaml", "4 servers, 4 roles done", "database_port = 3306"},
		"upslurm": {examples + "slurm/cluster.yaml", "roles done", "ready = true"},
	} {
		o.removed(stack)
		o.expect(0, up(x[0], stack), "Heat creates the stack "+stack, "done in", stack+" is CREATE_COMPLETE", x[1], x[2])
		o.expect(0, []string{"status", "--stack", stack}, "done")
		if text := o.expect(0, up(x[0], stack), "Nothing to change"); strings.Contains(text, "  role  ") {
			t.Errorf("coming back tells of roles that were done before:\n%s", text)
		}
		o.expect(0, []string{"down", stack, "--yes"}, "Heat deletes the stack", stack+" is deleted: the stack and the deployment.")
		o.expect(0, []string{"down", stack, "--yes"}, "There is no stack "+stack)
	}
}

// theSecret is the stage at which `hotc up` has made the secret.
const theSecret = "(the secret is there)"

// reached says that a command has come to a stage: it has printed that.
func (o *operator) reached(c *command, stage string) bool {
	if stage != theSecret {
		return strings.Contains(c.printed(), stage)
	}
	made, err := filepath.Glob(filepath.Join(o.state, "hotc", "*", "secret"))
	do(o.t, err)
	return len(made) > 0
}

// However and whenever `hotc up` ends, at each stage of one stack's creation and then of a second one's, the
// same command comes back and goes on, and in the end each role has run once.
func TestUpIsKilledAtEveryStage(t *testing.T) {
	t.Parallel()
	stages := []string{"", theSecret, "The plan is on the coordinator", "Heat creates the stack", "db  ", "  role  db.base", "CREATE_COMPLETE"}
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		o, stack := newOperator(t), fmt.Sprintf("killed%d", end)
		o.removed(stack)
		ended := 0
		for _, stage := range stages {
			c := o.start(up("testdata/changing.yaml", stack, "-P", "level=1")...)
			gone := make(chan error, 1)
			go func() { gone <- c.Wait() }()
			until(t, stage, func() bool { return o.reached(c, stage) || len(gone) > 0 }) // what one before has seen of Heat, a later one is not shown
			_ = c.Process.Signal(end)
			<-gone
			if c.ProcessState.ExitCode() != 0 {
				ended++
			}
			if text := c.printed(); end == syscall.SIGINT && c.ProcessState.ExitCode() > 0 && // -1: it had only just been started
				!strings.Contains(text, "return to it with the same command: hotc up testdata/changing.yaml --parameter 'level=1' --stack "+stack) && !strings.Contains(text, "--parameter level=1") {
				t.Errorf("after Ctrl-C at %q:\n%s", stage, text)
			}
		}
		if ended < 3 { // later ones may have found all done
			t.Errorf("only %d commands were ended by signal %d before their time", ended, end)
		}
		o.expect(0, up("testdata/changing.yaml", stack, "-P", "level=1"), "is CREATE_COMPLETE", "endpoint = up")
		s := place.bed.Oracle.Find(t, stack)
		db, err := place.bed.Server(s.Server(t, "db").ID)
		do(t, err)
		expectFile(t, db, "var/lib/count", "run 1\n")
		o.expect(0, []string{"down", stack, "--yes"}, "is deleted: the stack and the deployment")
	}
}

// A stack that is there is updated: first it is said what changes, and asked. A server is not
// replaced for it, and the role's hook runs.
func TestUpUpdates(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upchanges")
	o.expect(0, up("testdata/changing.yaml", "upchanges", "-P", "level=1"), "CREATE_COMPLETE")
	s := place.bed.Oracle.Find(t, "upchanges")
	id := s.Server(t, "db").ID
	o.expect(2, up("testdata/changing.yaml", "upchanges", "-P", "level=2"), "db.base: input level changes (parameter level): its update hook runs", "cannot ask for confirmation", "--yes")
	text := o.expect(0, up("testdata/changing.yaml", "upchanges", "-P", "level=2", "--yes"), "db.base: input level changes (parameter level): its update hook runs", "updated", "UPDATE_COMPLETE")
	if strings.Contains(text, "Heat replaces") {
		t.Errorf("it says that Heat replaces something:\n%s", text)
	}
	if now := s.Server(t, "db").ID; now != id {
		t.Errorf("db was replaced")
	}
	db, err := place.bed.Server(id)
	do(t, err)
	expectFile(t, db, "var/lib/count", "run 1\nupdate 2 with level=2\n")
	o.expect(0, up("testdata/changing.yaml", "upchanges", "-P", "level=2"), "Nothing to change")
}

// A role fails: the reason and its place are told. With a mended script the same command runs
// it again, and Heat completes the stack.
func TestUpTellsOfAFailureAndMendsIt(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upmends")
	path := filepath.Join(t.TempDir(), "site.yaml")
	writeDisk(t, path, "echo the disk is on fire >&2; exit 3")
	o.expect(3, up(path, "upmends"), "db.disk", "the disk is on fire", "exit status 3", "site.yaml:9:19", "CREATE_FAILED", "hotc up "+path, "hotc down upmends")
	o.expect(3, up(path, "upmends"), "db.disk", "the disk is on fire")
	writeDisk(t, path, "true")
	o.expect(0, up(path, "upmends", "--yes"), "db.disk: source changes: it has failed, and runs again", "UPDATE_COMPLETE", "state = fine")
}

// What the stack's outputs read of a role is what its newest run wrote, also where only its script
// has changed, where an output of the stack is new that reads what was there, and where the role's
// own output is new: Heat waits for that run, and reads again.
func TestUpOutputsAreOfTheNewestRun(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upnewest")
	path := filepath.Join(t.TempDir(), "site.yaml")
	writeDisk(t, path, "printf 10 | hotc-agent put size")
	change := func(pairs ...string) {
		text, err := os.ReadFile(path)
		do(t, err)
		do(t, os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600))
	}
	change("{state: {type: string}", "{state: {type: string}, size: {type: string}")
	o.expect(0, up(path, "upnewest"), "state = fine")
	for _, x := range []struct {
		output, value string
		change        []string
	}{
		{"state", "newer", []string{"fine", "newer"}},
		{"size", "10", []string{"\noutputs:\n", "\noutputs:\n  size: {value: {get_attr: [db, size]}}\n"}},
		{"free", "3", []string{"size: {type: string}", "size: {type: string}, free: {type: string}", "put size", "put size; printf 3 | hotc-agent put free",
			"\noutputs:\n", "\noutputs:\n  free: {value: {get_attr: [db, free]}}\n"}},
	} {
		change(x.change...)
		o.expect(0, up(path, "upnewest", "--yes"), "UPDATE_COMPLETE", x.output+" = "+x.value)
		if now := openstack(t, &world{t: t, bed: place.bed}, "stack", "output", "show", "-f", "value", "-c", "output_value", "upnewest", x.output); now != x.value+"\n" {
			t.Errorf("Heat's output %s is %q", x.output, now)
		}
	}
}

// writeDisk writes a template with a role that does something, and then publishes how that is.
func writeDisk(t *testing.T, path, command string) {
	do(t, os.WriteFile(path, []byte(`heat_template_version: 2018-08-31
resources:
  db:
    type: OS::Nova::Server
    properties: {image: debian, flavor: small}
    metadata:
      hotc:
        roles:
          - name: disk
            driver: script
            idempotent: true
            source: |
              #!/bin/sh
              `+command+`
              printf fine | hotc-agent put state
            outputs: {state: {type: string}}
outputs:
  state: {value: {get_attr: [db, state]}}
`), 0o600))
}

// A failure stays in the handle by which Heat waits until somebody has told it otherwise: the agent
// or, for a server that was made while a relay told Heat, this command's relay. The update that
// mends it comes after that, and does not fail with it.
func TestUpMendsAFailureThatAHandleHolds(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"heat", "relay"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			stack := "upholds" + first
			o.removed(stack)
			path := filepath.Join(t.TempDir(), "site.yaml")
			if first == "relay" {
				writeDisk(t, path, "true")
				o.expect(0, up(path, stack, "--signal="+first), "CREATE_COMPLETE")
			}
			writeDisk(t, path, "exit 3")
			o.expect(3, up(path, stack, "--signal=heat", "--yes"), "db.disk", "exit status 3")
			writeDisk(t, path, "true #")
			o.expect(0, up(path, stack, "--signal=heat", "--yes"), "UPDATE_COMPLETE", "state = fine")
		})
	}
}

// The delete hooks run before Heat deletes anything, and Heat, which waits for them, goes on.
func TestDownRunsDeleteHooks(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("uphooks")
	o.expect(0, up("testdata/hooks.yaml", "uphooks"), "CREATE_COMPLETE")
	o.expect(3, []string{"down", "uphooks", "--yes"}, "the delete hook", "--skip-hooks")
	s := place.bed.Oracle.Find(t, "uphooks")
	for _, server := range s.Booted(t) {
		b, err := place.bed.Server(server.ID)
		do(t, err)
		inServer(t, b, "touch", "/tmp/free")
	}
	o.expect(0, []string{"down", "uphooks", "--yes"}, "db.base: the delete hook is done", "Heat continues with", "uphooks is deleted: the stack and the deployment.")
}

// Heat is away for a while, in the middle: it is said, and nothing is lost. This test runs
// beside no other.
func TestUpWhileHeatIsAway(t *testing.T) {
	o := newOperator(t)
	o.removed("upaway")
	c := o.start(up("testdata/changing.yaml", "upaway")...)
	until(t, "Heat to be at it", func() bool { return strings.Contains(c.printed(), "Heat creates the stack") })
	place.bed.Oracle.Outage(t, 1_000_000, 0)
	until(t, "hotc to say that Heat is away", func() bool { return strings.Contains(c.printed(), "Heat does not answer; what has started continues") })
	o.expect(1, up("testdata/changing.yaml", "upaway"), "H707", "is being changed by \"hotc up\"")
	status, text := o.run(up("testdata/changing.yaml", "upaway-other")...)
	if status != 1 || !strings.Contains(text, "H710") || !strings.Contains(text, "is unavailable") || !strings.Contains(text, "return to it with the same command") {
		t.Errorf("another one meanwhile ends with %d:\n%s", status, text)
	}
	place.bed.Oracle.Outage(t, 0, 0)
	if err := c.Wait(); err != nil || !strings.Contains(c.printed(), "Heat answers again") || !strings.Contains(c.printed(), "upaway is CREATE_COMPLETE") {
		t.Errorf("%v:\n%s", err, c.printed())
	}
}

// What Heat refuses is said in its words, at our place in the template, and nothing is left.
func TestUpIsRefused(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	path := filepath.Join(t.TempDir(), "site.yaml")
	do(t, os.WriteFile(path, []byte("heat_template_version: 2018-08-31\nresources:\n  word:\n    type: OS::Heat::RandomString\n    properties: {length: 3, character_classes: [{class: digits, min: 20}]}\n"), 0o600))
	o.removed("uprefused")
	o.expect(1, up(path, "uprefused"), "H711", "Heat refuses: Length property cannot be smaller")
}

// A stack is deleted by hand and its secret lost: who has the ROOT's key finds and removes what
// is left over.
func TestGCAfterStackDelete(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	key := filepath.Join(t.TempDir(), "root.key")
	o.env = append(o.env, "HOTC_COORDINATOR="+place.zk.URL("owned"), "HOTC_ROOT_KEY_FILE="+key)
	o.expect(0, []string{"root", "new"}, "closed")
	o.expect(0, up("testdata/changing.yaml", "upgone"), "CREATE_COMPLETE")
	o.expect(0, []string{"list"}, "upgone  CREATE_COMPLETE", "2 of 2")
	o.expect(1, []string{"gc", "upgone", "--yes"}, "the stack upgone exists", "hotc down upgone")
	o.env = append(o.env, "XDG_STATE_HOME="+t.TempDir()) // the secret is lost
	o.expect(1, up("testdata/changing.yaml", "upgone"), "H702", "the stack upgone exists, but its secret does not", "--secret-file")
	lost := filepath.Join(t.TempDir(), "lost")
	o.expect(1, up("testdata/changing.yaml", "upgone", "--secret-file", lost), "H702", "there is no "+lost)
	place.bed.Oracle.Find(t, "upgone").Delete(t)
	until(t, "the agents to be away", func() bool {
		_, text := o.run("list")
		return strings.Contains(text, "upgone  none") && strings.Contains(text, "0 of 2")
	})
	o.expect(0, []string{"gc", "--yes"}, "There is nothing to remove.")
	o.expect(0, []string{"gc", "upgone", "--yes"}, "upgone is removed.")
	o.expect(0, []string{"list"}, "There are no deployments.")
}

// Who tells Heat is changed by `hotc up`, there and back, and no server is replaced and no role
// runs again: it tells Heat for the servers that have no credentials for that.
func TestUpSwitchesWhoTellsHeat(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("upswitch")
	site := up("testdata/changing.yaml", "upswitch", "-P", "level=1", "--yes")
	o.expect(0, site, "CREATE_COMPLETE", "endpoint = up")
	s := place.bed.Oracle.Find(t, "upswitch")
	id := s.Server(t, "db").ID
	for _, signal := range []string{"heat", "relay", "heat", "relay"} {
		o.expect(0, append(site, "--signal="+signal), "UPDATE_COMPLETE", "endpoint = up")
		if now := s.Server(t, "db").ID; now != id {
			t.Errorf("db was replaced for --signal=%s", signal)
		}
		if text := o.expect(0, []string{"status", "--stack", "upswitch"}, "2 done"); strings.Contains(text, "Heat does not know") {
			t.Errorf("with --signal=%s Heat has been told, and status says\n%s", signal, text)
		}
	}
	db, err := place.bed.Server(id)
	do(t, err)
	expectFile(t, db, "var/lib/count", "run 1\n")
	o.expect(0, []string{"down", "upswitch", "--yes"}, "is deleted: the stack and the deployment")
}
