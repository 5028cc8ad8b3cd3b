package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every key that a command prints is described in docs/json.md.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no expected outputs: %v", err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for d := json.NewDecoder(f); ; {
			var v any
			if err := d.Decode(&v); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, key := range keysOf(v) {
				if !strings.Contains(string(page), "`"+key+"`") && !strings.Contains(string(page), "."+key+"`") && !strings.Contains(string(page), `"`+key+`"`) {
					t.Errorf("%s: docs/json.md says nothing of %q", file, key)
				}
			}
		}
	}
}

func keysOf(v any) []string {
	var keys []string
	switch v := v.(type) {
	case map[string]any:
		for k, w := range v {
			keys = append(append(keys, k), keysOf(w)...)
		}
	case []any:
		for _, w := range v {
			keys = append(keys, keysOf(w)...)
		}
	}
	return keys
}
