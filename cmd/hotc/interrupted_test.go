package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A command that compiles waits for the compiler only as long as it is not interrupted.
func TestCompilingIsInterrupted(t *testing.T) {
	template := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(template, []byte("heat_template_version: 2018-08-31\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"compile", template, "-o", t.TempDir() + "/out"}, {"explain", template}, {"graph", template}, {"simulate", template}, {"run", template}, {"up", template, "--stack", "s"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		var out strings.Builder
		if status := run(ctx, args, streams{in: strings.NewReader(""), out: &out, err: &out}); status != exitError || out.String() != "hotc: interrupted\n" {
			t.Errorf("%s ends with %d: %s", args[0], status, out.String())
		}
	}
}
