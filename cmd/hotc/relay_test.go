package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The key of a relay is written once, for its owner alone; what is not a key, or another
// stack's, is refused before anybody is asked.
func TestRelayKey(t *testing.T) {
	d := newDesk(t)
	t.Setenv(relayKeyVariable, "")
	file := filepath.Join(t.TempDir(), "key")
	if out, err := call(t, newRelayCommand, "key", file, "--stack", "site", "--secret-file", d.secret); err != nil || !strings.Contains(out, "--key-file") {
		t.Fatal(out, err)
	}
	if s, err := os.Stat(file); err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", s.Mode(), err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"exists and is not overwritten":    {"key", file, "--stack", "site", "--secret-file", d.secret},
		"is the key of site, not of other": {"--stack", "other", "--key-file", file},
		"it is not a relay key":            {"--key-file", none},
		"there is no file":                 {"--key-file", none + "2"},
		"which stack?":                     {"--secret-file", d.secret},
		"which secret?":                    {"--stack", "site", "--coordinator", d.url},
		"which coordinator?":               {"--key-file", file},
		"is not a valid stack name":        {"--stack", "a/b", "--secret-file", d.secret},
		"no cloud is selected":             {"--key-file", file, "--coordinator", d.url},
	} {
		t.Setenv("OS_CLOUD", "")
		t.Setenv("OS_AUTH_URL", "")
		if _, err := call(t, newRelayCommand, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
