// Package heattest lets tests ask stock OpenStack Heat for its verdict: does it accept this
// template, and what becomes of a stack created from it?
//
// hotc promises that what it emits is plain HOT for an unchanged Heat. The only oracle of that is
// Heat itself, so the tests load every emitted template into the real engine (Debian's
// python3-heat), inside one long-lived Python process: parse, strict validation, and creation of
// the stack with the real convergence engine, resource classes and heat-api. Only what is beyond
// Heat has stand-ins: Keystone, Nova and Neutron, and the resource types that would talk to other
// cloud services. Nova boots nothing; it records the user-data that Heat resolved, and the test
// plays the server: it starts an agent from that, which signals over HTTP as it would in a cloud.
//
// The Python part is in python/, one subject per file. A new kind of question is a method and a
// line in the table of handlers.py, and a method here.
package heattest

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

//go:embed python/*.py
var program embed.FS

// interpreter is the Python that finds Debian's packages; another python3 may be first on PATH.
const interpreter = "/usr/bin/python3"

// SkipVariable is the environment variable that, set to 1, skips tests where Heat is missing,
// instead of failing them.
const SkipVariable = "HOTC_SKIP_HEAT"

// Endpoints is how a client reaches the oracle's HTTP APIs as the owner of stacks.
type Endpoints struct {
	AuthURL  string `json:"auth_url"` // Keystone v3
	HeatURL  string `json:"heat_url"` // heat-api, with the owner's project
	Username string `json:"username"`
	Password string `json:"password"`
	Project  string `json:"project"` // its id
}

// Oracle is a running stock Heat. Its methods may be used concurrently by goroutines and tests.
type Oracle struct {
	Endpoints Endpoints

	process *exec.Cmd
	folder  string
	stderr  tail

	writing  sync.Mutex
	requests io.WriteCloser

	mu      sync.Mutex
	number  int
	waiting map[int]chan answer
	ended   error // why there are no more answers
}

// answer is one line from the process.
type answer struct {
	ID       int             `json:"id"`
	Result   json.RawMessage `json:"result"`
	Error    *string         `json:"error"`
	Event    string          `json:"event"`
	Packages []string        `json:"packages"`
	Endpoints
}

// Start starts an oracle that ends with the test. A missing Heat fails the test,
// or skips it if HOTC_SKIP_HEAT=1.
func Start(t testing.TB) *Oracle {
	t.Helper()
	skipShort(t)
	j, err := New()
	if err != nil {
		refuse(t, err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Errorf("ending the oracle: %v", err)
		}
	})
	return j
}

// Shared is one oracle for all tests of a package: it starts at the first request, and ends with
// the test binary. Its zero value is ready to use.
type Shared struct {
	Site Site

	once sync.Once
	j    *Oracle
	err  error
}

// Oracle is the shared one. A missing Heat fails the test, or skips it if
// HOTC_SKIP_HEAT=1.
func (s *Shared) Oracle(t testing.TB) *Oracle {
	t.Helper()
	skipShort(t)
	s.once.Do(func() { s.j, s.err = NewAt(s.Site) })
	if s.err != nil {
		refuse(t, s.err)
	}
	return s.j
}

// MissingError names the Debian packages without which there is no oracle.
type MissingError struct{ Packages []string }

func (e *MissingError) Error() string {
	return "stock Heat is needed as oracle: apt-get install " + strings.Join(e.Packages, " ") +
		" (`make test` does it), or set " + SkipVariable + "=1 to go without"
}

func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT COMPARED WITH STOCK HEAT with -short")
	}
}

func refuse(t testing.TB, err error) {
	t.Helper()
	var missing *MissingError
	if errors.As(err, &missing) && os.Getenv(SkipVariable) == "1" {
		t.Skipf("NOT COMPARED WITH STOCK HEAT (%s=1): packages %s are missing", SkipVariable, strings.Join(missing.Packages, " "))
	}
	t.Fatal(err)
}

// Site is where an oracle runs. The zero Site is on the loopback interface, and its servers are not
// booted.
type Site struct {
	Address string // where the HTTP APIs listen
	// Bed is the socket of what boots servers (emit/heat/bed), Network the CIDR of those without a
	// subnet in the template.
	Bed, Network string
	// Stock lets Heat's own resource types validate, as in a cloud: this shows what each refuses,
	// but those that need a cloud cannot be created.
	Stock bool
}

func (s Site) flags() []string {
	var flags []string
	if s.Address != "" {
		flags = append(flags, "--address", s.Address)
	}
	if s.Bed != "" {
		flags = append(flags, "--bed", s.Bed, "--network", s.Network)
	}
	if s.Stock {
		flags = append(flags, "--stock")
	}
	return flags
}

// New starts an oracle. The process ends with Close, or by itself with this process.
func New() (*Oracle, error) { return NewAt(Site{}) }

// NewAt starts an oracle at a site.
func NewAt(site Site) (*Oracle, error) {
	if _, err := os.Stat(interpreter); err != nil {
		return nil, &MissingError{Packages: []string{"python3-heat", "heat-common", "python3-heatclient"}}
	}
	folder, err := unpack()
	if err != nil {
		return nil, err
	}
	j := &Oracle{folder: folder, waiting: map[int]chan answer{}}
	if err := j.start(site); err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
	return j, nil
}

// unpack writes the Python program to a folder of its own.
func unpack() (string, error) {
	folder, err := os.MkdirTemp("", "hotc-oracle-")
	if err != nil {
		return "", err
	}
	sources, err := fs.Sub(program, "python")
	if err == nil {
		err = os.CopyFS(folder, sources)
	}
	if err != nil {
		os.RemoveAll(folder)
		return "", fmt.Errorf("unpacking the oracle: %w", err)
	}
	return folder, nil
}

func (j *Oracle) start(site Site) error {
	cmd := exec.Command(interpreter, append([]string{filepath.Join(j.folder, "oracle.py"), "serve", j.folder}, site.flags()...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1", "PYTHONPATH=")
	cmd.Stderr = &j.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the oracle: %w", err)
	}
	j.process, j.requests = cmd, stdin
	lines := bufio.NewReader(stdout)
	var first answer
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &first)
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return fmt.Errorf("the oracle did not start: %w\n%s", err, j.stderr.String())
	}
	if first.Event == "missing" {
		stdin.Close()
		cmd.Wait()
		return &MissingError{Packages: first.Packages}
	}
	j.Endpoints = first.Endpoints
	go j.listen(lines)
	return nil
}

// listen passes each answer to the call that waits for it.
func (j *Oracle) listen(lines *bufio.Reader) {
	for {
		line, err := lines.ReadBytes('\n')
		var a answer
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		j.mu.Lock()
		if err != nil {
			if j.ended == nil {
				j.ended = fmt.Errorf("the oracle has ended (%w)\n%s", err, j.stderr.String())
			}
			for id, ch := range j.waiting {
				delete(j.waiting, id)
				close(ch)
			}
			j.mu.Unlock()
			return
		}
		if ch := j.waiting[a.ID]; ch != nil {
			delete(j.waiting, a.ID)
			ch <- a
		}
		j.mu.Unlock()
	}
}

// Error is Heat's refusal of a request: the exception's class and message.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// arguments are those of one request, by name.
type arguments map[string]any

// ask sends a request and decodes its result into result, unless that is nil.
func (j *Oracle) ask(op string, args arguments, result any) error {
	reply, err := j.send(op, args)
	if err != nil {
		return err
	}
	return j.receive(reply, op, answerLimit, result)
}

// send sends a request. The process begins requests in the order in which they are sent.
func (j *Oracle) send(op string, args arguments) (<-chan answer, error) {
	request := arguments{"op": op}
	for name, value := range args {
		request[name] = value
	}
	reply := make(chan answer, 1)
	j.mu.Lock()
	if j.ended != nil {
		defer j.mu.Unlock()
		return nil, j.ended
	}
	j.number++
	request["id"] = j.number
	j.waiting[j.number] = reply
	j.mu.Unlock()

	line, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", op, err)
	}
	j.writing.Lock()
	_, err = j.requests.Write(append(line, '\n'))
	j.writing.Unlock()
	if err != nil {
		return nil, fmt.Errorf("request %s: %w\n%s", op, err, j.stderr.String())
	}
	return reply, nil
}

// receive waits for a request's answer.
func (j *Oracle) receive(reply <-chan answer, op string, limit time.Duration, result any) error {
	late := time.AfterFunc(limit, func() { j.giveUp(op, limit) })
	a, open := <-reply
	late.Stop()
	switch {
	case !open:
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.ended
	case a.Error != nil:
		return &Error{Text: *a.Error}
	case result == nil:
		return nil
	}
	return json.Unmarshal(a.Result, result)
}

// answerLimit is far more than Heat takes for any request of the tests.
const answerLimit = 10 * time.Minute

// stackTime is more than the process needs to print its stacks, and stackEnd its last word then, if
// it gets to that (python/stuck.py).
const (
	stackTime = 30 * time.Second
	stackEnd  = "These were all green threads."
)

// giveUp ends a process that does not answer; what it was doing is the reason with which all
// requests in progress fail.
func (j *Oracle) giveUp(op string, limit time.Duration) {
	_ = j.process.Process.Signal(syscall.SIGUSR1)
	for end := time.Now().Add(stackTime); !strings.Contains(j.stderr.String(), stackEnd) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	j.mu.Lock()
	if j.ended == nil {
		j.ended = fmt.Errorf("the oracle has not answered %q for %v. It was at:\n%s", op, limit, j.stderr.String())
	}
	j.mu.Unlock()
	_ = j.process.Process.Kill()
}

// Close ends the process. Stacks that are still in progress are forgotten.
func (j *Oracle) Close() error {
	j.writing.Lock()
	j.requests.Close()
	j.writing.Unlock()
	err := j.process.Wait()
	return errors.Join(err, os.RemoveAll(j.folder))
}

// tail keeps the end of what the process writes to standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 64 << 10

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if over := len(w.text) - tailBytes; over > 0 {
		w.text = bytes.Clone(w.text[over:])
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}
