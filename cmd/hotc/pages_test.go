package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hotc-dev/hotc/docs/docstest"
)

// Who follows the tutorial or a how-to page sees what it shows. What needs a cloud is
// followed in emit/heat/bed.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/howto/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal("no pages", err)
	}
	programs := "PATH=" + filepath.Dir(binary(t, "hotc-agent")) + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, file := range append(pages, "../../docs/tutorial.md") {
		page, err := docstest.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			page.Follow(t, false, programs, "XDG_STATE_HOME="+t.TempDir(), "HOTC_COORDINATOR=", "HOTC_SECRET_FILE=")
		})
	}
}
