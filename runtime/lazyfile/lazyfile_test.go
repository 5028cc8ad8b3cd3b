package lazyfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/runtime/process"
)

const mark = "0123456789abcdef"

// The test program is the guard, too, and an agent that can be killed.
func TestMain(m *testing.M) {
	if strings.Join(os.Args[1:], " ") == "guard" {
		if err := Guard(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if folder := os.Getenv("LAZYFILE_AGENT"); folder != "" {
		playAgent(folder)
	}
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0") // for the guards
	os.Exit(m.Run())
}

// open makes the file of an input, whose value comes from read.
func open(t *testing.T, read func(context.Context, string) ([]byte, error)) (*Files, context.Context, string) {
	t.Helper()
	folder := t.TempDir()
	f, ctx, err := Open(context.Background(), options(folder, read))
	if errors.Is(err, ErrUnsupported) {
		t.Skipf("SKIPPED: no file's opening can wait here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, ctx, filepath.Join(folder, "db")
}

func options(folder string, read func(context.Context, string) ([]byte, error)) Options {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{Folder: folder, Inputs: map[string]string{"db": "db"}, Read: read, Guard: []string{program, "guard"}, Mark: mark}
}

// start starts a command of the role's.
func start(t *testing.T, of string, command ...string) (*exec.Cmd, *lines) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	out := &lines{}
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", process.MarkVariable + "=" + of}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// until looks until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 60000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// Whatever opens a file of the role waits for its value, and then reads all of it:
// the shell, a program in another language, a child whose environment was emptied, one
// in another session.
func TestOpeningWaits(t *testing.T) {
	come := make(chan string)
	asked := make(chan string, 10)
	f, _, path := open(t, func(ctx context.Context, input string) ([]byte, error) {
		asked <- input
		return []byte(<-come), nil
	})
	defer f.Close()
	var readers []*exec.Cmd
	var outs []*lines
	for _, command := range []string{
		`read -r x <"$0"; echo "$x"`, `cat "$0"`, `env -i cat "$0"`, `setsid -w env -i cat "$0"`, `(env -i setsid -w sh -c "env -i cat $0")`,
		`python3 -c 'import sys; print(open(sys.argv[1]).read(), end="")' "$0"`, `perl -e 'open(F, $ARGV[0]) or die; print <F>' "$0"`,
	} {
		cmd, out := start(t, mark, "sh", "-c", command, path)
		readers, outs = append(readers, cmd), append(outs, out)
	}
	if got := <-asked; got != "db" {
		t.Errorf("read %s", got)
	}
	time.Sleep(50 * time.Millisecond) // whoever does not wait is through by now
	for i, out := range outs {
		if out.String() != "" {
			t.Errorf("reader %d got %q before there was a value", i, out)
		}
	}
	come <- "10.0.0.7\n"
	for i, cmd := range readers {
		if err := cmd.Wait(); err != nil || outs[i].String() != "10.0.0.7\n" {
			t.Errorf("%v: %v, %q", cmd.Args, err, outs[i])
		}
	}
	if len(asked) > 0 {
		t.Errorf("%d more reads", len(asked))
	}
	// From now on the kernel asks nobody, and a stranger reads it as well as anyone.
	if text, err := os.ReadFile(path); err != nil || string(text) != "10.0.0.7\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// Openers whom the kernel has stopped while the value is being written get it, too, and nobody reads
// it again for them.
func TestOpenersWhileTheValueIsWritten(t *testing.T) {
	for range 20 {
		var reads atomic.Int32
		f, _, path := open(t, func(context.Context, string) ([]byte, error) {
			reads.Add(1)
			return []byte("10.0.0.7\n"), nil
		})
		var readers []*exec.Cmd
		var outs []*lines
		for range 8 {
			cmd, out := start(t, mark, "cat", path)
			readers, outs = append(readers, cmd), append(outs, out)
		}
		for i, cmd := range readers {
			if err := cmd.Wait(); err != nil || outs[i].String() != "10.0.0.7\n" {
				t.Errorf("%v, %q", err, outs[i])
			}
		}
		f.Close()
		if n := reads.Load(); n != 1 {
			t.Fatalf("it was read %d times", n)
		}
	}
}

// An empty value is a value.
func TestEmptyValue(t *testing.T) {
	f, _, path := open(t, func(context.Context, string) ([]byte, error) { return nil, nil })
	defer f.Close()
	cmd, out := start(t, mark, "cat", path)
	if err := cmd.Wait(); err != nil || out.String() != "" {
		t.Errorf("%v, %q", err, out)
	}
}

// A process that is not the role's, and one of another role, neither waits nor gets an
// empty file.
func TestStrangersDoNotWait(t *testing.T) {
	f, _, path := open(t, func(ctx context.Context, _ string) ([]byte, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	defer f.Close()
	for _, of := range []string{"", mark + "x"} {
		cmd, out := start(t, of, "cat", path)
		if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "Operation not permitted") {
			t.Errorf("%v, %q", err, out)
		}
	}
	for _, command := range [][]string{{"stat", path}, {"ls", "-l", path}, {"test", "-f", path}, {"find", path, "-size", "0"}} { // none opens it
		if err := exec.Command(command[0], command[1:]...).Run(); err != nil {
			t.Errorf("%v: %v", command, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || len(text) > 0 {
		t.Errorf("the agent itself: %q, %v", text, err)
	}
}

// A value that will not come is an error for who asks, and so is the role's end.
func TestNoValue(t *testing.T) {
	f, _, path := open(t, func(context.Context, string) ([]byte, error) { return nil, errors.New("the producer has failed") })
	for range 2 {
		cmd, out := start(t, mark, "cat", path)
		if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "Operation not permitted") {
			t.Errorf("%v, %q", err, out)
		}
	}
	f.Close()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a file without a value is left: %v", err)
	}

	asked := make(chan bool, 1)
	f, _, path = open(t, func(ctx context.Context, _ string) ([]byte, error) {
		asked <- true
		<-ctx.Done()
		return nil, ctx.Err()
	})
	cmd, out := start(t, mark, "cat", path)
	<-asked
	f.Close()
	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "Operation not permitted") {
		t.Errorf("%v, %q", err, out)
	}
}

// If the guard dies the role is to be ended, and nobody gets through meanwhile.
func TestGuardDies(t *testing.T) {
	asked := make(chan bool, 1)
	f, ctx, path := open(t, func(ctx context.Context, _ string) ([]byte, error) {
		asked <- true
		<-ctx.Done()
		return nil, ctx.Err()
	})
	cmd, out := start(t, mark, "sh", "-c", `cat "$0" && echo through`, path)
	<-asked
	if err := f.guard.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if !EndsRole(context.Cause(ctx)) {
		t.Errorf("%v", context.Cause(ctx))
	}
	f.Close()
	if err := cmd.Wait(); err == nil || strings.Contains(out.String(), "through") {
		t.Errorf("%v, %q", err, out)
	}
}

// playAgent opens the files, says who asks, and never answers.
func playAgent(folder string) {
	f, _, err := Open(context.Background(), options(folder, func(ctx context.Context, input string) ([]byte, error) {
		fmt.Println("asked")
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("guard", f.guard.Process.Pid)
	select {}
}

// If the agent dies, the guard ends the role before anybody reads an empty file:
// who waits already, who asks afterwards, and who has left the role's session.
func TestAgentDies(t *testing.T) {
	f, _, _ := open(t, nil) // skips
	f.Close()
	folder := t.TempDir()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.Command(program)
	agent.Env = append(os.Environ(), "LAZYFILE_AGENT="+folder)
	said := &lines{}
	agent.Stdout, agent.Stderr = said, said
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the agent has a guard", func() bool { return strings.Contains(said.String(), "guard ") })
	path, got := filepath.Join(folder, "db"), filepath.Join(t.TempDir(), "got")
	var readers []*exec.Cmd
	for _, command := range []string{`cat "$0" >"$1" && echo through >"$1"`, `setsid -w cat "$0" >>"$1" && echo through >"$1"`,
		`trap "" TERM; while :; do cat "$0" && echo through >"$1"; done`} {
		cmd, _ := start(t, mark, "sh", "-c", command, path, got)
		readers = append(readers, cmd)
	}
	// Without the mark, as a child of who has it: nobody finds it by its environment.
	orphan, _ := start(t, mark, "sh", "-c", `env -i setsid cat "$0" >>"$1" && echo through >"$1"`, path, got)
	until(t, "somebody asks", func() bool { return strings.Contains(said.String(), "asked") })
	time.Sleep(100 * time.Millisecond) // and so do the others
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = agent.Wait()
	for _, cmd := range append(readers, orphan) {
		if err := cmd.Wait(); err == nil {
			t.Errorf("%v ended well", cmd.Args)
		}
	}
	var pid int
	if _, err := fmt.Sscanf(said.String()[strings.Index(said.String(), "guard "):], "guard %d", &pid); err != nil {
		t.Fatal(err)
	}
	until(t, "the guard ends", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		return err != nil || !strings.Contains(string(text), "guard")
	})
	if text, err := os.ReadFile(got); err == nil && len(text) > 0 {
		t.Errorf("somebody got %q", text)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the empty file is left: %v", err)
	}
}

// lines is what a process prints, as far as it has.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
