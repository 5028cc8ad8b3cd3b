package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/terminal"
)

// What a plug-in says of a source, or of its failure, does not steer the terminal of whoever
// tries it.
func TestAPlugInsWordsDoNotSteerTheTerminal(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "hotc-driver-rude")
	const rude = `#!/bin/sh
printf '\033]0;title\007 on standard error\n' >&2
case $1 in
compile) printf '{"protocol":1,"errors":[{"message":"no \\u001b[2J\\u202e source"}]}\n' ;;
*) printf '{"protocol":1}\n{"failed":"out of \\u001b[31m\\u009b paint"}\n' ;;
esac
`
	source := filepath.Join(folder, "source.json")
	for name, text := range map[string]string{path: rude, source: `{}`} {
		if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var out, err bytes.Buffer
	console := terminal.NewWriter(&err, "") // as main has it
	if status := run(t.Context(), []string{"check-driver", path, "--source", source}, streams{strings.NewReader(""), &out, console}); status != exitError {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{`it rejects the source: no \u001b[2J\u202e source`, `out of \u001b[31m\u009b paint`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%q", want, out.String())
		}
	}
	if text := out.String() + err.String(); strings.ContainsFunc(text, terminal.Steers) || !strings.Contains(text, "on standard error") {
		t.Errorf("%q", text)
	}
}
