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

// Resources whose existence Heat decides: by a condition or a group size that is known
// only to it. The roles of all that may exist are in the plan. Their readers get the
// decision as a deploy-time value, the same condition or number, and fail at once, or
// do without, where no value will be written.

// Decision is a condition or number by which Heat decides a stack's topology.
type Decision struct {
	In   *program.Stack
	Expr *hot.Expr // true, false or a number of members, in the stack's scope
	Key  string
}

// ExistenceCondition is a decision that a server depends on.
type ExistenceCondition struct {
	Decision *Decision
	// Member is the index of the member that is or contains the server; -1 where
	// a condition decides.
	Member int
	Why    string // the reason for the server's absence, if it is absent
	At     source.Place
}

// existence is a decision of Heat about one resource or one member of a group.
type existence struct {
	in     *program.Stack
	expr   *hot.Expr // as for Decision
	member int
	why    string
	at     source.Place
}

// conditionOf is the existence condition of a resource that Heat decides; nil for others.
func (b *binder) conditionOf(in *program.Stack, r *hot.Resource) *existence {
	if r.Condition == nil || !nesting.Open(in, r) {
		return nil
	}
	e, err := b.enabledIn(in, r)
	if err != nil {
		return nil // reported where the condition itself is checked
	}
	why := fmt.Sprintf("the condition of %q is false", in.PathOf(r.Name))
	if name, ok := r.Condition.Value.Text(); ok {
		why = fmt.Sprintf("the condition %q of %q is false", name, in.PathOf(r.Name))
	}
	return &existence{in: in, expr: e, member: -1, why: why, at: in.Place(r.Condition.Value)}
}

// enabledIn is a resource's condition as an `if` that yields true or false.
func (b *binder) enabledIn(in *program.Stack, r *hot.Resource) (*hot.Expr, error) {
	return b.followed(reference{in, "condition of " + r.Name}, fmt.Sprintf("the condition of %s", in.PathOf(r.Name)), in.Template.Enabled(r.Condition), b.in(in).asHeat())
}

// countOf is a group's number of members, folded.
func (b *binder) countOf(n *program.StackResource) (*hot.Expr, error) {
	name := n.Resource.Name
	return b.followed(reference{n.In, "count of " + name}, fmt.Sprintf("the count of %s", n.In.PathOf(name)), n.Count, b.in(n.In).asHeat())
}

// existencesOf are the existences of a stack resource and of one of its members.
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
			return out // it certainly exists
		}
	}
	if err == nil {
		out = append(out, &existence{in: n.In, expr: count, member: n.Number(m), at: n.SizeAt,
			why: fmt.Sprintf("the group %q has fewer than %d members", n.OwnPath(), n.Number(m)+1)})
	}
	return out
}

// test is an existence as a condition for expressions in its stack.
func (g *existence) test() *hot.Expr {
	if g.member < 0 {
		choice, _ := g.expr.If()
		return choice.Condition
	}
	return hot.NewPresent(g.at, g.expr, g.member)
}

// guarded is an expression that fails where an existence is false.
func (b *binder) guarded(call *hot.Expr, g *existence, e *hot.Expr) *hot.Expr {
	text := fmt.Sprintf("this value does not exist: %s", g.why)
	nobody := hot.NewCall(hot.AbsentRef, call.At, hot.Constant(text, call.At))
	return b.decided(g, call.At, e, nobody)
}

// decided chooses by an existence.
func (b *binder) decided(g *existence, at source.Place, then, otherwise *hot.Expr) *hot.Expr {
	like := g.expr
	if g.member >= 0 {
		like = nil
	}
	return hot.NewIf(like, at, hot.If{Condition: g.test(), Then: then, Else: otherwise})
}

// guardExistence guards the value of a call that names a resource which may not exist.
func (b *binder) guardExistence(call *hot.Expr, r *hot.Resource, e *hot.Expr) *hot.Expr {
	g := b.conditionOf(b.stack, r)
	if g == nil {
		return e
	}
	b.noteDecision(call, fmt.Sprintf("whether %q exists is left to Heat", r.Name))
	return b.guarded(call, g, e)
}

// noteDecision notes a decision of Heat on which a reference depends.
func (b *binder) noteDecision(call *hot.Expr, rule string) {
	b.note(call, contract.Deploy, rule, "", "").Needs = ""
}

// firstMembers limits a gathered value to as many members as Heat creates.
func (b *binder) firstMembers(call *hot.Expr, n *program.StackResource, all *hot.Expr) (*hot.Expr, error) {
	count, err := b.countOf(n)
	if err != nil {
		return nil, err
	}
	first := hot.NewMembers(call.At, hot.Members{Group: groupName(call, n), Count: count, Items: all})
	anySlot := b.reader == nil && n.Scales() && TimeOf(all) == contract.Run && b.stack.Template.Version >= hot.V20161014 // which can compute
	if b.joins(all) || anySlot {
		b.noteDecision(call, fmt.Sprintf("the members of %q are known to agents, up to %d", n.Resource.Name, n.Most()))
		return hot.NewJoined(first), nil
	}
	if size, err := hot.GroupSize(count.Value, 0); err == nil && count.IsValue() && (size > 0 || TimeOf(all) != contract.Run) { // an empty list would not name its group
		return hot.Fold(first, func(call *hot.Expr) (*hot.Expr, error) { return call, nil })
	}
	b.noteDecision(call, fmt.Sprintf("the size of %q is left to Heat, up to %d", n.Resource.Name, n.Most()))
	return first, nil
}

// ifMember guards the value of one member of a group whose size only Heat knows.
func (b *binder) ifMember(call *hot.Expr, n *program.StackResource, m *program.Member, e *hot.Expr) *hot.Expr {
	if !n.Open() || TimeOf(e) != contract.Run {
		return e
	}
	for _, g := range b.existencesOf(n, m) {
		if g.member >= 0 {
			b.noteDecision(call, fmt.Sprintf("the size of %q is left to Heat, up to %d", n.Resource.Name, n.Most()))
			return b.guarded(call, g, e)
		}
	}
	return e
}

// memberPart is an item of a value gathered over members.
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
	why := fmt.Sprintf("this value does not exist: the group %q has fewer than %d members", value.ToString(m.Group.Value), n+1)
	nobody := hot.NewCall(hot.AbsentRef, e.At, hot.Constant(why, e.At))
	return hot.NewIf(nil, x.At, hot.If{Condition: hot.NewPresent(e.At, m.Count, int(n)), Then: x, Else: nobody})
}

// existsFor is whether a server exists, as an expression for another one's agent: nil if it
// certainly does whenever the other one does. What both depend on is certain.
func (b *binder) existsFor(target, reader *program.Server) (*hot.Expr, error) {
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
		e = b.in(s.StackResource.In).exportUp(s.StackResource, m, e)
		wrap(b.existencesOf(s.StackResource, m))
	}
	if e == yes {
		return nil, nil
	}
	return b.passTo(s, reader, e)
}

// passTo turns an expression of a stack into one of a server in it or below it.
func (b *binder) passTo(from *program.Stack, reader *program.Server, e *hot.Expr) (*hot.Expr, error) {
	var down []*program.Stack
	for s := reader.Stack; s != from; s = s.Around() {
		down = append(down, s)
	}
	var err error
	for i := len(down) - 1; i >= 0 && err == nil; i-- {
		if e, err = b.passDown(down[i].StackResource, e); err == nil {
			e = down[i].StackResource.Indexed(e, down[i].Member().Name)
		}
	}
	if err == nil && reader.StackResource != nil {
		e, err = b.inMember(reader, e)
	}
	return e, err
}

// existenceConditions finds Heat's decisions about each server with an agent, and which servers know
// the outcome: those of the same stack, and of stacks nested in it, whose user_data
// gains no dependency by it.
func (b *binder) existenceConditions() {
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
			b.analysis.ExistenceConditions[s.Path] = append(b.analysis.ExistenceConditions[s.Path], ExistenceCondition{Decision: d, Member: g.member, Why: g.why, At: g.at})
		}
	}
	for _, d := range b.analysis.Decisions {
		if needsResource(d.Expr) {
			continue // it would add a wait that the user did not write
		}
		for _, s := range b.servers() {
			if !within(s.Stack, d.In) || changesMembers(s, d.In) {
				continue
			}
			if e, err := b.passTo(d.In, s, d.Expr); err == nil {
				b.analysis.Witnesses[s.Path] = append(b.analysis.Witnesses[s.Path], Witness{d, e})
			}
		}
	}
}

// Witness is a decision that a server knows, in its own scope.
type Witness struct {
	Decision *Decision
	Expr     *hot.Expr
}

// servers are all servers with agents, those without roles included.
func (b *binder) servers() []*program.Server {
	all := append([]*program.Server{}, b.program.Servers...)
	for _, f := range b.analysis.FactServers {
		all = append(all, &program.Server{Path: f.Path, Template: f.Stack.Template, Stack: f.Stack, Resource: f.Resource})
	}
	return all
}

// existencesAround are all existences that a server depends on, the outermost first.
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

// changesMembers says whether a value of a stack, on its way to a server in it, would become
// part of the member definition of a group that scales: whenever it changed, Heat would
// update all members, and perhaps create new ones first.
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
