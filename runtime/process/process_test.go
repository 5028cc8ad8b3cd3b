package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/process"
)

// run is a command under way whose output can be read line by line.
type run struct {
	lines  *bufio.Reader
	cancel context.CancelFunc
	ended  chan string
}

func start(t *testing.T, grace time.Duration, script string, environment ...string) *run {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdout, cmd.Stderr, cmd.Env = in, in, append(os.Environ(), environment...)
	r := &run{bufio.NewReader(out), cancel, make(chan string, 1)}
	go func() {
		exit, err := process.Run(ctx, cmd, grace)
		in.Close()
		if err != nil {
			r.ended <- err.Error()
		} else {
			r.ended <- exit.String()
		}
	}()
	t.Cleanup(cancel)
	return r
}

// line is the next line, which the scripts below use to say a process's number.
func (r *run) line(t *testing.T) string {
	t.Helper()
	line, err := r.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// pid reads a process's number and promises that the process is gone at the end.
func (r *run) pid(t *testing.T) int {
	t.Helper()
	pid, err := strconv.Atoi(r.line(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

func TestTheExitStatusIsTold(t *testing.T) {
	for script, want := range map[string]string{
		"exit 0":        "exit status 0",
		"exit 3":        "exit status 3",
		"kill -9 $$":    "killed by a signal (killed)",
		"kill -TERM $$": "killed by a signal (terminated)",
	} {
		if got := <-start(t, time.Minute, script).ended; got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

func TestWhatARoleLeavesBehindStays(t *testing.T) {
	r := start(t, time.Minute, "sleep 600 >/dev/null 2>&1 & echo $!")
	pid := r.pid(t)
	if got := <-r.ended; got != "exit status 0" {
		t.Fatal(got)
	}
	if !alive(pid) {
		t.Error("the daemon that the role started is gone")
	}
}

func TestTheEndOfTheContextEndsTheWholeGroup(t *testing.T) {
	r := start(t, time.Minute, "sleep 600 & echo $!; sleep 600 & echo $!; wait")
	first, second := r.pid(t), r.pid(t)
	r.cancel()
	if got := <-r.ended; got != "killed by a signal (terminated)" {
		t.Error(got)
	}
	if alive(first) || alive(second) {
		t.Error("children go on")
	}
}

func TestAProcessThatIgnoresTheRequestIsKilled(t *testing.T) {
	r := start(t, 50*time.Millisecond, `trap "" TERM; echo $$; while :; do sleep 1; done`)
	pid := r.pid(t)
	r.cancel()
	if got := <-r.ended; got != "killed by a signal (killed)" {
		t.Error(got)
	}
	if alive(pid) {
		t.Error("it goes on")
	}
}

func TestAChildThatIgnoresTheRequestIsKilledToo(t *testing.T) {
	r := start(t, 50*time.Millisecond, `(trap "" TERM; exec sleep 600) & echo $!; wait`)
	pid := r.pid(t)
	r.cancel()
	<-r.ended
	if _, err := r.lines.ReadByte(); err != io.EOF {
		t.Error("somebody still holds its output")
	}
	if alive(pid) {
		t.Error("the child goes on")
	}
}

func TestACommandThatCannotStartSaysSo(t *testing.T) {
	_, err := process.Run(t.Context(), exec.Command("/no/such/program"), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("got %v", err)
	}
}

func TestTheMarkFindsWhatLeftItsGroup(t *testing.T) {
	mark := fmt.Sprintf("test-%d-%d", os.Getpid(), time.Now().UnixNano())
	r := start(t, time.Minute, `setsid sh -c 'echo $$; trap "" TERM; while :; do sleep 1; done' & wait`,
		process.MarkVariable+"="+mark)
	pid := r.pid(t)
	r.cancel()
	<-r.ended
	if !alive(pid) {
		t.Fatal("it did not leave the group")
	}
	if found, err := process.EndMarked([]string{"another", mark}, 50*time.Millisecond); found == 0 || err != nil {
		t.Errorf("found %d, %v", found, err)
	}
	if alive(pid) {
		t.Error("it goes on")
	}
	if found, err := process.EndMarked([]string{mark}, time.Minute); found != 0 || err != nil {
		t.Errorf("a second look found %d, %v", found, err)
	}
}
