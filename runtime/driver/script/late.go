package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/lazyfile"
	"github.com/hotc-dev/hotc/runtime/process"
)

// lateInputs are the files of run-time inputs, which block when opened.
type lateInputs struct {
	files *lazyfile.Files // nil if there are none
	// ctx is the role's.
	ctx  context.Context
	mark string
}

// openLate creates the files of run-time inputs. If the kernel does not support blocking
// opens, there are none, and the script's log says why.
func openLate(ctx context.Context, job *driver.Job) (lateInputs, error) {
	late := lateInputs{ctx: ctx}
	inputs := map[string]string{}
	for _, in := range job.Role.Inputs {
		if isRunTime(in) {
			inputs[driver.FileName(in.Name)] = in.Name
		}
	}
	if len(inputs) == 0 {
		return late, nil
	}
	late.mark = job.Variable(process.MarkVariable)
	files, under, err := lazyfile.Open(ctx, lazyfile.Options{
		Folder: inputsFolder(job), Inputs: inputs, Mark: late.mark, Guard: []string{job.Agent(), "guard"},
		Read: func(ctx context.Context, input string) ([]byte, error) {
			value, err := job.Values.Read(ctx, input)
			return driver.Text(value), err
		},
	})
	if errors.Is(err, lazyfile.ErrUnsupported) {
		if text, readErr := os.ReadFile(scriptPath(job)); readErr == nil && bytes.Contains(text, []byte("hotc_inputs")) {
			fmt.Fprintf(job.Stderr, "hotc-agent: $hotc_inputs has no run-time inputs: %v; read them with `hotc-agent get NAME`, or set `eager: true`\n", err)
		}
		return late, nil
	}
	if err != nil {
		return late, err
	}
	late.files, late.ctx = files, under
	return late, nil
}

// close removes the files when the role has ended. It returns why the role was ended, if
// a file was the cause.
func (l lateInputs) close(job *driver.Job) error {
	if l.files == nil {
		return nil
	}
	cause := context.Cause(l.ctx)
	if l.ctx.Err() == nil || !lazyfile.EndsRole(cause) {
		l.files.Close()
		return nil
	}
	// Processes that left the role's group may still wait for a file, and must not get it.
	_, err := process.EndMarked([]string{l.mark}, job.Grace)
	l.files.Close()
	return errors.Join(cause, err)
}
