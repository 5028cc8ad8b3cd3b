// Package localheat replaces Heat where there is none: with made-up facts of servers, names and
// ids of stacks, random strings, and the deploy-time values of roles' inputs.
package localheat

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/plan"
)

// Facts are the user's values for what Heat would know about resources, by path, then attribute.
type Facts map[string]map[string]value.Value

// Heat stands in for Heat: its answers in one run, made up once.
type Heat struct {
	program  *program.Program
	analysis *binding.Analysis
	built    *plan.Built
	facts    Facts

	root identity
	// identities are those of the nested stacks, by path.
	identities map[contract.ServerPath]identity
	// memberNames are those that Heat would make up, in scaling groups.
	memberNames map[*program.Member]string
	made        map[contract.ServerPath]map[contract.Fact]value.Value
	invented    map[contract.ServerPath]string
}

// New returns a stand-in for Heat for a stack with this name.
func New(name string, r *emit.Result, f Facts) *Heat {
	return &Heat{program: r.Program, analysis: r.Analysis, built: r.Built, facts: f, root: newIdentity(name),
		identities: map[contract.ServerPath]identity{}, memberNames: map[*program.Member]string{}, invented: map[contract.ServerPath]string{}}
}

// Root answers as Heat would in the root stack.
func (h *Heat) Root() hot.Resolve { return (&scope{heat: h, stack: h.program.Root}).answer }

// Boots creates a boot file for each server, without coordinator and token. lacking are the
// facts that only Heat would know and that are not supplied.
func (h *Heat) Boots() (boots []contract.Boot, lacking []*source.Diagnostic, err error) {
	var open factsLacking
	h.allThere(&open)
	made := h.madeUp()
	for _, s := range h.built.Plan.Servers {
		b := contract.Boot{Format: contract.Format, Deployment: h.root.name, StackID: h.root.id, Server: s.Path,
			Deploy: map[string]json.RawMessage{}, Facts: map[contract.Fact]json.RawMessage{}}
		for name, v := range made[s.Path] {
			b.Facts[name] = value.EncodeJSON(v)
		}
		for _, name := range s.Facts {
			if network, number, is := contract.ParseAddressFact(name); is {
				b.Facts[name] = value.EncodeJSON(addressOn(made[s.Path][contract.FactFirstAddress], network, number))
			}
		}
		deploy := h.built.Deploy[s.Path]
		for _, key := range inTextOrder(deploy) { // the first one without a value is reported
			e := deploy[key]
			before := len(open.found)
			v, err := hot.Fold(e, open.noting(h.scopeOf(s.Path).answer))
			switch {
			case len(open.found) > before: // other errors may only follow from that
			case err != nil:
				return nil, nil, AsDiagnostic(err)
			case !v.IsValue():
				open.note(&source.Diagnostic{Code: source.MissingFact, At: e.At, Message: "only Heat can compute this value", Hint: "give the input a value that hotc knows"})
			default:
				b.Deploy[key] = value.EncodeJSON(v.Value)
			}
		}
		boots = append(boots, b)
	}
	return boots, open.once(), nil
}

// factsLacking collects the facts that only Heat would know and that are not supplied, to report
// all at once.
type factsLacking struct{ found []*source.Diagnostic }

func (l *factsLacking) note(d *source.Diagnostic) {
	l.found = append(l.found, d)
}

// noting records what an answer lacks, and leaves it open.
func (l *factsLacking) noting(answer hot.Resolve) hot.Resolve {
	return func(call *hot.Expr) (*hot.Expr, error) {
		e, err := answer(call)
		if d, is := source.AsDiagnostic(err); is && d.Code == source.MissingFact {
			l.note(d)
			return call, nil
		}
		return e, err
	}
}

// once returns them without duplicates of several servers.
func (l *factsLacking) once() []*source.Diagnostic {
	said := map[string]bool{}
	return slices.DeleteFunc(l.found, func(d *source.Diagnostic) bool {
		text := d.At.String() + d.Message
		before := said[text]
		said[text] = true
		return before
	})
}

// inTextOrder returns the keys of expressions by their place in the text.
func inTextOrder(m map[string]*hot.Expr) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[a].At.Span.Start, m[b].At.Span.Start), cmp.Compare(a, b))
	})
}

// allThere records what only Heat could decide: which servers exist.
func (h *Heat) allThere(lacking *factsLacking) {
	for _, s := range h.built.Plan.Servers {
		for _, p := range h.analysis.ExistenceConditions[s.Path] {
			lacking.note(&source.Diagnostic{Code: source.MissingFact, At: p.At, Message: fmt.Sprintf("Heat decides whether server %q exists: it does not if %s", s.Path, p.Why),
				Hint: "give the parameters that decide it with -P or -e"})
		}
	}
}

// addressOn returns an address of a server with several networks: the first is its own, the
// others are this machine's, too.
func addressOn(first value.Value, network, number int) value.Value {
	if network == 0 && number == 0 {
		return first
	}
	address, err := netip.ParseAddr(value.ToString(first))
	if err != nil || !address.Is4() {
		return first
	}
	bytes := address.As4()
	bytes[1] = 100 + byte((network*7+number)%150)
	return netip.AddrFrom4(bytes).String()
}

// madeUp returns plausible facts of all servers: an address of this machine, a unique name, a
// random id. They are made up once.
func (h *Heat) madeUp() map[contract.ServerPath]map[contract.Fact]value.Value {
	if h.made != nil {
		return h.made
	}
	out := map[contract.ServerPath]map[contract.Fact]value.Value{}
	n := 0
	add := func(path contract.ServerPath) {
		n++
		out[path] = map[contract.Fact]value.Value{contract.FactID: uuid.NewString(), contract.FactName: strings.ReplaceAll(string(path), "/", "-"),
			contract.FactFirstAddress: fmt.Sprintf("127.%d.%d.%d", 1+n/62500, n/250%250, 1+n%250)}
		for name, f := range h.facts[string(path)] {
			if _, known := out[path][contract.Fact(name)]; known {
				out[path][contract.Fact(name)] = f
			}
		}
	}
	h.program.Root.Walk(func(s *program.Stack) {
		for _, res := range s.Template.Resources {
			if s.ServerType(res) != nil && !s.Absent(res.Name) {
				add(s.PathOf(res.Name))
			}
			if nest := s.StackResourceOf(res.Name); nest != nil && nest.Inline() {
				for m := range nest.Members {
					add(nest.Path(m))
				}
			}
		}
	})
	h.made = out
	return out
}

// AsDiagnostic adds the place where an expression fails.
func AsDiagnostic(err error) error {
	if d, ok := source.AsDiagnostic(err); ok {
		return d
	}
	if e, ok := err.(*hot.Error); ok {
		return &source.Diagnostic{Code: source.BadArgument, At: e.At, Message: e.Message}
	}
	return err
}

// identity is a stack's name and unique id, as Heat would assign them.
type identity struct {
	name string
	id   string
}

func newIdentity(name string) identity { return identity{name, uuid.NewString()} }

// inside returns the identity of a stack behind a resource of this one, named as Heat names it
// (heat/engine/resource.py, physical_resource_name).
func (i identity) inside(resource string) identity {
	return newIdentity(i.name + "-" + resource + "-" + shortID())
}

// shortID returns 60 random bits, as Heat writes them in names (heat/common/short_id.py).
func shortID() string { return strings.ToLower(rand.Text()[:12]) }

// identity returns that of one of the run's stacks, made up once. A group is a stack of its own
// between the parent stack and its members.
func (h *Heat) identity(s *program.Stack) identity {
	if s.StackResource == nil {
		return h.root
	}
	made := func(path contract.ServerPath, make func() identity) identity {
		if _, have := h.identities[path]; !have {
			h.identities[path] = make()
		}
		return h.identities[path]
	}
	return made(s.Path, func() identity {
		resource := s.StackResource.Resource.Name
		around := h.identity(s.Around())
		if !s.StackResource.Group() {
			return around.inside(resource)
		}
		group := made(s.Around().PathOf(resource), func() identity { return around.inside(resource) })
		return group.inside(h.memberName(s.StackResource, s.Member()))
	})
}

// memberName returns a group member's name, made up once if Heat would make it up.
func (h *Heat) memberName(n *program.StackResource, m *program.Member) string {
	if !n.Scales() {
		return m.Name
	}
	if h.memberNames[m] == "" {
		h.memberNames[m] = shortID()
	}
	return h.memberNames[m]
}
