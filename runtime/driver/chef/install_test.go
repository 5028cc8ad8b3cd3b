package chef_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver/chef"
	"github.com/hotc-dev/hotc/runtime/install"
)

// bare is a server without Chef: only what a test puts there is on PATH.
func bare(t *testing.T) (i *install.Installer, bin string) {
	t.Helper()
	bin = t.TempDir()
	for _, program := range []string{"sh", "ruby", "cat", "chmod"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Skipf("SKIPPED: no %s on PATH", program)
		}
		if err := os.Symlink(path, filepath.Join(bin, program)); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return &install.Installer{Folder: t.TempDir(), Environment: []string{"PATH=" + bin, "HOME=" + t.TempDir()}, Log: log}, bin
}

// runs says that an installed Chef runs a recipe.
func runs(t *testing.T, program string) {
	t.Helper()
	newBed(t, program, web, recipe("log 'x'")).mustRun()
}

// A package of Cinc or Chef comes from a URL, and is used if its version fits.
func TestChefFromAURL(t *testing.T) {
	solo, err := os.ReadFile(standIn(t))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := w.WriteHeader(&tar.Header{Name: "bin/chef-solo", Mode: 0o755, Size: int64(len(solo))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(solo); err != nil {
		t.Fatal(err)
	}
	w.Close()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Write(packed.Bytes())
	}))
	defer s.Close()
	sum := sha256.Sum256(packed.Bytes())
	want := contract.Install{From: "url", URL: s.URL + "/cinc.tar", SHA256: hex.EncodeToString(sum[:]), Version: "18"}
	i, _ := bare(t)
	for range 2 {
		program, err := i.Ensure(t.Context(), chef.Driver{}.Tool(), want)
		if err != nil {
			t.Fatal(err)
		}
		runs(t, program)
	}
	if asked != 1 {
		t.Errorf("it was fetched %d times", asked)
	}
	if _, err := i.Ensure(t.Context(), chef.Driver{}.Tool(), contract.Install{From: "none", Version: ">=19"}); err == nil || !strings.Contains(err.Error(), "has version 18.0.0, but >=19 is required") {
		t.Error(err)
	}
}

// The gem is installed on the distribution's Ruby, in the version that needs no
// entitlement, when its licence is accepted.
func TestChefAsAGem(t *testing.T) {
	i, bin := bare(t)
	tool := chef.Driver{}.Tool()
	if _, err := i.Ensure(t.Context(), tool, contract.Install{}); err == nil || !strings.Contains(err.Error(), "accept Chef's licence for the gem") {
		t.Error(err)
	}
	// a gem command that puts the stand-in where RubyGems would put Chef
	solo, err := os.ReadFile(standIn(t))
	if err != nil {
		t.Fatal(err)
	}
	gem := fmt.Sprintf("#!/bin/sh\necho \"$*\" >%[1]s/said\ncat >%[1]s/chef-solo <<'END'\n%[2]sEND\nchmod 755 %[1]s/chef-solo\n", bin, solo)
	if err := os.WriteFile(filepath.Join(bin, "gem"), []byte(gem), 0o700); err != nil {
		t.Fatal(err)
	}
	tool.GemNeeds = nil // no package manager here
	program, err := i.Ensure(t.Context(), tool, contract.Install{Licence: "accept"})
	if err != nil {
		t.Fatal(err)
	}
	runs(t, program)
	if said, err := os.ReadFile(filepath.Join(bin, "said")); err != nil || string(said) != "install chef-bin --no-document --conservative --version ~> 18.0\n" {
		t.Errorf("%s, %v", said, err)
	}
}
