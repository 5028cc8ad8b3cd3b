package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// agents is the command `agents DIR STACK`: the real agents of a compiled folder's
// servers, from boot files as Heat would write them, on the script's coordinator.
// They end with the script. `agents DIR STACK SERVER NAME` is one more machine that has
// the token of a server, with a disk and an instance of its own; what each says is in
// servers/NAME/console.
func agents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 4 {
		ts.Fatalf("usage: agents DIR STACK [SERVER NAME]")
	}
	var p contract.Plan
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(args[0], "plan.json"))), &p))
	if len(args) == 4 {
		startAgent(ts, args[1], contract.ServerPath(args[2]), args[3])
		return
	}
	for _, s := range p.Servers {
		startAgent(ts, args[1], s.Path, store.Segment(string(s.Path)))
	}
}

func startAgent(ts *testscript.TestScript, stack string, server contract.ServerPath, name string) {
	secret, err := protocol.ParseSecret(ts.ReadFile(ts.Getenv(secretFileVariable)))
	ts.Check(err)
	own := ts.MkAbs(filepath.Join("servers", name))
	ts.Check(os.MkdirAll(own, 0o700))
	text, err := json.Marshal(contract.Boot{Format: contract.Format, Deployment: stack, Server: server, Coordinator: ts.Getenv(coordinatorVariable),
		Token: secret.ServerToken(protocol.Deployment(stack), server)})
	ts.Check(err)
	boot := filepath.Join(own, "boot.json")
	ts.Check(os.WriteFile(boot, text, 0o600))
	cmd := exec.Command(ts.Getenv("AGENT"), "run", "--boot", boot, "--state", filepath.Join(own, "state"), "--work", filepath.Join(own, "work"),
		"--instance-id", "i-"+name, "--end-leftovers", "--install-nothing")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	console, err := os.OpenFile(filepath.Join(own, "console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	cmd.Stdout, cmd.Stderr = console, console
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = console.Close()
		said, _ := os.ReadFile(console.Name())
		ts.Logf("agent of %s:\n%s", name, said)
	})
}

// until is the command `until TEXT hotc …`: it runs hotc again and again, until
// that prints the text.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until TEXT COMMAND…")
	}
	for range 2000 { // bounds what would otherwise hang; no test is about it
		_ = ts.Exec(args[1], args[2:]...)
		if strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("it never said %q", args[0])
}
