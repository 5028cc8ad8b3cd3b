//go:build e2e

package bed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/docs/docstest"
)

// Who follows the tutorial or a how-to page in a cloud sees what it shows. Each page has a
// ROOT and a state folder of its own.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/howto/*.md")
	do(t, err)
	followed := 0
	for _, file := range append(pages, "../../../docs/tutorial.md") {
		page, err := docstest.Read(file)
		do(t, err)
		if !page.InCloud() {
			continue
		}
		followed++
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			o := newOperator(t)
			page.Follow(t, true, append(o.env, "PATH="+place.programs+string(os.PathListSeparator)+os.Getenv("PATH"),
				"HOTC_COORDINATOR="+place.zk.URL("page-"+filepath.Base(file)))...)
		})
	}
	if followed < 5 {
		t.Errorf("only %d pages need a cloud", followed)
	}
}

// hotc-bed, as the tutorial has it tried, makes a bed of its own and boots the template.
func TestTry(t *testing.T) {
	t.Parallel()
	theBed(t)
	page, err := docstest.Read("../../../docs/tutorial.md")
	do(t, err)
	dir, err := os.MkdirTemp("/tmp", "try") // another bed has a /run of its own, in which this one's files are
	do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, s := range page.Steps() {
		if s.File != "" {
			do(t, os.WriteFile(filepath.Join(dir, s.File), []byte(s.Text), 0o644))
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", dir+string(filepath.Separator),
		"github.com/hotc-dev/hotc/cmd/hotc", "github.com/hotc-dev/hotc/cmd/hotc-agent", "github.com/hotc-dev/hotc/cmd/hotc-bed")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	try := exec.CommandContext(t.Context(), filepath.Join(dir, "hotc-bed"), "try", filepath.Join(dir, "blog.yaml"))
	try.Env = append(os.Environ(), "HOTC_BED=")
	out, err := try.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Stack CREATE completed successfully") || !strings.Contains(string(out), "http://www.example/") {
		t.Errorf("%v: %s", err, out)
	}
}
