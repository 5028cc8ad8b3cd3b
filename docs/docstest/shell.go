package docstest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// shell is one for all commands of a page, so that variables, folders and processes in the
// background are there for the commands that follow.
type shell struct {
	t   *testing.T
	dir string
	in  *os.File
	out *bufio.Reader
}

const ended = "\x01ended\x01"

func newShell(t *testing.T, env []string) *shell {
	t.Helper()
	fatal := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sh := &shell{t: t, dir: t.TempDir()}
	read, in, err := os.Pipe()
	fatal(err)
	out, write, err := os.Pipe()
	fatal(err)
	cmd := exec.Command("sh")
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = sh.dir, append(os.Environ(), env...), read, write, write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	fatal(cmd.Start())
	_, _ = read.Close(), write.Close()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // with what the page has left in the background
		_ = in.Close()
		_ = cmd.Wait()
		_ = out.Close()
	})
	sh.in, sh.out = in, bufio.NewReader(out)
	return sh
}

func (sh *shell) save(name, text string) {
	sh.t.Helper()
	path := filepath.Join(sh.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		sh.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		sh.t.Fatal(err)
	}
}

// run types a command and returns all that it prints.
func (sh *shell) run(command string) string {
	sh.t.Helper()
	if _, err := fmt.Fprintf(sh.in, "{ %s\n} </dev/null\nprintf '%s\\n'\n", command, ended); err != nil {
		sh.t.Fatal(err)
	}
	var text strings.Builder
	for {
		line, err := sh.out.ReadString('\n')
		before, found := strings.CutSuffix(line, ended+"\n")
		text.WriteString(before)
		if found {
			return text.String()
		}
		if err != nil {
			sh.t.Fatalf("$ %s\nended the shell:\n%s", command, text.String())
		}
	}
}
