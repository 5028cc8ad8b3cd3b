//go:build e2e

package bed_test

import (
	"os"
	"path/filepath"
	"testing"
)

// By `hotc up`, a parameter moves from Heat to -P and back, and a hidden one from Heat to
// --secret-param and back: nothing runs where the value is the same, and the role once where it is
// another.
func TestUpMovesParameters(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.removed("moves")
	secret := func(value string) string {
		file := filepath.Join(t.TempDir(), "token")
		do(t, os.WriteFile(file, []byte(value+"\n"), 0o600))
		return "token=" + file
	}
	count := "run 1 first\n"
	o.expect(0, up("testdata/moves.yaml", "moves"), "CREATE_COMPLETE")
	web, err := place.bed.Server(place.bed.Oracle.Find(t, "moves").Server(t, "web").ID)
	do(t, err)
	for _, step := range []struct {
		flags []string
		said  string
		ran   string
	}{
		{[]string{"-P", "level=1"}, "UPDATE_COMPLETE", ""},
		{[]string{"-P", "level=2"}, "web.app: input level changes (parameter level): it runs again", "update 2 first\n"},
		{nil, "web.app: input level changes (parameter level)", "update 1 first\n"},
		{[]string{"--secret-param", secret("first")}, "UPDATE_COMPLETE", ""},
		{[]string{"--secret-param", secret("second")}, "web.app: secret parameter token changes: it runs again", "update 1 second\n"},
		{[]string{"--secret-param", secret("second"), "-P", "level=3"}, "web.app: input level changes (parameter level): it runs again", "update 3 second\n"},
		{[]string{"--secret-param", secret("third"), "-P", "level=4"}, "web.app: input level and secret parameter token change (parameter level): it runs again", "update 4 third\n"},
		{[]string{"--secret-param", secret("fourth")}, "web.app: input level", "update 1 fourth\n"},
	} {
		count += step.ran
		o.expect(0, append(up("testdata/moves.yaml", "moves", "--yes"), step.flags...), step.said, "UPDATE_COMPLETE")
		expectFile(t, web, "var/lib/count", count)
	}
	// Its server's user-data is as old as the server: what Heat has now, nobody can bring there.
	o.expect(1, up("testdata/moves.yaml", "moves", "--yes"), "values from Heat added")
	expectFile(t, web, "var/lib/count", count)
	if now := place.bed.Oracle.Find(t, "moves").Server(t, "web").ID; now != web.ID {
		t.Error("web was replaced")
	}
}

// The same by the separate commands, with a relay, and by plain updates of the stack.
func TestPlainUpdatesMoveParameters(t *testing.T) {
	t.Parallel()
	d := relayed(t, "testdata/moves.yaml", "plainmoves")
	d.relay()
	d.ends("CREATE_COMPLETE")
	web := d.machine("web", nil)
	count := "run 1 first\n"
	for _, step := range []struct {
		flags []string // of the compiler
		level string   // that Heat is given
		ran   string
	}{
		{[]string{"-P", "level=1"}, "", ""},
		{[]string{"-P", "level=2"}, "", "update 2 first\n"},
		{nil, "2", ""},
		{nil, "3", "update 3 first\n"},
		{[]string{"-P", "level=4"}, "", "update 4 first\n"},
		{nil, "5", "update 5 first\n"},
	} {
		count += step.ran
		d.dir = d.compile("testdata/moves.yaml", append(step.flags, "--signal=relay")...)
		d.apply()
		in := d.with()
		if step.level != "" {
			in = d.with("level", step.level)
		}
		d.stack.Update(t, in)
		d.ends("UPDATE_COMPLETE")
		expectFile(t, web, "var/lib/count", count)
	}
	if now := d.machine("web", nil); now.ID != web.ID {
		t.Error("web was replaced")
	}
}
