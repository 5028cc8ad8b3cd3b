package role

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator"
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
		{"", strings.Repeat("☃", 300), strings.Repeat("☃", 200) + "…"},
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

func TestTheTailIsTheEndOfMuch(t *testing.T) {
	p := printed(t, filepath.Join(t.TempDir(), "r"), strings.Repeat("line\n", 100_000)+"end\n", "")
	if !p.look() || p.look() {
		t.Error("the first look sees something, the second nothing new")
	}
	if tail := p.tailNow(); len(tail) != coordinator.LogSize || !strings.HasSuffix(string(tail), "line\nend\n") {
		t.Errorf("%d bytes, …%q", len(tail), tail[len(tail)-20:])
	}
	if lines := strings.Split(p.lastLines(), "\n"); len(lines) != 20 || lines[19] != "end" {
		t.Errorf("%q", lines)
	}
}
