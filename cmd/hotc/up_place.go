package main

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// placeOf is where a resource of a name stands: in the root template, or in the only one that
// has it; else nowhere.
func placeOf(r *emit.Result, name string) source.Place {
	root := r.Program.Template
	if x := root.Resource(name); x != nil {
		return root.Place(x.Entry.Key)
	}
	var at source.Place
	found := 0
	for _, t := range r.Templates {
		if t == nil || t == root {
			continue
		}
		if x := t.Resource(name); x != nil {
			at = t.Place(x.Entry.Key)
			found++
		}
	}
	if found != 1 {
		return source.Place{}
	}
	return at
}

// placeNamed is where the resource stands that Heat names in what it says, as in
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
