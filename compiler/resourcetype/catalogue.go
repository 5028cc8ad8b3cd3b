package resourcetype

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
)

// Catalogue is the resource types of a cloud: those of a release of Heat, and its own.
// The nil one has those of Debian's Heat.
type Catalogue struct {
	release *release
	named   bool // the user named the release
	own     map[string]*Type
}

// Of is the catalogue of a release of Heat by its name, series or number: zed, 2023.1,
// 19, 19.0.0; false if unknown.
func Of(name string) (*Catalogue, bool) {
	r := find(name)
	return &Catalogue{release: r, named: true}, r != nil
}

// With adds a cloud's own types, which override Heat's.
func (c *Catalogue) With(own []*Type) *Catalogue {
	out := &Catalogue{release: c.heat(), named: c.Named(), own: map[string]*Type{}}
	if c != nil {
		maps.Copy(out.own, c.own)
	}
	for _, t := range own {
		out.own[t.Name] = t.beside(out.release.lookup(t.Name))
	}
	return out
}

func (c *Catalogue) heat() *release {
	if c == nil || c.release == nil {
		return all()[debian]
	}
	return c.release
}

// Named reports whether the user named the cloud's release of Heat.
func (c *Catalogue) Named() bool { return c != nil && c.named }

// Lookup finds a type; nil if unknown. One that Heat's default environment renames is the other.
func (c *Catalogue) Lookup(name string) *Type {
	if c != nil && c.own[name] != nil {
		return c.own[name]
	}
	if t := c.heat().lookup(name); t != nil {
		return t
	}
	if other := renamed(name); other != "" {
		return c.heat().lookup(other)
	}
	return nil
}

// Names are the names of all types, sorted.
func (c *Catalogue) Names() []string {
	names := c.heat().names()
	if c != nil && len(c.own) > 0 {
		names = slices.AppendSeq(names, maps.Keys(c.own))
		slices.Sort(names)
		names = slices.Compact(names)
	}
	return names
}

// DoesNothing reports whether Heat accepts a type but creates nothing: most of these are kept
// for old stacks.
func (c *Catalogue) DoesNothing(name string) bool {
	return slices.Contains(c.heat().table().Nothing, name)
}

// Release is the release of Heat for messages: 19.0.0, or 10.0.3 (queens).
func (c *Catalogue) Release() string {
	r := c.heat()
	if !c.Named() {
		return r.table().Heat
	}
	return fmt.Sprintf("%s (%s)", r.table().Heat, r.name)
}

// Newest is the newest version of HOT that the release reads.
func (c *Catalogue) Newest() hot.Version {
	v, _ := hot.ParseVersion(c.heat().table().HOT)
	return v
}

// Before reports whether the release is older than one, by its major number.
func (c *Catalogue) Before(number int) bool { return c.heat().number < number }

// Says is the source of a type's definition: "Heat 19.0.0", or a file.
func (c *Catalogue) Says(t *Type) string {
	if t.Own != "" {
		return t.Own
	}
	return "Heat " + c.Release()
}

// Releases are the names of the known releases, oldest first.
func Releases() string {
	names := lists.Map(all(), func(r *release) string { return r.name })
	return strings.Join(names, ", ")
}
