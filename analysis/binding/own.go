package binding

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// What a role's input reads of its own server: {fact: NAME}. Addresses, name and id are
// facts that the server's own agent publishes, even where it is unclear which address
// Heat would give, and for members of groups. A member's place in its group is known from
// the template.

// Facts about a server's place in its group.
const (
	factIndex     = "index"
	factGroupSize = "group_size"
)

func (b *binder) ownFact(call *hot.Expr) (*hot.Expr, error) {
	s := b.reader.Role.Server
	own := server{Resource: s.Resource, path: s.Path, stackResource: s.StackResource, member: s.Member}
	name, on, counted := call.OwnFact()
	switch name {
	case contract.FactID, contract.FactName:
		return b.fact(call, own, name, "the server's own agent knows it"), nil
	case contract.FactFirstAddress:
		if !oneNetwork(s.Template, s.Resource) {
			return nil, &source.Diagnostic{Code: source.SelfReference, At: call.At, Message: fmt.Sprintf("server %q may have several networks: only Heat knows which of its addresses is the first", s.Path),
				Hint: "specify the address: " + addressForm(s.Template, s.Resource)}
		}
		return b.fact(call, own, name, "the server has one network: its own agent knows the address"), nil
	case factIndex, factGroupSize:
		return b.placeInGroup(call, s, name)
	}
	network, err := networkOf(s.Template, s.Resource, on)
	if err != nil {
		return nil, &source.Diagnostic{Code: source.SelfReference, At: call.At, Message: fmt.Sprintf("server %q %v", s.Path, err), Hint: "name a network as `networks` does, or by its index there, from 0"}
	}
	number, _ := counted.(int64)
	return b.fact(call, own, contract.AddressFact(network, int(number)), fmt.Sprintf("the server's own agent knows its addresses on network %d", network)), nil
}

// networkOf is the position of one of a server's networks.
func networkOf(t *hot.Template, r *hot.Resource, network value.Value) (int, error) {
	n := r.Property("networks")
	if i, isPosition := network.(int64); isPosition {
		if n != nil && n.Kind == yaml.List && i >= int64(len(n.Items)) {
			return 0, fmt.Errorf("has no network %d: it has %d", i, len(n.Items))
		}
		return int(i), nil
	}
	names := networkNames(t, r)
	if name, _ := network.(string); slices.Contains(names, name) {
		return slices.Index(names, name), nil
	}
	if known := strings.Join(names, ", "); known != "" {
		return 0, fmt.Errorf("has no network %q: it has %s", network, known)
	}
	return 0, fmt.Errorf("does not list its networks: the index of %q is unknown", network)
}

// networkNames are the names of a server's networks in the template, in order.
func networkNames(t *hot.Template, r *hot.Resource) []string {
	items := r.Property("networks").List()
	names := make([]string, len(items))
	for i, item := range items {
		for _, key := range []string{"network", "uuid", "subnet", "port"} {
			name, _ := item.Get(key).Text()
			if ref, is := t.NamedAt(item.Get(key)); is {
				name = ref.Name
			}
			names[i] = cmp.Or(names[i], name)
		}
	}
	return names
}

// placeInGroup is a server's index in its group, or the group's size.
func (b *binder) placeInGroup(call *hot.Expr, s *program.Server, name contract.Fact) (*hot.Expr, error) {
	n, m := s.StackResource, s.Member
	for at := s.Stack; n == nil && at.StackResource != nil; at = at.Around() {
		if at.StackResource.Group() {
			n, m = at.StackResource, at.Member()
		}
	}
	if n == nil {
		return nil, &source.Diagnostic{Code: source.SelfReference, At: call.At, Message: fmt.Sprintf("server %q is not a member of a group: it has no %s", s.Path, name), Hint: "remove the input"}
	}
	group := n.OwnPath()
	switch {
	case name == factIndex:
		index, err := strconv.Atoi(m.Name)
		if err != nil {
			return nil, err
		}
		b.note(call, contract.Static, fmt.Sprintf("the member's index in the group %q", group), "", "")
		return hot.Constant(int64(index), call.At), nil
	case n.Scales():
		return nil, &source.Diagnostic{Code: source.SelfReference, At: call.At, Message: fmt.Sprintf("the group %q scales: its size changes, and members do not learn of it", group), Hint: "pass the number as a parameter"}
	case !n.Open():
		b.note(call, contract.Static, fmt.Sprintf("the number of members of the group %q is known", group), "", "")
		return hot.Constant(int64(n.Size), call.At), nil
	}
	e, err := b.countOf(n)
	if err == nil && n != s.StackResource {
		inside := *s
		inside.StackResource = nil // the caller does the last step, as for every input
		e, err = b.passTo(n.In, &inside, e)
	}
	b.note(call, contract.Deploy, fmt.Sprintf("the size of %q is left to Heat", group), "", "")
	return e, err
}

// addressForm is the fact to write for an address of a server with several networks.
func addressForm(t *hot.Template, r *hot.Resource) string {
	network := "NETWORK"
	if names := networkNames(t, r); len(names) > 0 && names[0] != "" {
		network = names[0]
	}
	return fmt.Sprintf("`{fact: [addresses, %s, 0]}`", network)
}

// ownHint suggests what to write instead of a reference to the server itself.
func ownHint(t *hot.Template, r *hot.Resource, call *hot.Expr) string {
	form := ""
	ref := call.Ref()
	switch name := ref.Attribute; {
	case ref.Kind == hot.ToResource:
		form = "`{fact: id}`"
	case name == "name":
		form = "`{fact: name}`"
	case name != "first_address" && name != "addresses" && name != "networks":
		return "remove it: it is unknown until the server exists; the server's own agent supplies `{fact: id}`, `{fact: name}` and addresses"
	case oneNetwork(t, r):
		form = "`{fact: first_address}`"
	default:
		form = addressForm(t, r)
	}
	return "read it from the server's own agent, as an input of its own: " + form
}
