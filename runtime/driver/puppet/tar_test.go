package puppet_test

import (
	"testing"
	"testing/fstest"

	"github.com/hotc-dev/hotc/compiler/driver"
)

// tarOf is a folder as the compiler sends it.
func tarOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	folder := fstest.MapFS{}
	for name, text := range files {
		folder[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	data, err := driver.Archive(folder)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
