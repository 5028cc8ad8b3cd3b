package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/frontend/roles"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// What `hotc run` says where Heat would: the made-up facts of servers, and the
// deploy-time values of roles' inputs.

// parseFacts reads the flags --fact; a value is JSON, or else a string. A resource of
// a nested stack is named by its path.
func parseFacts(given []string, p *program.Program) (facts, error) {
	out := facts{}
	known := map[string]bool{}
	if len(given) > 0 {
		p.Root.Walk(func(s *program.Stack) {
			for _, r := range s.Template.Resources {
				known[s.PathOf(r.Name)] = true
			}
		})
	}
	for _, text := range given {
		resource, attribute, value, err := splitFact(text)
		if err != nil {
			return nil, err
		}
		if !known[resource] {
			return nil, source.Fail(source.UnknownResource, fmt.Sprintf("--fact %s: the template has no resource %q", text, resource), "")
		}
		if out[resource] == nil {
			out[resource] = map[string]fact{}
		}
		v, err := yaml.DecodeJSON([]byte(value))
		if err != nil {
			v = value
		}
		out[resource][attribute] = fact{value: v, text: text}
	}
	return out, nil
}

// boots makes a boot file for each server, but for coordinator and token.
func (r *localRun) boots() ([]contract.Boot, error) {
	var lacking factsLacking
	r.allThere(&lacking)
	made := r.madeUp()
	var boots []contract.Boot
	for _, s := range r.result.Built.Plan.Servers {
		b := contract.Boot{Format: contract.Format, Deployment: string(deploymentName), StackID: r.root.id, Server: s.Path,
			Deploy: map[string]json.RawMessage{}, Facts: map[string]json.RawMessage{}}
		for name, v := range made[string(s.Path)] {
			b.Facts[name] = value.EncodeJSON(v)
		}
		for _, name := range s.Facts {
			if network, number, is := contract.ParseAddressFact(name); is {
				b.Facts[name] = value.EncodeJSON(addressOn(made[string(s.Path)][contract.FactFirstAddress], network, number))
			}
		}
		deploy := r.result.Built.Deploy[string(s.Path)]
		for _, key := range inTextOrder(deploy) { // the first that has no value is what is said
			e := deploy[key]
			before := len(lacking.found)
			v, err := hot.Fold(e, lacking.noting(r.scopeOf(s.Path).answer))
			switch {
			case len(lacking.found) > before: // what else is wrong may be so because of that
			case err != nil:
				return nil, asDiagnostic(err)
			case !v.IsValue():
				lacking.note(&source.Diagnostic{Code: source.MissingFact, At: e.At, Message: "only Heat can compute this value", Hint: "give the input a value that hotc knows"})
			default:
				b.Deploy[key] = value.EncodeJSON(v.Value)
			}
		}
		boots = append(boots, b)
	}
	return boots, lacking.report(r.streams)
}

// factsLacking are the facts that only Heat would know and that nobody has given: all are
// said at once.
type factsLacking struct{ found []*source.Diagnostic }

func (l *factsLacking) note(d *source.Diagnostic) {
	l.found = append(l.found, d)
}

// noting notes what an answer lacks, and leaves it open.
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

// report is the error that ends the run, if any is lacking: several servers may lack the same.
func (l *factsLacking) report(s streams) error {
	said := map[string]bool{}
	var last *source.Diagnostic
	for _, d := range l.found {
		if text := d.At.String() + d.Message; !said[text] {
			said[text] = true
			if last != nil {
				source.Print(s.err, last, s.errStyle())
			}
			last = d
		}
	}
	if last == nil {
		return nil
	}
	return last
}

// inTextOrder are the keys of expressions by where these stand.
func inTextOrder(m map[string]*hot.Expr) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[a].At.Span.Start, m[b].At.Span.Start), cmp.Compare(a, b))
	})
}

// allThere notes what only Heat could decide: which servers there are.
func (r *localRun) allThere(lacking *factsLacking) {
	for _, s := range r.result.Built.Plan.Servers {
		for _, p := range r.result.Analysis.Presences[string(s.Path)] {
			lacking.note(&source.Diagnostic{Code: source.MissingFact, At: p.At, Message: fmt.Sprintf("whether server %q is there is left to Heat: it is not, if %s", s.Path, p.Why),
				Hint: "give the parameters that decide it with -P or -e"})
		}
	}
}

// addressOn is an address of a server with several networks: the first is its own, the
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

// madeUp are plausible facts of all servers: an address of this machine's own, a name that
// no other one has, a random id. They are made once.
func (r *localRun) madeUp() map[string]map[string]value.Value {
	if r.made != nil {
		return r.made
	}
	out := map[string]map[string]value.Value{}
	n := 0
	add := func(path string, property string) {
		n++
		out[path] = map[string]value.Value{contract.FactID: uuid.NewString(), contract.FactName: property,
			contract.FactFirstAddress: fmt.Sprintf("127.%d.%d.%d", 1+n/62500, n/250%250, 1+n%250)}
		for name, f := range r.facts[path] {
			if _, known := out[path][name]; known {
				out[path][name] = f.value
			}
		}
	}
	r.result.Program.Root.Walk(func(s *program.Stack) {
		for _, res := range s.Template.Resources {
			if s.Type(res) == roles.ServerType && !s.Absent(res.Name) {
				add(s.PathOf(res.Name), strings.ReplaceAll(s.PathOf(res.Name), "/", "-"))
			}
			if nest := s.NestOf(res.Name); nest != nil && nest.Inline() {
				for _, m := range nest.Members {
					add(nest.Path(m), strings.ReplaceAll(nest.Path(m), "/", "-"))
				}
			}
		}
	})
	r.made = out
	return out
}

func asDiagnostic(err error) error {
	if d, ok := source.AsDiagnostic(err); ok {
		return d
	}
	if e, ok := err.(*hot.Error); ok {
		return &source.Diagnostic{Code: source.BadArgument, At: e.At, Message: e.Message}
	}
	return err
}
