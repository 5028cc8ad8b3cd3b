package chef

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef/ruby"
	"github.com/hotc-dev/hotc/compiler/value"
)

// code is the code of a Chef run that is beside the template: the cookbooks that its
// run list uses, and roles, data bags and environments.
type code struct {
	mentions driver.Mentions
	events   []ruby.Event
	// opaque is the first place that accesses the node in a way that is not analysed, if
	// any.
	opaque string
}

// Accesses to the node that the scanner does not follow, and those of attribute files,
// whose self is the node.
var (
	otherWays = regexp.MustCompile(`(?:\.|::)node\b|Chef::Node\b|instance_variable_get|consume_attributes|apply_expansion_attributes|merge_attributes|` +
		`node\.(?:force_)?(?:default|normal|override|automatic)\b\s*(?:[^\[.\s=]|$)`)
	ownWays = regexp.MustCompile(`\bself\b|\bread\b|\bfetch\b|\bdig\b`)
)

// see reads a file of a tree; at is the file's name beside the template.
func (c *code) see(at, name, text string) {
	scan, bare := ruby.Library, ruby.Code
	attributes := false
	switch {
	case path.Ext(name) == ".erb":
		scan, bare = ruby.Template, ruby.TemplateCode
	case path.Ext(name) != ".rb":
		return
	case strings.Contains("/"+name, "/attributes/"):
		scan, attributes = ruby.Attributes, true
	}
	events, ok := scan(text)
	c.events = append(c.events, events...)
	plain, closed := bare(text)
	if !ok || !closed {
		c.note(at + ": this file cannot be analysed")
	}
	for _, ways := range []*regexp.Regexp{otherWays, ownWays} {
		if i := ways.FindStringIndex(plain); i != nil && (attributes || ways == otherWays) {
			c.note(fmt.Sprintf("%s:%d: `%s` may read or write any key of the node", at, 1+strings.Count(plain[:i[0]], "\n"), strings.Join(strings.Fields(plain[i[0]:i[1]]), " ")))
		}
	}
}

func (c *code) note(elsewise string) {
	if c.opaque == "" {
		c.opaque = elsewise
	}
}

type codeKey struct{}

// codeOf returns the code of a tree, shared by all roles with the tree; nil if it cannot
// be read.
func (l *lowering) codeOf(t tree) *code {
	return driver.OnceBeside(l.Role, t.name, codeKey{}, func() *code {
		c := &code{}
		if c.mentions.AddTree(t, func(name, text string) { c.see(path.Join(t.name, name), name, text) }) != nil {
			return nil
		}
		return c
	})
}

// codeOfAll returns the code of all that the run list uses; elsewise is set if some of it
// cannot be analysed.
func (w *walker) codeOfAll() *code {
	c := &code{}
	if !w.holds.allTrees {
		c.note("not all that the source names is beside the template")
		return c
	}
	trees := slices.Clone(w.holds.data)
	for _, name := range w.holds.names {
		if w.seen[name] {
			trees = append(trees, w.holds.cookbooks[name].tree)
		}
	}
	for _, t := range trees {
		of := w.codeOf(t)
		if of == nil {
			c.note("not all files of " + t.name + " can be read")
			return c
		}
		c.mentions.Join(&of.mentions)
		c.events = append(c.events, of.events...)
		c.note(of.opaque)
	}
	for _, key := range []string{"config", "attributes"} {
		if val, given := w.keys.Get(key); given {
			c.mentions.Add(string(value.EncodeJSON(val)))
		}
	}
	return c
}

// unused returns the inputs that no file of the cookbooks reads and the outputs that none
// writes, with the key that may have been meant. One is reported only if a key of its
// place appears in no file, and nothing reads, or writes, an enclosing place as a whole.
// unchecked is why none of this is known; "" if it is.
func (w *walker) unused() (unread, unwritten map[string]string, unchecked string) {
	c := w.codeOfAll()
	if c.opaque != "" {
		return nil, nil, c.opaque
	}
	unread, unwritten = map[string]string{}, map[string]string{}
	for _, in := range w.Role.Inputs {
		at, _ := nodePath(in.Name)
		if key := c.missing(at); key != "" && !c.around(at, ruby.Read) {
			unread[in.Name] = c.mentions.Near(key)
		}
	}
	for _, o := range w.Role.Outputs {
		at, _ := nodePath(o.Name)
		if o.Resource != "" || w.holds.cookbooks[at[0]] == nil || slices.Contains(ofOhai, at[0]) {
			continue
		}
		if key := c.missing(at); key != "" && !c.around(at, ruby.Write) {
			unwritten[o.Name] = c.mentions.Near(key)
		}
	}
	return unread, unwritten, ""
}

// ofOhai are attributes that Ohai (version 18) sets on a server and that may also be the
// name of a cookbook.
var ofOhai = []string{"azure", "cloud", "cpu", "docker", "eucalyptus", "filesystem", "habitat", "hostname", "kernel", "languages", "lsb", "mdadm",
	"memory", "network", "openstack", "packages", "platform", "rackspace", "rpm", "selinux", "sessions", "shells", "sysctl", "time", "virtualbox",
	"virtualization", "vmware", "zpools"}

// missing returns a key of a place that appears nowhere; "" if all do.
func (c *code) missing(at []string) string {
	for _, key := range at {
		if !c.mentions.Has(key) {
			return key
		}
	}
	return ""
}

// around reports whether something reads, or writes, a place, an enclosing place as a
// whole, or all of the node.
func (c *code) around(at []string, op ruby.Op) bool {
	return slices.ContainsFunc(c.events, func(e ruby.Event) bool {
		short := min(len(at), len(e.Path))
		return (e.Op == op || e.Op == ruby.Whole) && slices.Equal(at[:short], e.Path[:short])
	})
}
