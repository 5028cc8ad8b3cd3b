package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/driver/plugin"
)

// pluginMachine runs plug-ins on this machine, until ctx ends.
type pluginMachine struct {
	ctx context.Context
	// asking is read-locked while a plug-in runs.
	asking sync.RWMutex
}

// ended waits until no plug-in runs, once ctx has ended: a command leaves no process behind.
func (m *pluginMachine) ended() {
	m.asking.Lock()
	defer m.asking.Unlock()
}

// largestPlugin is how many bytes of a plug-in are read: a larger one is not distributed.
const largestPlugin = 16<<20 + 1

func (*pluginMachine) Executable(program string) ([]byte, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, plugin.ErrNotFound
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, largestPlugin))
}

// pluginThinks is how long a plug-in may take to compile a source.
const pluginThinks = time.Minute

func (m *pluginMachine) Ask(program string, line []byte) ([]byte, error) {
	m.asking.RLock()
	defer m.asking.RUnlock()
	ctx, cancel := context.WithTimeout(m.ctx, pluginThinks)
	defer cancel()
	printed, said := &bounded{over: cancel}, &bounded{over: cancel}
	cmd := exec.CommandContext(ctx, program, "compile")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(line), printed, said
	// its children end with it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case printed.exceeded:
		return nil, fmt.Errorf("it printed more than %d bytes", plugin.MaxAnswer)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("it did not answer within %v", pluginThinks)
	case err != nil:
		return nil, fmt.Errorf("`%s compile` failed (%v)%s", program, err, lastSaid(said.kept.Bytes()))
	}
	return printed.kept.Bytes(), nil
}

func lastSaid(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if last := bytes.ToValidUTF8(lines[len(lines)-1], []byte("?")); len(last) > 0 {
		return fmt.Sprintf(": %.300s", last)
	}
	return ""
}

// bounded keeps what is written, up to the size of an answer; more ends the writer.
type bounded struct {
	kept     bytes.Buffer
	exceeded bool
	over     func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > plugin.MaxAnswer {
		b.exceeded = true
		b.over()
		return len(p), nil
	}
	return b.kept.Write(p)
}
