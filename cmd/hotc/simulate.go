package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/graph"
)

func newSimulateCommand(s streams) *cobra.Command {
	var (
		in                   compilation
		durations, svg       string
		boot, role, resource float64
		asJSON               bool
	)
	cmd := &cobra.Command{
		Use:   "simulate TEMPLATE",
		Short: "Predict a deployment's timeline and critical path",
		Long: `Predict how a deployment will run: when each server boots, when each role works and
what it waits for, the critical path, and how long it would take if Heat ordered
whole servers; and the same with everything as slow as timeouts and retries allow.
FILE is a map of SERVER.ROLE (a role's own work) or SERVER (its boot) to seconds, or to
{seconds: N, worst: N, retries: N}, as YAML or JSON; or what ` + "`hotc status --json`" + ` or
` + "`hotc run --json`" + ` printed of a former run. - is standard input.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, _, err := in.look(args[0], s)
			if err != nil {
				return err
			}
			d := timeline.Durations{Boot: boot, Role: role, Make: resource, Of: map[string]timeline.Duration{}}
			if durations != "" {
				if d.Of, err = readDurations(durations, r, boot, s); err != nil {
					return err
				}
			}
			p := predict(r, d)
			if svg != "" {
				if err := os.WriteFile(svg, graph.Timeline(filepath.Base(args[0])+": "+p.headline(), p.Run), 0o644); err != nil {
					return fmt.Errorf("write the picture: %w", err)
				}
			}
			return printResult(s.out, asJSON, p, func() { p.print(s) })
		},
	}
	in.addFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&durations, "durations", "", "how long roles and boots take: a map of SERVER.ROLE or SERVER to seconds, or the record of a former run")
	f.Float64Var(&boot, "boot", timeline.UsualBoot, "seconds that a server takes to boot, where the file says nothing")
	f.Float64Var(&role, "role", timeline.UsualRole, "seconds that a role works, where the file says nothing")
	f.Float64Var(&resource, "resource", timeline.UsualMake, "seconds that another resource takes")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&svg, "svg", "", "draw the timeline into this file")
	return cmd
}

// prediction is what a simulation says.
type prediction struct {
	*timeline.Run
	// Worst is the makespan if everything takes as long as it may.
	Worst float64 `json:"worst_makespan"`
	// WorstFailures are the roles that fail then.
	WorstFailures []string `json:"worst_failures,omitempty"`
	// WholeServers is that of Heat's own ordering of whole servers; -1 if it cannot
	// express this.
	WholeServers float64 `json:"whole_servers_makespan"`
	// Perhaps are the servers that Heat may not make; the run has them all.
	Perhaps []perhaps `json:"perhaps_missing,omitempty"`
}

// perhaps is a server that is there only if Heat decides so.
type perhaps struct {
	Server string `json:"server"`
	Unless string `json:"unless"` // why it is not
}

func predict(r *emit.Result, d timeline.Durations) *prediction {
	net := r.Findings.Net
	p := &prediction{Run: timeline.Simulate(net, d), WholeServers: -1}
	if makespan, possible := timeline.WholeServers(net, d); possible {
		p.WholeServers = makespan
	}
	for _, s := range r.Program.Servers {
		for _, x := range r.Analysis.Presences[s.Path] {
			p.Perhaps = append(p.Perhaps, perhaps{s.Path, x.Why})
			break
		}
	}
	worst := timeline.AtWorst(net, d)
	p.Worst, p.WorstFailures = worst.Makespan, failures(worst)
	return p
}

func (p *prediction) headline() string {
	if p.Hung {
		return "never ends: roles wait for each other"
	}
	text := fmt.Sprintf("%s in all", lasting(p.Makespan))
	if p.Failed {
		return fmt.Sprintf("fails: all is over after %s", lasting(p.Makespan))
	}
	if p.WholeServers < 0 {
		return text + "; ordering whole servers would be a cycle"
	}
	return fmt.Sprintf("%s, %s if Heat ordered whole servers", text, lasting(p.WholeServers))
}

func lasting(seconds float64) string {
	if seconds < 0 {
		return "for ever"
	}
	if seconds < 60 {
		return fmt.Sprintf("%.3gs", seconds)
	}
	return fmt.Sprintf("%dm%02ds", int(seconds+0.5)/60, int(seconds+0.5)%60)
}

func (p *prediction) print(s streams) {
	t := table{width: s.width(), columns: []column{{"ROLE", 0}, {"START", 0}, {"END", 0}, {"BLOCKED", 0}, {"ON", narrowest}}}
	for _, process := range p.Processes {
		for _, task := range process.Tasks {
			if task.Heat {
				if len(process.Tasks) > 1 || task.End > task.Start {
					t.add(process.Name+" (made)", point(task.Start), point(task.End), blocked(task), on(task))
				}
				continue
			}
			t.add(process.Name+"."+task.Name, point(task.Start), point(task.End), blocked(task), on(task))
		}
	}
	fmt.Fprint(s.out, t.String())
	fmt.Fprintf(s.out, "\n%s\n", p.headline())
	if n := len(p.Perhaps); n > 0 {
		var names []string
		for _, x := range p.Perhaps {
			names = append(names, x.Server)
		}
		fmt.Fprintf(s.out, "with %s that Heat may not make: %s\n", counted(n, "server"), few(names))
	}
	for _, failed := range failures(p.Run) {
		fmt.Fprintln(s.out, failed)
	}
	if p.Worst > p.Makespan || len(p.WorstFailures) > 0 && !p.Failed {
		fmt.Fprintf(s.out, "at worst %s, if everything takes as long as it may\n", lasting(p.Worst))
		for _, failed := range p.WorstFailures {
			fmt.Fprintln(s.out, "  then "+failed)
		}
	}
	if len(p.Critical) > 0 {
		fmt.Fprintln(s.out, "critical path:")
		path := table{width: s.width(), columns: []column{{"", 0}, {"", 0}, {"", narrowest}}}
		for _, l := range p.Critical {
			by := ""
			if l.Cell != "" {
				by = "→ " + l.Cell
			}
			path.add("  "+l.Task, point(l.From)+"–"+point(l.To), by)
		}
		fmt.Fprint(s.out, path.String())
	}
}

// failures say why roles fail: by a timeout, or by what they need.
func failures(r *timeline.Run) []string {
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
				out = append(out, fmt.Sprintf("%s fails after %s: %s", name, lasting(t.End), t.Failed))
			}
		}
	}
	return out
}

func point(seconds float64) string {
	if seconds < 0 {
		return "never"
	}
	return lasting(seconds)
}

func blocked(t timeline.Task) string {
	if n := len(t.Waits); n > 0 && t.Waits[n-1].To < 0 {
		return "for ever"
	}
	if t.Blocked == 0 {
		return "-"
	}
	return lasting(t.Blocked)
}

func on(t timeline.Task) string {
	var cells []string
	for _, w := range t.Waits {
		cells = append(cells, w.Cell)
	}
	return strings.Join(cells, ", ")
}
