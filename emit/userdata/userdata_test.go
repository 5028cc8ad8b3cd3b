package userdata

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// options are those of all tests: an agent for two architectures.
var options = Options{AgentDigests: map[Arch]string{
	"arm64": strings.Repeat("b0", 32),
	"amd64": strings.Repeat("a0", 32),
}}

func file(t *testing.T, own Own, o Options) string {
	t.Helper()
	text, err := File(own, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGolden(t *testing.T) {
	for _, own := range []Own{NoOwn, Text, Quoted, Archive, CfnTools} {
		golden(t, filepath.Join("testdata", own.String()+".golden"), file(t, own, options))
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at the difference that `go test -update` makes\n%s", path, got)
	}
}

// Each server carries the file, and Nova takes 48 KiB: a quarter of it is enough, with what
// fetches the agent from the coordinator.
func TestSmall(t *testing.T) {
	if size := len(file(t, Quoted, options)); size > 12_000 {
		t.Errorf("%d bytes", size)
	}
}

// However many servers boot at once, ten of them a second fetch the agent from the coordinator.
func TestFetchesAreSpread(t *testing.T) {
	for servers, seconds := range map[int]string{1: "0", 9: "0", 40: "4", 1000: "100"} {
		o := options
		o.Servers = servers
		if !strings.Contains(file(t, NoOwn, o), "${HOTC_SPREAD:-"+seconds+"}") {
			t.Errorf("%d servers do not spread their fetches over %s s", servers, seconds)
		}
	}
}

// Heat replaces every occurrence of a key, and its client looks into the file for
// a template's keys.
func TestEachKeyOnce(t *testing.T) {
	for _, own := range []Own{NoOwn, Text, Quoted, Archive, CfnTools} {
		text := file(t, own, options)
		for key, want := range map[string]int{BootKey: 1, AgentURLKey: 1, UserKey: 1} {
			if own == NoOwn && key == UserKey {
				want = 0
			}
			if got := strings.Count(text, key); got != want {
				t.Errorf("%s: %s %d times", own, key, got)
			}
		}
		for i, c := range text {
			if c >= 0x80 || c == '\r' {
				t.Fatalf("%s: byte %d is %q", own, i, c)
			}
		}
	}
}

func TestBadDigests(t *testing.T) {
	for arch, digest := range map[Arch]string{"amd64": "1234", "arm64": strings.Repeat("z", 64), "*": strings.Repeat("0", 64)} {
		if _, err := File(NoOwn, Options{AgentDigests: map[Arch]string{arch: digest}}); err == nil {
			t.Errorf("%s %s was taken", arch, digest)
		}
	}
}

func TestOwnOf(t *testing.T) {
	for text, want := range map[string]Own{
		"":                           Text,
		"#!/bin/sh\necho a=b\n":      Text,
		"#cloud-config\n# ö\n":       Quoted,
		"#!/bin/sh\nmail: x\n":       Text,
		"\n#!/bin/sh\n":              Text,
		"#!/bin/sh\nMIME-Version: 1": Text,
		"Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n": Archive,
		"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\nö":    Archive,
	} {
		if got, err := OwnOf(text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	if _, err := OwnOf("a\n--" + Boundary + "\n"); err == nil {
		t.Error("the boundary was taken")
	}
}

func TestQuotes(t *testing.T) {
	want := []Quote{{"=", "=3D"}, {"é", "=C3=A9"}, {"😀", "=F0=9F=98=80"}}
	got := Quotes("😀 é=é")
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
}

func TestLimits(t *testing.T) {
	const RawLimit = Base64Limit / 4 * 3
	if RawLimit != 49149 || Base64Size(RawLimit) > Base64Limit || Base64Size(RawLimit+1) <= Base64Limit {
		t.Errorf("limit %d", RawLimit)
	}
}
