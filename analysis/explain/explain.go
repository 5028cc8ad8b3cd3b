// Package explain reports for each reference when it gets its value, by which rule, and
// who resolves it.
package explain

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Reference explains one reference (docs/json.md).
type Reference struct {
	At        string `json:"at"`
	Reference string `json:"reference"`
	Place     string `json:"place"` // SERVER.ROLE.INPUT, or outputs.NAME
	Time      string `json:"time"`
	Rule      string `json:"rule"`
	By        string `json:"resolved_by"`
	Cell      string `json:"cell,omitempty"`
	// Needs is the prerequisite: a role, a server, a resource, a parameter.
	Needs string `json:"needs,omitempty"`
	// Timed says that the wait may end without a value.
	Timed    bool            `json:"timed,omitempty"`
	Residual json.RawMessage `json:"residual,omitempty"`
}

// References are those in roles' inputs, in outputs and in resources that need a role's value:
// all, or those selected by a role, an input, a name, or a place.
func References(p *program.Program, a *binding.Analysis, chosen string) []Reference {
	list := []Reference{}
	unchecked := map[string]string{} // by Needs: roles whose writes are not checked
	for role := range p.Roles {
		if role.Meaning != nil && role.Meaning.Unchecked != "" {
			unchecked[fmt.Sprintf("role %s", role.Key())] = fmt.Sprintf("; whether %s writes it is not checked: %s", role.Key(), role.Meaning.Unchecked)
		}
	}
	add := func(place string, timed bool, e *hot.Expr, references []binding.Reference, note string) {
		residual, _ := hot.EncodeResidual(e)
		for _, ref := range references {
			rule := ref.Rule
			if ref.Time == contract.Run {
				rule += note + unchecked[ref.Needs]
			}
			x := Reference{At: ref.At.String(), Reference: ref.Text, Place: place, Time: string(ref.Time), Rule: rule,
				By: resolver(ref), Cell: string(ref.Cell), Needs: ref.Needs, Timed: timed && ref.Time == contract.Run, Residual: residual}
			if chosen == "" || x.matches(chosen) {
				list = append(list, x)
			}
		}
	}
	for role := range p.Roles {
		for in, bound := range a.Bound(role) {
			note := ""
			if in.EagerAt.Known() {
				note = "; awaited before the role starts, " + whyEager(role, in) + " (" + in.EagerAt.String() + ")"
			}
			if in.WatchAt.Known() {
				note += "; followed (" + in.WatchAt.String() + "): when it changes, " + updatedBy(role)
			}
			if role.Meaning != nil && role.Meaning.Unchecked != "" {
				note += "; whether the role reads it is not checked: " + role.Meaning.Unchecked
			}
			add(fmt.Sprintf("%s.%s", role.Key(), in.Name), in.Timeout > 0 || role.Timeout > 0, bound.Expr, bound.References, note)
		}
	}
	for _, out := range a.Outputs {
		add("outputs."+out.Output.Name, false, out.Expr, out.References, "")
	}
	for _, read := range a.PropertyReads {
		if read.Bound == nil {
			continue
		}
		add("resources."+string(read.In.PathOf(read.Resource)), false, read.Bound, read.References, "; Heat waits for the whole role, by a wait condition")
	}
	return list
}

// whyEager says why an input is in its role's environment from the start.
func whyEager(role *program.Role, in *program.Input) string {
	switch role.Meaning.Environment[in.Name].How {
	case program.ReadByName:
		return "which reads it from its environment"
	case program.PerhapsRead:
		return "which may read it from its environment"
	}
	return "as programs that its script starts may read it from their environment"
}

// updatedBy says what updates a role.
func updatedBy(role *program.Role) string {
	if role.Update() != nil {
		return "its update hook runs"
	}
	return "the role runs again"
}

func resolver(ref binding.Reference) string {
	switch ref.Time {
	case contract.Static:
		return "hotc, at compile time"
	case contract.Deploy:
		return "Heat, when the stack is created"
	}
	if ref.Writer == contract.Operator {
		return "the agent, after hotc apply --secret-param"
	}
	return fmt.Sprintf("the agent, after %s has published it", ref.Writer)
}

func (x Reference) matches(chosen string) bool {
	line := strings.Split(x.At, ":")
	at := strings.Join(line[:max(0, len(line)-1)], ":")
	return x.At == chosen || at == chosen || strings.HasSuffix(at, ":"+chosen) || x.Place == chosen || strings.HasPrefix(x.Place, chosen+".") ||
		x.Cell == chosen || x.Reference == chosen || strings.Contains(strings.NewReplacer(", ", ".", "[", "", "]", "", "}", "").Replace(x.Reference), " "+chosen)
}

// FoldMembers merges rows that differ only in the number of a group's member, which becomes
// an asterisk. A member whose row differs otherwise keeps its own.
func FoldMembers(list []Reference) []Reference {
	type row struct{ at, time, place, reference, rule, needs, by string }
	return Fold(list, func(x Reference) (row, Reference) {
		x.Place, x.Needs, x.By = AllMembers(x.Place), AllMembers(x.Needs), AllMembers(x.By)
		return row{x.At, x.Time, x.Place, x.Reference, x.Rule, x.Needs, x.By}, x
	})
}

// AllMembers replaces each number of a group's member by an asterisk.
func AllMembers(text string) string { return memberNumber.ReplaceAllString(text, "/*") }

var memberNumber = regexp.MustCompile(`/[0-9]+\b`)

// Fold merges entries with the same key into one, the folded one, in the place of the first.
// Entries with a unique key are kept.
func Fold[K comparable, T any](list []T, fold func(T) (K, T)) (out []T) {
	alike := map[K]int{}
	for _, x := range list {
		key, _ := fold(x)
		alike[key]++
	}
	for _, x := range list {
		key, folded := fold(x)
		switch alike[key] {
		case 0: // merged into the first
		case 1:
			out = append(out, x)
		default:
			out = append(out, folded)
			alike[key] = 0
		}
	}
	return out
}
