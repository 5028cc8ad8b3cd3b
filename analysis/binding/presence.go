package binding

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// What is there only if Heat decides so: a resource whose condition is left to it, and
// the members of a group whose number is. The roles of all that may be there are in the
// plan. Who reads them knows what was decided by a deploy-time value, the same
// condition or number, and fails at once, or does without, where nobody will write.

// Decision is something that Heat decides of a stack's topology.
type Decision struct {
	In   *program.Stack
	Expr *hot.Expr // true, false or a number of members; as the stack would have it
	Key  string
}

// Presence is a decision that a server depends on.
type Presence struct {
	Decision *Decision
	// Member is the number, from 0, of the member that the server is or lies in; -1 where
	// a condition decides.
	Member int
	Why    string // why the server is not there, if it is not
	At     source.Place
}

// existence is a decision of Heat about one resource, or member of a group, as it is found.
type existence struct {
	in     *program.Stack
	expr   *hot.Expr // as for Decision
	member int
	why    string
	at     source.Place
}

// conditionOf is the existence condition of a resource whose condition Heat decides; nil for others.
func (b *binder) conditionOf(in *program.Stack, r *hot.Resource) *existence {
	if r.Condition == nil || !nesting.Open(in, r) {
		return nil
	}
	e, err := b.enabledIn(in, r)
	if err != nil {
		return nil // who looks at the condition itself says so
	}
	why := fmt.Sprintf("the condition of %q is false", in.PathOf(r.Name))
	if name, ok := r.Condition.Value.Text(); ok {
		why = fmt.Sprintf("the condition %q of %q is false", name, in.PathOf(r.Name))
	}
	return &existence{in: in, expr: e, member: -1, why: why, at: in.Place(r.Condition.Value)}
}

// enabledIn is a resource's condition as an `if` that gives true or false.
func (b *binder) enabledIn(in *program.Stack, r *hot.Resource) (*hot.Expr, error) {
	return b.followed(reference{in, "condition of " + r.Name}, fmt.Sprintf("the condition of %s", in.PathOf(r.Name)), in.Template.Enabled(r.Condition), b.in(in).asHeat())
}

// countOf is a group's number of members, folded.
func (b *binder) countOf(n *program.StackResource) (*hot.Expr, error) {
	name := n.Resource.Name
	return b.followed(reference{n.In, "count of " + name}, fmt.Sprintf("the count of %s", n.In.PathOf(name)), n.Count, b.in(n.In).asHeat())
}

// existencesOf are those of a stack resource and of one of its members.
func (b *binder) existencesOf(n *program.StackResource, m *program.Member) []*existence {
	var out []*existence
	if g := b.conditionOf(n.In, n.Resource); g != nil {
		out = append(out, g)
	}
	if !n.Open() {
		return out
	}
	count, err := b.countOf(n)
	if err == nil && n.Scales() && count.IsValue() {
		if size, bad := hot.GroupSize(count.Value, 0); bad == nil && n.Number(m) < size {
			return out // for sure
		}
	}
	if err == nil {
		out = append(out, &existence{in: n.In, expr: count, member: n.Number(m), at: n.SizeAt,
			why: fmt.Sprintf("the group %q has fewer than %d members", n.OwnPath(), n.Number(m)+1)})
	}
	return out
}

// test is an existence condition as a condition of expressions in its stack.
func (g *existence) test() *hot.Expr {
	if g.member < 0 {
		choice, _ := g.expr.If()
		return choice.Condition
	}
	return hot.NewPresent(g.at, g.expr, g.member)
}

// guarded is an expression that fails where an existence condition is shut.
func (b *binder) guarded(call *hot.Expr, g *existence, e *hot.Expr) *hot.Expr {
	text := fmt.Sprintf("nobody gives this value: %s", g.why)
	nobody := hot.NewCall(hot.AbsentRef, call.At, hot.Constant(text, call.At))
	return b.decided(g, call.At, e, nobody)
}

// decided chooses by an existence condition.
func (b *binder) decided(g *existence, at source.Place, then, otherwise *hot.Expr) *hot.Expr {
	like := g.expr
	if g.member >= 0 {
		like = nil
	}
	return hot.NewIf(like, at, hot.If{Condition: g.test(), Then: then, Else: otherwise})
}

// ifThere is what a call gives that names a resource which may not be there.
func (b *binder) ifThere(call *hot.Expr, r *hot.Resource, e *hot.Expr) *hot.Expr {
	g := b.conditionOf(b.stack, r)
	if g == nil {
		return e
	}
	b.noteDecision(call, fmt.Sprintf("whether %q is there is left to Heat", r.Name))
	return b.guarded(call, g, e)
}

// noteDecision notes what Heat decides for a reference, beside what it reads.
func (b *binder) noteDecision(call *hot.Expr, rule string) {
	b.note(call, contract.Deploy, rule, "", "").Needs = ""
}

// firstMembers is what is gathered over as many members as Heat makes.
func (b *binder) firstMembers(call *hot.Expr, n *program.StackResource, all *hot.Expr) (*hot.Expr, error) {
	count, err := b.countOf(n)
	if err != nil {
		return nil, err
	}
	first := hot.NewMembers(call.At, hot.Members{Group: groupName(call, n), Count: count, Items: all})
	if b.joins(all) {
		b.noteDecision(call, fmt.Sprintf("who is in %q is known to agents, up to %d", n.Resource.Name, n.Most()))
		return hot.NewJoined(first), nil
	}
	if size, err := hot.GroupSize(count.Value, 0); err == nil && count.IsValue() && (size > 0 || TimeOf(all) != contract.Run) { // an empty list would not tell whose it is
		return hot.Fold(first, func(call *hot.Expr) (*hot.Expr, error) { return call, nil })
	}
	b.noteDecision(call, fmt.Sprintf("how many members %q has is left to Heat, up to %d", n.Resource.Name, n.Most()))
	return first, nil
}

// ifMember is what one member gives of a group whose number only Heat knows.
func (b *binder) ifMember(call *hot.Expr, n *program.StackResource, m *program.Member, e *hot.Expr) *hot.Expr {
	if !n.Open() || TimeOf(e) != contract.Run {
		return e
	}
	for _, g := range b.existencesOf(n, m) {
		if g.member >= 0 {
			b.noteDecision(call, fmt.Sprintf("how many members %q has is left to Heat, up to %d", n.Resource.Name, n.Most()))
			return b.guarded(call, g, e)
		}
	}
	return e
}

// memberPart is an item of what was gathered over members.
func memberPart(e *hot.Expr, m hot.Members, key value.Value) *hot.Expr {
	x := itemOf(m.Items, key)
	if x == nil {
		return nil
	}
	n, ok := key.(int64)
	for i, name := range m.Items.Keys {
		if name == key {
			n, ok = int64(i), true
		}
	}
	if !ok {
		return nil
	}
	why := fmt.Sprintf("nobody gives this value: the group %q has fewer than %d members", value.ToString(m.Group.Value), n+1)
	nobody := hot.NewCall(hot.AbsentRef, e.At, hot.Constant(why, e.At))
	return hot.NewIf(nil, x.At, hot.If{Condition: hot.NewPresent(e.At, m.Count, int(n)), Then: x, Else: nobody})
}

// thereFor is whether a server is there, as another one's agent can tell: nil if it is
// for sure whenever the other one is. What both depend on is certain.
func (b *binder) thereFor(target, reader *program.Server) (*hot.Expr, error) {
	around := map[*program.Stack]bool{}
	for s := reader.Stack; s != nil; s = s.Around() {
		around[s] = true
	}
	at := target.At()
	yes, no := hot.Constant(true, at), hot.Constant(false, at)
	e := yes
	wrap := func(existences []*existence) {
		for i := len(existences) - 1; i >= 0; i-- {
			e = b.decided(existences[i], at, e, no)
		}
	}
	s := target.Stack
	if target.StackResource != nil {
		if reader.StackResource != target.StackResource || reader.Member != target.Member {
			wrap(b.existencesOf(target.StackResource, target.Member))
		}
	} else if g := b.conditionOf(s, target.Resource); g != nil && target != reader {
		wrap([]*existence{g})
	}
	for ; !around[s]; s = s.Around() {
		m := s.Member()
		e = b.in(s.StackResource.In).carryUp(s.StackResource, m, e)
		wrap(b.existencesOf(s.StackResource, m))
	}
	if e == yes {
		return nil, nil
	}
	return b.carryTo(s, reader, e)
}

// carryTo makes an expression of a stack one of a server in it, or in a stack nested in
// it.
func (b *binder) carryTo(from *program.Stack, reader *program.Server, e *hot.Expr) (*hot.Expr, error) {
	var down []*program.Stack
	for s := reader.Stack; s != from; s = s.Around() {
		down = append(down, s)
	}
	var err error
	for i := len(down) - 1; i >= 0 && err == nil; i-- {
		if e, err = b.carryDown(down[i].StackResource, e); err == nil {
			e = down[i].StackResource.Indexed(e, down[i].Member().Name)
		}
	}
	if err == nil && reader.StackResource != nil {
		e, err = b.inMember(reader, e)
	}
	return e, err
}

// presences finds what Heat decides of each server with an agent, and who can tell what
// it decided: servers of the same stack, and of those nested in it, whose user_data
// needs no more for that.
func (b *binder) presences() {
	decisions := map[string]*Decision{}
	for _, s := range b.servers() {
		for _, g := range b.existencesAround(s) {
			key := Key(g.expr)
			if g.in.Path != "" {
				key = string(g.in.Path) + ":" + key
			}
			d := decisions[key]
			if d == nil {
				d = &Decision{In: g.in, Expr: g.expr, Key: key}
				decisions[key] = d
				b.analysis.Decisions = append(b.analysis.Decisions, d)
			}
			b.analysis.Presences[s.Path] = append(b.analysis.Presences[s.Path], Presence{Decision: d, Member: g.member, Why: g.why, At: g.at})
		}
	}
	for _, d := range b.analysis.Decisions {
		if needsResource(d.Expr) {
			continue // the wait for it would be one that nobody asked for
		}
		for _, s := range b.servers() {
			if !within(s.Stack, d.In) || changesMembers(s, d.In) {
				continue
			}
			if e, err := b.carryTo(d.In, s, d.Expr); err == nil {
				b.analysis.Witnesses[s.Path] = append(b.analysis.Witnesses[s.Path], Witness{d, e})
			}
		}
	}
}

// Witness is a server's own way to know a decision.
type Witness struct {
	Decision *Decision
	Expr     *hot.Expr
}

// servers are all with agents; those without roles stand for themselves.
func (b *binder) servers() []*program.Server {
	all := append([]*program.Server{}, b.program.Servers...)
	for _, f := range b.analysis.FactServers {
		all = append(all, &program.Server{Path: f.Path, Template: f.Stack.Template, Stack: f.Stack, Resource: f.Resource})
	}
	return all
}

// existencesAround are all that a server depends on, the outermost first.
func (b *binder) existencesAround(s *program.Server) []*existence {
	var out []*existence
	if s.StackResource != nil {
		out = b.existencesOf(s.StackResource, s.Member)
	} else if g := b.conditionOf(s.Stack, s.Resource); g != nil {
		out = append(out, g)
	}
	for at := s.Stack; at.StackResource != nil; at = at.StackResource.In {
		out = append(b.existencesOf(at.StackResource, at.Member()), out...)
	}
	return out
}

// changesMembers says whether a value of a stack, on its way to a server in it, would be a
// part of what a group that scales says of its members: whenever it changed, Heat would
// update all of them, and perhaps make new ones first.
func changesMembers(s *program.Server, from *program.Stack) bool {
	if s.StackResource != nil && s.StackResource.Slots() {
		return true
	}
	n, _ := s.Stack.Scaled()
	return n != nil && within(n.In, from)
}

func within(s, around *program.Stack) bool {
	for ; s != nil; s = s.Around() {
		if s == around {
			return true
		}
	}
	return false
}

// needsResource says whether Heat needs a resource to know an expression.
func needsResource(e *hot.Expr) bool {
	return e.Any(func(x *hot.Expr) bool { return x.Ref().Kind == hot.ToAttribute || x.Ref().Kind == hot.ToResource })
}
