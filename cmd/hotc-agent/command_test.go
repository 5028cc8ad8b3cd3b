package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCallsOfTheProgram(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("HOTC_SOCKET", "")
	for _, c := range []struct {
		args   []string
		status int
		prints string
	}{
		{nil, exitUsage, "usage: hotc-agent COMMAND"},
		{[]string{"--help"}, exitOK, "usage: hotc-agent COMMAND"},
		{[]string{"serve"}, exitUsage, `unknown command "serve"`},
		{[]string{"version"}, exitOK, "hotc-agent " + version + "\n"},
		{[]string{"version", "x"}, exitUsage, "wrong number of arguments: 1 instead of 0"},
		{[]string{"get"}, exitUsage, "wrong number of arguments: 0 instead of 1"},
		{[]string{"get", "--help"}, exitOK, "Nothing is added"},
		{[]string{"get", "--loud", "x"}, exitUsage, "flag provided but not defined: -loud"},
		{[]string{"put", "x", "--json", "--raw=false"}, exitError, "only inside a role"},
		{[]string{"put", "--json", "--", "--x"}, exitError, "only inside a role"},
		{[]string{"run", "--help"}, exitOK, "  --boot FILE\n      boot FILE, written by user-data (default /etc/hotc/boot.json)\n"},
		{[]string{"get", "x"}, exitError, "only inside a role"},
		{[]string{"put", "url", "hush"}, exitUsage, "the value comes from standard input: printf %s VALUE | hotc-agent put url"},
		{[]string{"put", "x"}, exitError, "only inside a role"},
		{[]string{"run", "--boot", filepath.Join(folder, "none")}, exitError, "read the boot file"},
		{[]string{"run", "--boot", write("text", "hush")}, exitError, "is not valid JSON of a boot file"},
		{[]string{"run", "--boot", write("empty", "{}")}, exitError, "has no "},
		{[]string{"run", "--instance-id", "i", "--state", folder, "--boot",
			write("new", `{"format":2,"deployment":"d","server":"s","coordinator":"unix:///x","token":"hush"}`)}, exitError, "format 2"},
	} {
		var out bytes.Buffer
		status := run(t.Context(), c.args, streams{strings.NewReader(""), &out, &out})
		if status != c.status || !strings.Contains(out.String(), c.prints) || strings.Contains(out.String(), "hush") {
			t.Errorf("%q: status %d, want %d, and\n%s\nwant %q", c.args, status, c.status, &out, c.prints)
		}
	}
}
