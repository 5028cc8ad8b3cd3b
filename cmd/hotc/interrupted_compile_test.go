package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal ends a compile at work within a moment, with one line, and the folder that a former one
// wrote stays as it was: while it computes, and while a plug-in does not answer.
func TestACompileAtWorkIsInterrupted(t *testing.T) {
	hotc := binary(t, "hotc")
	dir := t.TempDir()
	plugged := filepath.Join(dir, "plugged")
	var big strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&big, "  r%d: {type: OS::Heat::Value, properties: {value: {list_join: ['-', [{get_attr: [r%d, value]}, {get_param: 'OS::stack_name'}]]}}}\n", i+1, i)
	}
	do := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	asked := func() string { // the plug-in's process
		pid, _ := os.ReadFile(plugged)
		return strings.TrimSpace(string(pid))
	}
	head := "heat_template_version: 2018-08-31\nresources:\n  r0: {type: OS::Heat::Value, properties: {value: 1}}\n"
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, made := file("whole.yaml", head), filepath.Join(dir, "made")
	if out, err := exec.Command(hotc, "compile", whole, "-o", made).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before, err := os.ReadFile(filepath.Join(made, "stack.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hotc-driver-slow"), []byte("#!/bin/sh\necho $$ >"+plugged+"\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	slow := file("slow.yaml", head+"  db:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata: {hotc: {roles: [{name: r, driver: slow, source: x}]}}\n")
	large := file("big.yaml", head+big.String())
	for name, args := range map[string][]string{"computing": {"compile", large, "-o", made}, "a plug-in": {"compile", slow, "-o", made}, "a linter's plug-in": {"lint", slow}} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			var said strings.Builder
			cmd := exec.Command(hotc, args...)
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for at := time.Now(); name != "computing" && len(asked()) == 0 || time.Since(at) < 100*time.Millisecond; time.Sleep(5 * time.Millisecond) {
				if time.Since(at) > time.Minute {
					t.Fatalf("%s: it was not asked: %s", name, said.String())
				}
			}
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			select {
			case err := <-ended:
				if !errors.As(err, &exit) || exit.ExitCode() != exitError || !strings.HasSuffix(said.String(), ": interrupted\n") || strings.Count(said.String(), "\n") != 1 {
					t.Errorf("%s: after %v it ends with %v: %s", name, s, err, said.String())
				}
			case <-time.After(30 * time.Second): // half of what the plug-in sleeps
				_ = cmd.Process.Kill()
				<-ended
				t.Errorf("%s: it goes on after %v", name, s)
			}
			if pid := asked(); name != "computing" {
				if n, err := strconv.Atoi(pid); err != nil || syscall.Kill(n, 0) == nil {
					_ = syscall.Kill(n, syscall.SIGKILL)
					t.Errorf("%s: its process %q is left behind", name, pid)
				}
				do(os.Remove(plugged))
			}
			if now, err := os.ReadFile(filepath.Join(made, "stack.yaml")); err != nil || string(now) != string(before) {
				t.Errorf("%s: the folder has changed: %v", name, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*made*")); len(left) != 1 {
				t.Errorf("%s: it leaves %v", name, left)
			}
		}
	}
}
