package hottest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recording is what Heat has answered to the questions of a test, by their digests. A nil one has
// nothing and keeps nothing.
type recording struct {
	file    string // testdata/heat/TEST.json of the package under test
	answers map[string]json.RawMessage
}

// updating reports whether Heat is asked again: by the flag -update of the package under test.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func openRecording(t testing.TB) *recording {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	r := &recording{filepath.Join("testdata", "heat", test+".json"), map[string]json.RawMessage{}}
	if updating() {
		t.Cleanup(func() { r.save(t) })
		return r
	}
	text, err := os.ReadFile(r.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		t.Fatal(err)
	default:
		if err := json.Unmarshal(text, &r.answers); err != nil {
			t.Fatalf("%s: %v", r.file, err)
		}
	}
	return r
}

func digest(question []byte) string {
	sum := sha256.Sum256(question)
	return hex.EncodeToString(sum[:8])
}

func (r *recording) answer(question []byte) (json.RawMessage, bool) {
	if r == nil || updating() {
		return nil, false
	}
	a, known := r.answers[digest(question)]
	return a, known
}

func (r *recording) note(question []byte, answer json.RawMessage) {
	if r != nil {
		r.answers[digest(question)] = answer
	}
}

// save writes an answer to a line, so that a change of one is a change of a line.
func (r *recording) save(t testing.TB) {
	t.Helper()
	lines := make([]string, 0, len(r.answers))
	for _, key := range slices.Sorted(maps.Keys(r.answers)) {
		lines = append(lines, `"`+key+`": `+string(r.answers[key]))
	}
	if err := os.MkdirAll(filepath.Dir(r.file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file, []byte("{\n"+strings.Join(lines, ",\n")+"\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}
