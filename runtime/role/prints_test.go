package role

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

func printed(t *testing.T, work string, stdout, stderr string) *prints {
	t.Helper()
	p, err := openPrints(work)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	p.stdout.WriteString(stdout)
	p.stderr.WriteString(stderr)
	return p
}

func TestTheLastLineIsTheErrorsIfThereIsOne(t *testing.T) {
	for _, c := range []struct{ stdout, stderr, want string }{
		{"", "", ""},
		{"one\ntwo\n", "", "two"},
		{"one\ntwo", "oops\n\n  \n", "oops"},
		{"", "red \x1b[31m\tline\r\n", "red  [31m line"},
		{"", "what failed" + strings.Repeat("☃", 300) + "the reason", "what failed" + strings.Repeat("☃", 55) + "…" + strings.Repeat("☃", 124) + "the reason"},
		{"", "bad \xff byte", "bad ? byte"},
	} {
		if got := printed(t, filepath.Join(t.TempDir(), "r"), c.stdout, c.stderr).lastLine(); got != c.want {
			t.Errorf("%q, %q: got %q, want %q", c.stdout, c.stderr, got, c.want)
		}
	}
}

func TestWhatAnEarlierRunPrintedIsKeptButNotTold(t *testing.T) {
	work := filepath.Join(t.TempDir(), "r")
	printed(t, work, "", "the first run's error\n")
	p := printed(t, work, "all is well\n", "")
	if got := p.lastLine(); got != "all is well" {
		t.Errorf("the last line is %q", got)
	}
	if got := p.lastLines(); got != "all is well" {
		t.Errorf("the last lines are %q", got)
	}
}

// A failure looks at what was printed last; that is still to be sent.
func TestAFailureLeavesItsLastLinesToBeSent(t *testing.T) {
	p := printed(t, filepath.Join(t.TempDir(), "r"), "", "the error itself\n")
	if got := p.lastLines(); got != "the error itself" {
		t.Errorf("%q", got)
	}
	sent := ""
	if p.look() {
		p.send(func(tail []byte) error { sent = string(tail); return nil })
	}
	if sent != "the error itself\n" {
		t.Errorf("sent is %q", sent)
	}
}

func TestTheTailIsTheEndOfMuch(t *testing.T) {
	p := printed(t, filepath.Join(t.TempDir(), "r"), strings.Repeat("line\n", 100_000)+"end\n", "")
	for range 2 {
		if !p.look() {
			t.Error("what was seen and not sent is forgotten")
		}
	}
	p.send(func([]byte) error { return errors.New("not now") })
	if !p.look() {
		t.Error("what could not be sent is forgotten")
	}
	p.send(func([]byte) error { return nil })
	if p.look() {
		t.Error("what was sent is to be sent again")
	}
	if tail := p.tailNow(); len(tail) != protocol.LogSize || !strings.HasSuffix(string(tail), "line\nend\n") {
		t.Errorf("%d bytes, …%q", len(tail), tail[len(tail)-20:])
	}
	if lines := strings.Split(p.lastLines(), "\n"); len(lines) != 20 || lines[19] != "end" {
		t.Errorf("%q", lines)
	}
}
