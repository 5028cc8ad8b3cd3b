package source_test

import (
	"bytes"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
)

// A name is mended where it stands once at the place, and needs no quotes that are not there.
func TestMeant(t *testing.T) {
	for _, c := range []struct{ text, name, near, want string }{
		{"{get_resource: nett}", "nett", "net", "{get_resource: net}"},
		{"{get_resource: 'nett'}", "nett", "net", "{get_resource: 'net'}"},
		{"get_resource: [nett, nett]", "nett", "net", ""},
		{"{get_attr: [nett, x_nett]}", "nett", "net", "{get_attr: [net, x_nett]}"},
		{"OS::Neutron::Prt", "OS::Neutron::Prt", "OS::Neutron::Port", "OS::Neutron::Port"},
		{"a.nett", "nett", "net", ""},
		{`"n\u0065tt"`, "nett", "net", ""},
		{"nett", "nett", "a b", ""},
		{"nett", "nett", "a: b", ""},
		{"nett", "nett", "", ""},
	} {
		before := []byte("x: " + c.text + " nett")
		d := &source.Diagnostic{At: source.Place{File: source.NewFile("a", before), Span: source.Span{Start: 3, End: uint32(3 + len(c.text))}}}
		got := ""
		if d.Meant(c.name, c.near); d.Fix != nil {
			after, err := source.Apply(before, d.Fix.Edits)
			if err != nil || !d.Fix.Unsafe {
				t.Error(err)
			}
			got = string(bytes.TrimSuffix(bytes.TrimPrefix(after, []byte("x: ")), []byte(" nett")))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}
