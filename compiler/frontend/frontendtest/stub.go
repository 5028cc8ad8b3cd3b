// Package frontendtest is a small front-end for tests. It is unlike the metadata block: a resource
// of its own is a role on a server that it names, which may be in another stack.
//
//	check:
//	  type: Stub::Script
//	  properties: {server: {get_resource: app}, script: …, inputs: {NAME: VALUE}, outputs: [NAME]}
package frontendtest

import (
	"io/fs"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/driver/script"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

const typeName = "Stub::Script"

// FrontEnd is the stub.
func FrontEnd() *program.FrontEnd {
	return &program.FrontEnd{Name: "stub", Types: []string{typeName}, Lower: func(p *program.Program, diags *source.Diagnostics) func() {
		p.Root.Walk(func(s *program.Stack) {
			for _, r := range s.Template.Resources {
				if s.Type(r) == typeName && s.Removed(r.Name) == nil {
					lower(p, s, r, diags)
				}
			}
		})
		return nil
	}}
}

func lower(p *program.Program, s *program.Stack, r *hot.Resource, diags *source.Diagnostics) {
	at := s.Place(r.Entry.Key)
	own := s.Own(r)
	in, name := serverOf(s, s.Template.Expr(r.Property("server")))
	if in == nil {
		diags.Error(source.BadArgument, at, "the script has no server", "")
		return
	}
	server := p.AddServer(in, in.Template.Resource(name))
	role := &program.Role{Server: server, Stack: s, Name: r.Name, At: at, Driver: script.Driver.Name}
	for _, e := range r.Property("inputs").All() {
		role.Inputs = append(role.Inputs, &program.Input{Role: role, Name: e.Name, At: s.Place(e.Key), Expr: s.Template.Expr(e.Value)})
	}
	for _, n := range r.Property("outputs").OneOrMore() {
		text, _ := n.Text()
		o := &program.Output{Role: role, Name: text, Attribute: r.Name + "." + text, At: s.Place(n)}
		server.Declare(o)
		own.Declare(text, o)
		role.Outputs = append(role.Outputs, o)
	}
	src := r.Property("script")
	text, _ := src.Text()
	role.Meaning = script.Driver.Lower(driver.Role{Name: role.Name, At: at, Source: value.Value(text), SourceAt: s.Place(src), Inputs: role.Inputs, Outputs: role.Outputs,
		Locate: func(...string) source.Place { return s.Place(src) }, FileOf: func(...string) string { return "" }, Reader: noFiles{}, Memory: &driver.Memory{}}, diags)
	server.Add(role)
	own.Roles = append(own.Roles, role)
}

// serverOf finds the stack and the resource that an expression names: its own, or that of an
// argument.
func serverOf(s *program.Stack, e *hot.Expr) (*program.Stack, string) {
	for ; s != nil && e != nil; s = s.Around() {
		switch r := e.Ref(); r.Kind {
		case hot.ToResource:
			return s, r.Name
		case hot.ToParameter:
			e = s.Arguments[r.Name]
		default:
			return nil, ""
		}
	}
	return nil, ""
}

type noFiles struct{}

func (noFiles) File(string) ([]byte, error)  { return nil, fs.ErrNotExist }
func (noFiles) Folder(string) (fs.FS, error) { return nil, fs.ErrNotExist }
