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

// lateInputs are the files of run-time inputs, whose opening waits.
type lateInputs struct {
	files *lazyfile.Files // nil where there are none
	// ctx is what the role runs under.
	ctx  context.Context
	mark string
}

// openLate makes the files of run-time inputs. Where the kernel cannot let an opening
// wait there are none, and a script that looks for them is told why.
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
			fmt.Fprintf(job.Stderr, "hotc-agent: $hotc_inputs has no run-time inputs here: %v; read them with `hotc-agent get NAME`, or say `eager: true`\n", err)
		}
		return late, nil
	}
	if err != nil {
		return late, err
	}
	late.files, late.ctx = files, under
	return late, nil
}

// close lets go of the files when the role has ended. It returns why it was ended, if
// that was for the files' sake.
func (l lateInputs) close(job *driver.Job) error {
	if l.files == nil {
		return nil
	}
	cause := context.Cause(l.ctx)
	if l.ctx.Err() == nil || !lazyfile.EndsRole(cause) {
		l.files.Close()
		return nil
	}
	// What left the role's group is still among the openers that must not get through.
	_, err := process.EndMarked([]string{l.mark}, job.Grace)
	l.files.Close()
	return errors.Join(cause, err)
}
