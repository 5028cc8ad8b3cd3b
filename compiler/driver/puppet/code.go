package puppet

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
)

// code is the code of a Puppet run that is beside the template. It is not parsed: what
// matters is whether a name appears anywhere in it, and whether any names are computed.
type code struct {
	mentions driver.Mentions
	some     bool // not empty
	// elsewhere is set if the server fetches a part of it, computed if names are computed,
	// generates if resources of a computed type are declared.
	elsewhere, computed, generates bool
	classes                        map[string]bool // defined ones, in lower case
}

func (c *code) add(name, text string) {
	c.some = true
	c.mentions.Add(name)
	c.mentions.Add(text)
	c.see(name, text)
}

type codeKey struct{}

// addTree adds a folder; nil is one that cannot be read. What is found in it is shared by
// all roles with the folder.
func (l *lowering) addTree(folder fs.FS, name string) {
	c := &l.code
	c.some = true
	if folder == nil {
		c.elsewhere = true
		return
	}
	of := driver.OnceBeside(l.Role, name, codeKey{}, func() *code {
		of := &code{}
		of.elsewhere = of.mentions.AddTree(folder, of.see) != nil || of.elsewhere
		return of
	})
	c.mentions.Join(&of.mentions)
	c.elsewhere, c.computed, c.generates = c.elsewhere || of.elsewhere, c.computed || of.computed, c.generates || of.generates
	for name := range of.classes {
		c.defines(name)
	}
}

func (c *code) defines(class string) {
	if c.classes == nil {
		c.classes = map[string]bool{}
	}
	c.classes[class] = true
}

var (
	// A look-up by name, and what follows if the name is literal.
	lookUp  = regexp.MustCompile(`\b(?:lookup|hiera|hiera_array|hiera_hash|hiera_include|getvar)\b`)
	literal = regexp.MustCompile(`^(?:\s+|\s*\(\s*)(?:'[^']*'|"[^"$%]*")`)
	// All facts, and what follows if a single one is named.
	facts       = regexp.MustCompile(`\$(?:::)?facts\b`)
	oneFact     = regexp.MustCompile(`^(?:\s*\[\s*|\.(?:dig|get)\s*\(\s*)(?:'[^']*'|"[^"$]*")`)
	factsOfData = regexp.MustCompile(`%\{\s*(?:::)?facts\s*\}`)
	// Ruby's accesses to variables by computed names, and its look-ups.
	byRuby = regexp.MustCompile(`scope|call_function|newfunction|lookup|hiera|setvar|to_hash|binding|instance_variable|\beval|\b(?:public_)?send\b|all_vars|has_variable`)
	// A path on the server, in a configuration of where data are read from.
	absolute = regexp.MustCompile(`(?m)(?:^|[\s:="'])/[A-Za-z]`)

	// Resources whose type is computed.
	anyType = regexp.MustCompile(`create_resources|ensure_\w+|\bResource\s*\[`)

	classDefinition = regexp.MustCompile(`(?i)\bclass\s+(?:::)?([a-z][\w:]*)`)
)

// see reads one file.
func (c *code) see(name, text string) {
	switch ending := path.Ext(name); {
	case path.Base(name) == "environment.conf", path.Base(name) == "hiera.yaml":
		c.elsewhere = c.elsewhere || absolute.MatchString(text)
	case ending == ".rb", ending == ".erb":
		c.computed = c.computed || byRuby.MatchString(text)
		c.generates = c.generates || ending == ".rb"
		return
	case strings.Contains(text, "inline_template"):
		c.computed = c.computed || byRuby.MatchString(text)
	}
	for _, at := range lookUp.FindAllStringIndex(text, -1) {
		c.computed = c.computed || !literal.MatchString(text[at[1]:])
	}
	for _, at := range facts.FindAllStringIndex(text, -1) {
		c.computed = c.computed || !oneFact.MatchString(text[at[1]:])
	}
	c.computed = c.computed || factsOfData.MatchString(text)
	c.generates = c.generates || anyType.MatchString(text)
	for _, m := range classDefinition.FindAllStringSubmatch(text, -1) {
		c.defines(strings.ToLower(m[1]))
	}
}

// unused returns the inputs that nothing reads and the outputs that nothing writes, with
// the name that may have been meant. Only certain ones are reported: code on the server and
// computed names hide them.
func (l *lowering) unused() (unread, unwritten map[string]string) {
	unread, unwritten = map[string]string{}, map[string]string{}
	c := &l.code
	if c.elsewhere || !c.some {
		return unread, unwritten
	}
	for _, in := range l.Role.Inputs {
		if last := lastPart(in.Name); !c.computed && !c.mentions.Has(last) && !slices.Contains(l.Starts, in.Name) {
			unread[in.Name] = c.mentions.Near(last)
		}
	}
	for _, o := range l.Role.Outputs {
		switch kind, name := outputOf(o); kind {
		case "variable":
			if last := lastPart(name); !c.computed && !c.mentions.Has(last) {
				unwritten[o.Name] = c.mentions.Near(last)
			}
		case "resource":
			if !c.declares(name) {
				unwritten[o.Name] = ""
			}
		}
	}
	return unread, unwritten
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// ofItself are types of resources that Puppet, or another resource, adds to a catalog
// by itself.
var ofItself = map[string]bool{"file": true, "stage": true, "schedule": true, "filebucket": true, "notify": true}

// declares reports whether a resource may be in a catalog: its class is defined, or its
// type is mentioned.
func (c *code) declares(reference string) bool {
	kind, title, _ := strings.Cut(strings.ToLower(strings.TrimSuffix(reference, "]")), "[")
	if kind == "class" {
		title = strings.TrimPrefix(title, "::")
		return title == "main" || title == "settings" || c.classes[title]
	}
	return ofItself[kind] || c.generates || c.mentions.Has(kind)
}
