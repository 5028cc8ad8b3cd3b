// Package docstest reads pages of the documentation as a reader follows them: it saves the
// files that they say to save, types the commands that they show, and compares what is
// printed with what the page says.
package docstest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Page is a page's text as blocks of code with what stands before each.
type Page struct {
	Name   string
	Blocks []Block
}

// Block is a fenced or indented block of code.
type Block struct {
	Line int    // of its first line of text
	Info string // what stands behind its fence: "console", "yaml"; "" where it is indented
	Text string
	File string // the name under which the page says to save it
	Why  string // why nobody runs it: <!-- not run: … --> above it
}

// Step is a file to be saved, or a command with what it prints.
type Step struct {
	Line           int
	File, Text     string
	Command, Shows string
	Cloud          bool // the command needs a cloud: it stands in a block "console cloud"
}

var (
	fence    = regexp.MustCompile("^ *```(.*)$")
	saved    = regexp.MustCompile("`([^`\\s]+)`:\\s*$")
	unrun    = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
	comments = regexp.MustCompile(`^<!--.*-->$`)
)

// Read reads a page.
func Read(path string) (Page, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Page{}, err
	}
	p := Page{Name: path}
	before, why := "", "" // the last line of text, and the mark below it
	var open *Block
	for i, line := range strings.Split(string(text), "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open != nil && found != nil:
			p.Blocks, open, before, why = append(p.Blocks, *open), nil, "", ""
		case open != nil:
			open.Text += line + "\n"
		case found != nil:
			open = &Block{Line: i + 2, Info: found[1], Why: why}
			if name := saved.FindStringSubmatch(before); name != nil {
				open.File = name[1]
			}
		case strings.HasPrefix(line, "    $ "):
			p.Blocks = append(p.Blocks, Block{Line: i + 1, Text: line[4:] + "\n", Why: why})
		case unrun.MatchString(line):
			why = unrun.FindStringSubmatch(line)[1]
		case strings.TrimSpace(line) != "" && !comments.MatchString(line):
			before, why = line, ""
		}
	}
	return p, nil
}

// Steps are what the page's reader does, in order.
func (p Page) Steps() (steps []Step) {
	for _, b := range p.Blocks {
		switch {
		case b.Why != "":
		case b.File != "":
			steps = append(steps, Step{Line: b.Line, File: b.File, Text: b.Text})
		case b.Info == "console" || b.Info == "console cloud":
			line := b.Line
			for _, command := range strings.Split("\n"+b.Text, "\n$ ")[1:] {
				s := Step{Line: line, Cloud: b.Info != "console"}
				s.Command, s.Shows, _ = strings.Cut(command, "\n")
				for strings.HasSuffix(s.Command, "\\") {
					more, rest, _ := strings.Cut(s.Shows, "\n")
					s.Command, s.Shows = s.Command+"\n"+more, rest
				}
				line += strings.Count(command, "\n") + 1
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// InCloud says whether a step of the page needs a cloud.
func (p Page) InCloud() bool {
	for _, s := range p.Steps() {
		if s.Cloud {
			return true
		}
	}
	return false
}

// Follow does what the page says, in a folder of its own: all of it in a cloud, else what
// needs none. The environment is added to the test's own.
func (p Page) Follow(t *testing.T, cloud bool, env ...string) {
	t.Helper()
	sh := newShell(t, env)
	for _, s := range p.Steps() {
		switch {
		case s.File != "":
			sh.save(s.File, s.Text)
		case cloud || !s.Cloud:
			out := sh.run(s.Command)
			t.Logf("$ %s\n%s", s.Command, out)
			if !Shows(s.Shows, out) {
				t.Errorf("%s:%d: $ %s\nprints\n%s\nand not\n%s", p.Name, s.Line, s.Command, out, s.Shows)
			}
		}
	}
}
