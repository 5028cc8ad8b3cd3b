package binding

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// errReported ends a fold whose failure is already a diagnostic.
var errReported = errors.New("reported")

// resolve resolves a reference in a role's input or a stack's output.
func (b *binder) resolve(call *hot.Expr) (*hot.Expr, error) {
	if call.Func == hot.OwnFact {
		return b.ownFact(call)
	}
	switch call.Ref().Kind {
	case hot.ToParameter:
		return b.parameter(call)
	case hot.ToResource:
		return b.resource(call)
	case hot.ToAttribute:
		if b.analysis.SwitchedOff[call.At] {
			return hot.Constant(nil, call.At), nil
		}
		return b.attribute(call)
	case hot.ToFile:
		out, err := b.stack.Supplied.Resolve(call)
		b.note(call, contract.Static, "files are read at compile time", "", "")
		return out, err
	}
	if !call.Func.IsExistence() {
		b.note(call, contract.Deploy, "only Heat knows it", "", "")
	}
	return call, nil
}

// note adds a reference of the expression that is being bound.
func (b *binder) note(call *hot.Expr, time contract.Time, rule string, cell contract.CellName, writer contract.ServerPath) *Reference {
	if b.effects.silent {
		return &Reference{}
	}
	if b.via != nil {
		call = b.via
	}
	b.effects.references = append(b.effects.references, Reference{At: call.At, Text: call.Short(), Time: time, Rule: rule, Needs: needs(call, time, cell, writer), Cell: cell, Writer: writer})
	return &b.effects.references[len(b.effects.references)-1]
}

func needs(call *hot.Expr, time contract.Time, cell contract.CellName, writer contract.ServerPath) string {
	switch of := cell.Of(writer); {
	case time == contract.Static:
		return ""
	case of.Kind == contract.SuppliedCell:
		return "parameter " + of.Name
	case of.Kind == contract.FactCell:
		return "server " + string(writer)
	case cell != "":
		return "role " + string(of.Role)
	}
	switch r := call.Ref(); r.Kind {
	case hot.ToParameter:
		return "parameter " + r.Name
	case hot.ToAttribute, hot.ToResource:
		return "resource " + r.Name
	}
	return ""
}

func (b *binder) parameter(call *hot.Expr) (*hot.Expr, error) {
	if p := b.secretParameter(call); p != nil {
		cell := contract.SecretCell(p.Name)
		b.analysis.Cells[cell] = Cell{Parameter: p, Server: contract.Operator}
		b.note(call, contract.Run, "a secret that `hotc apply` supplies", cell, contract.Operator)
		return hot.CellCall(call.At, cell, call.Ref().Path), nil
	}
	late := b.reader != nil && b.reader.Bind == contract.Deploy && !b.stack.Supplied.Unpinned
	out, err := b.stack.Supplied.Peek(call)
	if err != nil {
		return nil, err
	}
	if out.IsValue() && late {
		b.note(call, contract.Deploy, "the input is bound at deploy time by `bind: deploy`", "", "")
		return call, nil
	}
	if out.IsValue() {
		b.effects.add(func() { _, _ = b.stack.Supplied.Resolve(call) }) // it is pinned
		b.note(call, contract.Static, "the parameter was supplied to the compiler", "", "")
		return out, nil
	}
	name := call.Ref().Name
	if a := b.stack.Arguments[name]; a != nil {
		if out, err := b.argument(call, name, a); out != nil || err != nil {
			return out, err
		}
	}
	if name != "" && !slices.Contains(b.template.Version.PseudoParameters(), name) && !strings.HasPrefix(name, "OS::") {
		p := b.template.Parameter(name)
		if p == nil {
			b.unknown(source.UnknownParameter, call, fmt.Sprintf("there is no parameter %q", name), name, b.template.ParameterNames())
			return nil, errReported
		}
		b.effects.add(func() { b.inUserData(call) })
	}
	b.note(call, contract.Deploy, "the parameter is left to Heat", "", "")
	return call, nil
}

// unknown reports an unknown name, with the nearest known one.
func (b *binder) unknown(code source.Code, call *hot.Expr, message, name string, known []string) {
	b.report(source.Error, code, call.At, message, hot.DidYouMean(name, known, ""))
}

func (b *binder) absence(call *hot.Expr, name string) error {
	return &absentError{resource: b.stack.PathOf(name), at: call.At, why: b.stack.Removed(name)}
}

// findResource finds a resource that is in the deployment.
func (b *binder) findResource(call *hot.Expr, name string) (*hot.Resource, error) {
	if r := b.template.Resource(name); r != nil {
		if b.stack.Absent(name) {
			return nil, b.absence(call, name)
		}
		return r, nil
	}
	b.unknown(source.UnknownResource, call, fmt.Sprintf("there is no resource %q", name), name, b.template.ResourceNames())
	return nil, errReported
}

func (b *binder) resource(call *hot.Expr) (*hot.Expr, error) {
	name := call.Ref().Name
	if name == "" {
		return call, nil
	}
	r, err := b.findResource(call, name)
	if err != nil {
		return nil, err
	}
	if b.stack.Owned(name) != nil {
		b.report(source.Error, source.NotYet, call.At, fmt.Sprintf("%q has no id: hotc takes its place, and Heat does not make it", name), "refer to one of its attributes, or name it in `depends_on`")
		return nil, errReported
	}
	path := b.stack.PathOf(name)
	if b.stack.ServerType(r) != nil && b.factsAtRun() && (b.via == nil || b.program.Server(path) != nil) {
		return b.guardExistence(call, r, b.fact(call, server{Resource: r, path: path}, contract.FactID, "a server's id is known to its own agent")), nil
	}
	b.note(call, contract.Deploy, "the id of a resource is Heat's", "", "")
	return call, nil
}

func (b *binder) attribute(call *hot.Expr) (*hot.Expr, error) {
	ref := call.Ref()
	name, attribute := ref.Name, ref.Attribute
	if own := b.stack.Owned(name); own != nil {
		return b.ownedAttribute(call, own)
	}
	if ref.Computed || attribute == "" {
		if attribute != "" && b.lacks(name, attribute) {
			b.unknownOutput(call.At, b.stack.PathOf(name), attribute)
			return nil, errReported
		}
		if name != "" && ref.Computed {
			b.whichAttribute(call.At, name)
		}
		b.note(call, contract.Deploy, "only Heat can tell which attribute this is", "", "")
		return call, nil
	}
	r, err := b.findResource(call, name)
	if err != nil {
		return nil, err
	}
	n := b.stack.StackResourceOf(name)
	switch why := b.stack.Removed(name); {
	case why == nil:
	case why.Null && b.reader != nil:
		return nil, b.absence(call, name)
	case n != nil:
		return b.emptyGroup(call, n, attribute)
	}
	var e *hot.Expr
	switch {
	case n != nil && n.Most() > 0:
		e, err = b.stackResourceAttribute(call, n, attribute, ref.Path)
	case b.stack.ServerType(r) != nil:
		e, err = b.serverAttribute(call, server{Resource: r, kind: b.stack.ServerType(r), path: b.stack.PathOf(name)}, attribute, ref.Path)
		if s := b.stack.Server(name); err == nil && b.reader != nil && s != nil && s.Output(attribute) != nil {
			return b.guardExistence(call, r, e), nil // even where its value is known
		}
	default:
		return b.leave(call, "an attribute of a resource is Heat's"), nil
	}
	if err == nil && TimeOf(e) == contract.Run {
		e = b.guardExistence(call, r, e)
	}
	return e, err
}

// ownedAttribute is an attribute of a resource that is a front-end's: an output of a role.
func (b *binder) ownedAttribute(call *hot.Expr, own *program.Owned) (*hot.Expr, error) {
	ref := call.Ref()
	o := own.Output(ref.Attribute)
	if o == nil || ref.Computed {
		b.unknown(source.UnknownOutput, call, fmt.Sprintf("%q writes no %q that is known when compiling", ref.Name, ref.Attribute), ref.Attribute, own.Attributes())
		return nil, errReported
	}
	e, err := b.output(call, o, ref.Path)
	if s := o.Role.Server; err == nil && s.Stack == b.stack && s.StackResource == nil {
		e = b.guardExistence(call, s.Resource, e)
	}
	return e, err
}

// serverAttribute is an attribute of a server: an output of a role, or a fact.
func (b *binder) serverAttribute(call *hot.Expr, s server, attribute string, path []value.Value) (*hot.Expr, error) {
	if known := b.program.Server(s.path); known != nil {
		if o := known.Output(attribute); o != nil {
			return b.output(call, o, path)
		}
	}
	if !s.kind.Gives(attribute) {
		b.unknownOutput(call.At, s.path, attribute)
		return nil, errReported
	}
	return b.serverFact(call, s, attribute, path)
}

// lacks says whether a resource is a server without an attribute or output of a name.
func (b *binder) lacks(resource, attribute string) bool {
	r := b.template.Resource(resource)
	if r == nil || b.stack.Absent(resource) || b.stack.StackResourceOf(resource) != nil || b.stack.ServerType(r) == nil {
		return false
	}
	s := b.stack.Server(resource)
	return !b.stack.ServerType(r).Gives(attribute) && (s == nil || s.Output(attribute) == nil)
}

func (b *binder) unknownOutput(at source.Place, server contract.ServerPath, attribute string) {
	if s := b.program.Server(server); s != nil && s.Unread {
		return // the reason is reported already
	}
	message := fmt.Sprintf("no role of server %q declares an output %q, and it is not an attribute of a server", server, attribute)
	hint := "declare it under `outputs:` of the role that writes it"
	if s := b.program.Server(server); s != nil {
		hint = hot.DidYouMean(attribute, s.Attributes(), hint)
		if s.Role(attribute) != nil {
			hint = fmt.Sprintf("%q is a role: its outputs are attributes of its server; omit %q", attribute, attribute)
		}
	}
	severity := source.Error
	if b.mayBeAbsent && b.program.Server(server) == nil {
		severity = source.Warning // Heat evaluates it only if the resource exists
	}
	b.report(severity, source.UnknownOutput, at, message, hint)
}

// output is a reference to a role's output: its cell, or its value where it has one
// before the role runs.
func (b *binder) output(call *hot.Expr, o *program.Output, path []value.Value) (*hot.Expr, error) {
	if o.Value == nil {
		b.analysis.Cells[o.Cell()] = Cell{Output: o, Server: o.Role.Server.Path}
		b.note(call, contract.Run, "a role writes it", o.Cell(), o.Role.Server.Path)
		return hot.CellCall(call.At, o.Cell(), path), nil
	}
	e, err := b.followed(reference{nil, string(o.Cell())}, string(o.Cell()), o.Value, b)
	if err != nil {
		return nil, err
	}
	if s := o.Role.Server; s.StackResource != nil {
		e = s.StackResource.Indexed(e, s.Member.Name)
	}
	b.note(call, TimeOf(e), "the output has a value of its own", "", "")
	if e.IsValue() {
		return hot.Constant(hot.Select(e.Value, path), call.At), nil
	}
	if len(path) > 0 {
		return nil, fmt.Errorf("hotc cannot select a part of output %q, whose value only Heat knows", o.Attribute)
	}
	return e, nil
}
