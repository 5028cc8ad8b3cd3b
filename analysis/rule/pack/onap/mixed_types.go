package onap

import (
	"fmt"
	"regexp"

	"github.com/hotc-dev/hotc/analysis/rule"
)

// suffixes match the VM's type in the names of a server's parameters.
var suffixes = map[string]*regexp.Regexp{
	"image":  regexp.MustCompile(`^(.+)_image_name$`),
	"flavor": regexp.MustCompile(`^(.+)_flavor_name$`),
	"name":   regexp.MustCompile(`^(.+)_(?:name_\d+|names)$`),
}

// findMixedTypes is R-304011: names that follow the conventions, but with another VM type,
// or another index, than the server's name.
func findMixedTypes(l *rule.Checker) {
	for _, s := range servers(l) {
		if s.kind == "" {
			continue
		}
		for _, property := range []string{"image", "flavor", "name"} {
			n := s.Get(property)
			if m := suffixes[property].FindStringSubmatch(parameter(l, n)); m != nil && m[1] != s.kind {
				l.Note(l.Report(n, fmt.Sprintf("this %s is for the VM type %q, but the server is of type %q (R-304011)", property, m[1], s.kind), ""), s.Resource.Entry.Key, "the server")
			}
		}
		for _, port := range s.ports(l) {
			begins := s.kind + "_" + s.index + "_"
			if m := portName.FindStringSubmatch(port.Name); m != nil && (len(port.Name) < len(begins) || port.Name[:len(begins)] != begins) {
				l.Note(l.Report(port.Entry.Key, fmt.Sprintf("a port of %q must be named %s… (R-304011)", s.Resource.Name, begins), ""), s.Resource.Entry.Key, "the server")
			}
		}
	}
}
