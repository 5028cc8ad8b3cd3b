package timeline

import (
	"fmt"
	"math"

	"github.com/hotc-dev/hotc/analysis/binding"
	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
)

// Prediction is the result of a simulation (docs/json.md).
type Prediction struct {
	*Run
	// Worst is the makespan if everything takes as long as it can.
	Worst float64 `json:"worst_makespan"`
	// WorstFailures are the roles that fail then.
	WorstFailures []string `json:"worst_failures,omitempty"`
	// WholeServers is the makespan with Heat's own ordering of whole servers; -1 if that is
	// impossible.
	WholeServers float64 `json:"whole_servers_makespan"`
	// Perhaps are the servers that Heat may not create; the run includes them.
	Perhaps []Perhaps `json:"perhaps_missing,omitempty"`
}

// Perhaps is a server whose existence Heat decides.
type Perhaps struct {
	Server contract.ServerPath `json:"server"`
	Unless string              `json:"unless"` // the condition of its absence
}

// Predict runs a program's net, in the usual and the worst case.
func Predict(of *program.Program, a *binding.Analysis, n *waits.Net, d Durations) *Prediction {
	p := &Prediction{Run: Simulate(n, d), WholeServers: -1}
	if makespan, possible := WholeServers(n, d); possible {
		p.WholeServers = makespan
	}
	for _, s := range of.Servers {
		if open := a.ExistenceConditions[s.Path]; len(open) > 0 {
			p.Perhaps = append(p.Perhaps, Perhaps{s.Path, open[0].Why})
		}
	}
	worst := AtWorst(n, d)
	p.Worst, p.WorstFailures = worst.Makespan, worst.Failures()
	return p
}

// Headline summarises the prediction in a line.
func (p *Prediction) Headline() string {
	if p.Hung {
		return "never ends: roles wait for each other"
	}
	text := fmt.Sprintf("%s in all", FormatSeconds(p.Makespan))
	if p.Failed {
		return fmt.Sprintf("fails: everything has ended after %s", FormatSeconds(p.Makespan))
	}
	if p.WholeServers < 0 {
		return text + "; ordering whole servers would be a cycle"
	}
	return fmt.Sprintf("%s, %s if Heat ordered whole servers", text, FormatSeconds(p.WholeServers))
}

// FormatSeconds writes how long something takes, in seconds.
func FormatSeconds(seconds float64) string {
	if seconds < 0 {
		return "forever"
	}
	if seconds < 60 {
		return fmt.Sprintf("%.3gs", math.Round(seconds*10)/10)
	}
	return fmt.Sprintf("%dm%02ds", int(seconds+0.5)/60, int(seconds+0.5)%60)
}

// Failures say why roles fail: by a timeout, or by a failed dependency.
func (r *Run) Failures() []string {
	var out []string
	for _, p := range r.Processes {
		for _, t := range p.Tasks {
			name := p.Name
			if !t.Heat {
				name += "." + t.Name
			}
			switch {
			case t.Failed == "":
			case t.End < 0:
				out = append(out, fmt.Sprintf("%s does not begin: %s", name, t.Failed))
			default:
				out = append(out, fmt.Sprintf("%s fails after %s: %s", name, FormatSeconds(t.End), t.Failed))
			}
		}
	}
	return out
}
