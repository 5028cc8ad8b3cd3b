package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

func TestSecretNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.secret")
	if _, err := call(t, newSecretCommand, "new", file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := protocol.ParseSecret(string(text)); err != nil {
		t.Errorf("what it wrote: %v", err)
	}
	environment, err := os.ReadFile(file + ".env.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^#.*\nparameters:\n  hotc_secret: "` + string(text) + `"\n$`)
	if !want.Match(environment) {
		t.Errorf("the environment does not hold the secret as a string")
	}
	for _, f := range []string{file, file + ".env.yaml"} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %v (%v)", f, info.Mode(), err)
		}
	}
}

// A file that is there is never touched, whichever of the two it is.
func TestSecretNewOverwritesNothing(t *testing.T) {
	for _, there := range []string{"site.secret", "site.secret.env.yaml"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, there), []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := call(t, newSecretCommand, "new", filepath.Join(dir, "site.secret"))
		expectCode(t, err, source.BadSecret, there)
		if text, _ := os.ReadFile(filepath.Join(dir, there)); string(text) != "precious" {
			t.Errorf("%s was overwritten", there)
		}
		if files, _ := os.ReadDir(dir); len(files) != 1 {
			t.Errorf("half of a secret was left: %v", files)
		}
	}
}

func TestSecretNewInNoFolder(t *testing.T) {
	_, err := call(t, newSecretCommand, "new", filepath.Join(t.TempDir(), "none", "secret"))
	expectCode(t, err, source.BadSecret, "no such file")
}
