package chef

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/chef/ruby"
	"github.com/hotc-dev/hotc/compiler/hot"
)

// code is all that a run of Chef is made of, which lies beside the template: whether or
// not the run list comes to it.
type code struct {
	mentions driver.Mentions
	events   []ruby.Event
	// computed says that the node is got at by ways that are not looked into.
	computed bool
}

// Ways to the node that the scanner does not follow, and those of attribute files, which
// are the node's own.
var (
	otherWays = regexp.MustCompile(`(?:\.|::)node\b|Chef::Node\b|instance_variable_get|consume_attributes|apply_expansion_attributes|merge_attributes|` +
		`node\.(?:force_)?(?:default|normal|override|automatic)\b\s*(?:[^\[.\s=]|$)`)
	ownWays = regexp.MustCompile(`\bself\b|\bread\b|\bfetch\b|\bdig\b`)
)

func (c *code) see(name, text string) {
	var events []ruby.Event
	ok := true
	switch {
	case path.Ext(name) == ".erb":
		events, ok = ruby.Template(text)
	case path.Ext(name) != ".rb":
		return
	case strings.Contains("/"+name, "/attributes/"):
		events, ok = ruby.Attributes(text)
		c.computed = c.computed || ownWays.MatchString(text)
	default:
		events, ok = ruby.Library(text)
	}
	c.events = append(c.events, events...)
	c.computed = c.computed || !ok || otherWays.MatchString(text)
}

type codeKey struct{}

// codeOf is the code of a tree, which all roles have that have the tree; nil if it
// cannot be read.
func (l *lowering) codeOf(t tree) *code {
	return driver.OnceBeside(l.role, t.name, codeKey{}, func() *code {
		c := &code{}
		if c.mentions.AddTree(t, c.see) != nil {
			return nil
		}
		return c
	})
}

// unused are the inputs that no file of the cookbooks reads and the outputs that none
// writes, with the key that may have been meant. One is among them only if a key of its
// place stands in no file at all, and nobody reads, or writes, the whole of what is
// around it.
func (l *lowering) unused() (unread, unwritten map[string]string) {
	unread, unwritten = map[string]string{}, map[string]string{}
	if !l.holds.allTrees {
		return unread, unwritten
	}
	c := &code{}
	for _, t := range l.holds.all {
		of := l.codeOf(t)
		if of == nil {
			return unread, unwritten
		}
		c.mentions.Join(&of.mentions)
		c.events, c.computed = append(c.events, of.events...), c.computed || of.computed
	}
	for _, key := range []string{"config", "attributes"} {
		if value, given := l.keys.Get(key); given {
			c.mentions.Add(string(hot.EncodeJSON(value)))
		}
	}
	if c.computed {
		return unread, unwritten
	}
	for _, in := range l.role.Inputs {
		at, _ := nodePath(in.Name)
		if key := c.missing(at); key != "" && !c.around(at, ruby.Read) {
			unread[in.Name] = c.mentions.Near(key)
		}
	}
	for _, o := range l.role.Outputs {
		at, _ := nodePath(o.Name)
		if o.Resource != "" || l.holds.cookbooks[at[0]] == nil || slices.Contains(ofOhai, at[0]) {
			continue
		}
		if key := c.missing(at); key != "" && !c.around(at, ruby.Write) {
			unwritten[o.Name] = c.mentions.Near(key)
		}
	}
	return unread, unwritten
}

// ofOhai are attributes that Ohai finds on a server (version 18), and that a cookbook
// may be called like.
var ofOhai = []string{"azure", "cloud", "cpu", "docker", "eucalyptus", "filesystem", "habitat", "hostname", "kernel", "languages", "lsb", "mdadm",
	"memory", "network", "openstack", "packages", "platform", "rackspace", "rpm", "selinux", "sessions", "shells", "sysctl", "time", "virtualbox",
	"virtualization", "vmware", "zpools"}

// missing is a key of a place that stands nowhere; "" if there is none.
func (c *code) missing(at []string) string {
	for _, key := range at {
		if !c.mentions.Has(key) {
			return key
		}
	}
	return ""
}

// around says whether something reads, or writes, a place or the whole of what is
// around it, or all of the node.
func (c *code) around(at []string, op ruby.Op) bool {
	return slices.ContainsFunc(c.events, func(e ruby.Event) bool {
		short := min(len(at), len(e.Path))
		return (e.Op == op || e.Op == ruby.Whole) && slices.Equal(at[:short], e.Path[:short])
	})
}
