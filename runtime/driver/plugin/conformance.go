package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/script"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// Trial is a conformance test of a plug-in, for its author.
type Trial struct {
	Path string
	// Source is a role's source that succeeds with the inputs; nil tests only the compile
	// half.
	Source  json.RawMessage
	Inputs  []TrialInput
	Outputs []contract.Output
	// Folder is the plug-in's working folder; Agent the agent's program, for `hotc-agent get`.
	Folder, Agent string
	Environment   []string
	// Said receives the plug-in's standard error.
	Said     *os.File
	Patience time.Duration
	Grace    time.Duration
}

// TrialInput is an input with its value.
type TrialInput struct {
	Name  string
	Value json.RawMessage
}

// Report receives the result of each check; nil is success.
type Report func(check string, err error)

// ErrSkipped reports a skipped check, and why.
type ErrSkipped struct{ Why string }

func (e *ErrSkipped) Error() string { return e.Why }

// Run performs all checks. It really runs the source.
func (t *Trial) Run(ctx context.Context, report Report) {
	name := strings.TrimPrefix(filepath.Base(t.Path), Prefix)
	err := t.checkProgram(name)
	report("it is an executable with a valid name", err)
	if err != nil {
		return
	}
	source := t.Source
	if source == nil {
		source = json.RawMessage("null")
	}
	report("compile: it answers with one line", t.asked(ctx, source, t.Source != nil))
	for _, odd := range []string{`null`, `"text"`, `17`, `[1, [2, {"a": null}]]`, `{"no such key": {"a": [true]}}`} {
		report("compile: it answers to the source "+odd, t.asked(ctx, json.RawMessage(odd), false))
	}
	runs := []struct {
		check string
		do    func(context.Context, string) error
	}{
		{"run: it succeeds, and publishes every output", t.succeeds},
		{"run: it fails when an input fails", t.failsWithAnInput},
		{"run: it ends on SIGTERM", t.endsWhenAsked},
	}
	for _, r := range runs {
		if t.Source == nil {
			report(r.check, &ErrSkipped{"no source to run (--source)"})
			continue
		}
		report(r.check, r.do(ctx, name))
	}
}

func (t *Trial) checkProgram(name string) error {
	info, err := os.Stat(t.Path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return errors.New("it is not executable: chmod +x")
	case !strings.HasPrefix(filepath.Base(t.Path), Prefix) || !nameForm.MatchString(name):
		return fmt.Errorf("its name must be %sNAME, with a NAME of lower-case letters, digits, - and _", Prefix)
	}
	return nil
}

// asked asks the compile half.
func (t *Trial) asked(ctx context.Context, source json.RawMessage, must bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, fmt.Errorf("it did not answer within %v", t.Patience))
	defer cancel()
	inputs := []string{}
	for _, in := range t.Inputs {
		inputs = append(inputs, in.Name)
	}
	_, outputs := driver.Declare(contract.Role{Outputs: t.Outputs}, nil, nil)
	line, err := encode(map[string]any{"protocol": Protocol, "role": "check", "source": source, "inputs": inputs, "outputs": outputs,
		"a key of a later version": true})
	if err != nil {
		return err
	}
	command, err := script.CommandLine(t.Path)
	if err != nil {
		return err
	}
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], "compile")...)
	cmd.Env, cmd.Dir, cmd.Stderr = t.Environment, t.Folder, t.Said
	cmd.Stdin, cmd.Stdout = bytes.NewReader(line), &printed
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("`compile` fails (%w): report an invalid source in \"errors\" of the answer", err)
	}
	return checkAnswer(printed.Bytes(), inputs, outputs, must)
}

// compiled is the answer of a compile half, as in compiler/driver/plugin.
type compiled struct {
	Protocol int             `json:"protocol"`
	Source   json.RawMessage `json:"source"`
	Trees    []string        `json:"trees"`
	Errors   []struct {
		Message string   `json:"message"`
		Hint    string   `json:"hint"`
		At      []string `json:"at"`
	} `json:"errors"`
	Steps    []compiledStep `json:"steps"`
	Complete bool           `json:"complete"`
}

type compiledStep struct {
	Read  *string        `json:"read"`
	Write *string        `json:"write"`
	Any   []compiledStep `json:"any"`
	Maybe []compiledStep `json:"maybe"`
}

func checkAnswer(printed []byte, inputs []string, outputs []driver.Declared, must bool) error {
	var a compiled
	decoder := json.NewDecoder(bytes.NewReader(printed))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		return fmt.Errorf("its output is not a valid answer (%w): %s", err, excerpt(printed))
	}
	if decoder.More() {
		return fmt.Errorf("it prints more than one line: %s", excerpt(printed))
	}
	if a.Protocol != Protocol {
		return fmt.Errorf("its answer uses version %d of the protocol, this agent version %d", a.Protocol, Protocol)
	}
	for _, e := range a.Errors {
		if e.Message == "" {
			return errors.New("an error in its answer has no message")
		}
		if must {
			return fmt.Errorf("it rejects the source: %s", e.Message)
		}
	}
	return checkSteps(a.Steps, inputs, outputs)
}

func checkSteps(steps []compiledStep, inputs []string, outputs []driver.Declared) error {
	for _, s := range steps {
		switch {
		case s.Read != nil && !slices.Contains(inputs, *s.Read):
			return fmt.Errorf("a step reads %q, which is not an input", *s.Read)
		case s.Write != nil && !slices.ContainsFunc(outputs, func(o driver.Declared) bool { return o.Name == *s.Write }):
			return fmt.Errorf("a step writes %q, which is not an output", *s.Write)
		case s.Read == nil && s.Write == nil && s.Any == nil && s.Maybe == nil:
			return errors.New("a step must have one of read, write, any and maybe")
		}
		if err := checkSteps(slices.Concat(s.Any, s.Maybe), inputs, outputs); err != nil {
			return err
		}
	}
	return nil
}

// values implements driver.Values and driver.Files for a trial.
type values struct {
	*Trial
	read  func(ctx context.Context, name string) (json.RawMessage, error)
	mu    sync.Mutex
	asked []string
	wrote map[string]json.RawMessage
	wrong error
}

func (v *values) Read(ctx context.Context, name string) (json.RawMessage, error) {
	v.mu.Lock()
	v.asked = append(v.asked, name)
	v.mu.Unlock()
	for _, in := range v.Inputs {
		if in.Name == name {
			if v.read != nil {
				return v.read(ctx, name)
			}
			return in.Value, nil
		}
	}
	return nil, v.isWrong(fmt.Errorf("it reads %q, which is not an input", name))
}

func (v *values) isWrong(err error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.wrong == nil {
		v.wrong = err
	}
	return err
}

func (v *values) Write(_ context.Context, name string, value json.RawMessage) error {
	return v.write(name, func(t contract.Type) (json.RawMessage, error) { return driver.Check(t, value) })
}

func (v *values) WriteText(_ context.Context, name string, text []byte) error {
	return v.write(name, func(t contract.Type) (json.RawMessage, error) { return driver.Parse(t, text) })
}

func (v *values) write(name string, read func(contract.Type) (json.RawMessage, error)) error {
	i := slices.IndexFunc(v.Outputs, func(o contract.Output) bool { return o.Name == name })
	if i < 0 {
		return v.isWrong(fmt.Errorf("it writes %q, which is not an output", name))
	}
	value, err := read(v.Outputs[i].Type)
	if err != nil {
		return v.isWrong(fmt.Errorf("output %s: %w", name, err))
	}
	v.mu.Lock()
	was, twice := v.wrote[name]
	if !twice {
		v.wrote[name] = value
	}
	v.mu.Unlock()
	if twice && !bytes.Equal(was, value) {
		return v.isWrong(fmt.Errorf("output %s changed from %s to %s", name, was, value))
	}
	return nil
}

// File implements driver.Files: the plug-in.
func (v *values) File(context.Context, string) ([]byte, error) { return os.ReadFile(v.Path) }

// run runs the source once.
func (t *Trial) run(ctx context.Context, name string, v *values) (driver.Exit, error) {
	v.Trial, v.wrote = t, map[string]json.RawMessage{}
	folder, err := os.MkdirTemp(t.Folder, "job-")
	if err != nil {
		return driver.Exit{}, err
	}
	bin := filepath.Join(folder, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o700), os.Symlink(t.Agent, filepath.Join(bin, "hotc-agent"))); err != nil {
		return driver.Exit{}, err
	}
	server, err := socket.Serve(ctx, folder, v)
	if err != nil {
		return driver.Exit{}, err
	}
	defer server.Close()
	text, err := json.Marshal(source{Name: name, Executable: "the plug-in", Source: t.Source})
	if err != nil {
		return driver.Exit{}, err
	}
	role := contract.Role{Name: "check", Driver: "plugin", Source: text, Outputs: t.Outputs}
	for _, in := range t.Inputs {
		role.Inputs = append(role.Inputs, contract.Input{Name: in.Name, Time: contract.Run})
	}
	job := &driver.Job{Role: role, Grace: t.Grace, Folder: folder, Work: t.Folder, Values: v, Files: v, Stdout: t.Said, Stderr: t.Said,
		Started: func(context.Context) error { return nil }, Environment: []string{socket.Variable + "=" + server.Path()}}
	for _, entry := range t.Environment {
		if path, is := strings.CutPrefix(entry, "PATH="); is {
			entry = "PATH=" + bin + ":" + path
		}
		job.Environment = append(job.Environment, entry)
	}
	d := Driver{Patience: t.Patience}
	if err := d.Prepare(ctx, job); err != nil {
		return driver.Exit{}, err
	}
	return d.Run(ctx, job)
}

func (t *Trial) succeeds(ctx context.Context, name string) error {
	v := &values{}
	exit, err := t.run(ctx, name, v)
	switch {
	case v.wrong != nil:
		return v.wrong
	case err != nil:
		return err
	case !exit.OK():
		return fmt.Errorf("it ends with %v", exit)
	}
	for _, o := range t.Outputs {
		if v.wrote[o.Name] == nil {
			return fmt.Errorf("it does not publish %s", o.Name)
		}
	}
	return nil
}

var errProbe = errors.New("db.mysql failed: this is a trial")

func (t *Trial) failsWithAnInput(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var late sync.Once
	hangs := make(chan struct{})
	v := &values{read: func(context.Context, string) (json.RawMessage, error) {
		late.Do(func() {
			time.AfterFunc(t.Patience, func() {
				defer mistake.Ends()
				close(hangs)
				cancel()
			})
		})
		return nil, errProbe
	}}
	exit, err := t.run(ctx, name, v)
	select {
	case <-hangs:
		return fmt.Errorf("it did not end within %v after an input's failure", t.Patience)
	default:
	}
	switch {
	case len(v.asked) == 0:
		return &ErrSkipped{"it reads no input of this source"}
	case err == nil && exit.OK():
		return fmt.Errorf("it reported success, but could not read %s", v.asked[0])
	}
	return nil
}

// endsWhenAsked blocks the first read, and then asks the plug-in to end.
func (t *Trial) endsWhenAsked(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waits := make(chan struct{}, 1)
	v := &values{read: func(ctx context.Context, _ string) (json.RawMessage, error) {
		store.Wake(waits)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	mistake.Go(func() {
		select {
		case <-waits:
			cancel(errors.New("asked to end"))
		case <-ctx.Done():
		}
	})
	exit, err := t.run(ctx, name, v)
	switch {
	case len(v.asked) == 0:
		return &ErrSkipped{"it reads no input of this source"}
	case exit.Signal == syscall.SIGKILL:
		return fmt.Errorf("it had to be killed: it did not end within %v after SIGTERM", t.Grace)
	case err != nil && ctx.Err() == nil:
		return err
	}
	return nil
}

// NewTrial returns a trial with the agent's own timeouts.
func NewTrial(path string) *Trial {
	return &Trial{Path: path, Patience: time.Minute, Grace: process.Grace}
}
