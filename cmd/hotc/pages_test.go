package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/seedtest"
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
			if filepath.Base(file) == "ansible-puppet-salt.md" {
				seedtest.SkipShort(t)
			}
			page.Follow(t, false, programs, "XDG_STATE_HOME="+t.TempDir(), "HOTC_COORDINATOR=", "HOTC_SECRET_FILE=")
		})
	}
}

// The jobs for CI that pages show are YAML, and type commands and flags that hotc has.
func TestJobsOnPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/howto/*.md")
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, file := range pages {
		page, err := docstest.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range page.Blocks {
			if b.Info != "yaml" || b.File != "" || !strings.Contains(b.Text, "hotc ") {
				continue
			}
			var job yaml.Node
			if err := yaml.Unmarshal([]byte(b.Text), &job); err != nil {
				t.Errorf("%s:%d: %v", file, b.Line, err)
				continue
			}
			for _, line := range scalarsOf(&job) {
				command, is := strings.CutPrefix(line, "hotc ")
				if !is {
					continue
				}
				typed++
				command, _, _ = strings.Cut(command, ">")
				cmd, args, err := newRootCommand(streams{out: io.Discard, err: io.Discard}).Find(strings.Fields(command))
				if err == nil {
					err = cmd.ParseFlags(args)
				}
				if err != nil || cmd.Name() == "hotc" {
					t.Errorf("%s:%d: %s: %v", file, b.Line, line, err)
				}
			}
		}
	}
	if typed < 8 {
		t.Errorf("only %d commands were found", typed)
	}
}

// scalarsOf are the lines of all scalars below a node.
func scalarsOf(n *yaml.Node) (lines []string) {
	if n.Kind == yaml.ScalarNode {
		return strings.Split(n.Value, "\n")
	}
	for _, below := range n.Content {
		lines = append(lines, scalarsOf(below)...)
	}
	return lines
}
