package main

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// placeAt is the position of the last resource of a path that is in the user's templates: for
// one that hotc or Heat has created in a group, the group.
func placeAt(r *emit.Result, path []string) (at source.Place) {
	for s := r.Program.Root; s != nil && len(path) > 0; {
		x := s.Template.Resource(path[0])
		if x == nil {
			break
		}
		at = s.Template.Place(x.Entry.Key)
		n := s.StackResourceOf(path[0])
		if path = path[1:]; n == nil || n.Most() == 0 {
			break
		}
		m := n.First() // members of a group that scales are alike, whatever Heat calls them
		if n.Group() && len(path) > 0 {
			if named := n.Member(path[0]); named != nil {
				m = named
			}
			path = path[1:]
		}
		s = m.Stack
	}
	return at
}

// placeNamed is the position of the resource that Heat's message names, as in
// "resources.db.properties: …".
func placeNamed(r *emit.Result, said string) source.Place {
	var best *hot.Resource
	var in *hot.Template
	for _, t := range r.Templates {
		if t == nil {
			continue
		}
		for _, x := range t.Resources {
			at := strings.Index(said, "resources."+x.Name)
			if at < 0 || best != nil && (len(best.Name) > len(x.Name) || len(best.Name) == len(x.Name) && in == r.Program.Template) {
				continue
			}
			rest := said[at+len("resources."+x.Name):]
			if rest == "" || !strings.ContainsAny(rest[:1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") {
				best, in = x, t
			}
		}
	}
	if best == nil {
		return source.Place{}
	}
	return in.Place(best.Entry.Key)
}
