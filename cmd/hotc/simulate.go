package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/source"
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
what it is blocked on, the critical path, and how long it would take if Heat ordered
whole servers. FILE is a map of SERVER.ROLE (a role's own work) or SERVER (its boot)
to seconds, as YAML or JSON.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := in.look(args[0], s)
			if err != nil {
				return err
			}
			d := timeline.Durations{Boot: boot, Role: role, Make: resource, Of: map[string]float64{}}
			if durations != "" {
				if d.Of, err = readDurations(durations, r); err != nil {
					return err
				}
			}
			p := predict(r, d)
			if svg != "" {
				if err := os.WriteFile(svg, graph.Timeline(filepath.Base(args[0])+": "+p.headline(), p.Run), 0o644); err != nil {
					return fmt.Errorf("write the picture: %w", err)
				}
			}
			if asJSON {
				return printJSON(s.out, p)
			}
			p.print(s)
			return nil
		},
	}
	in.addFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&durations, "durations", "", "how long roles and boots take: a map of SERVER.ROLE or SERVER to seconds")
	f.Float64Var(&boot, "boot", 45, "seconds that a server takes to boot, where the file says nothing")
	f.Float64Var(&role, "role", 30, "seconds that a role works, where the file says nothing")
	f.Float64Var(&resource, "resource", 5, "seconds that another resource takes")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&svg, "svg", "", "draw the timeline into this file")
	return cmd
}

func readDurations(path string, r *emit.Result) (map[string]float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, source.Fail(source.CannotRead, fmt.Sprintf("cannot read %s: %v", path, err), "")
	}
	of := map[string]float64{}
	if err := yaml.Unmarshal(text, &of); err != nil {
		return nil, source.Fail(source.CannotRead, fmt.Sprintf("%s is no map of names to seconds: %v", path, err), "for example `db.mysql: 90`")
	}
	known := map[string]bool{}
	for _, p := range r.Findings.Net.Processes {
		for _, t := range p.Tasks {
			known[p.Name] = true
			known[p.Name+"."+t.Name] = known[p.Name+"."+t.Name] || !t.Heat
		}
	}
	for name, seconds := range of {
		if !known[name] {
			return nil, source.Fail(source.UnknownName, fmt.Sprintf("%s: there is no %q in the template", path, name), "the names are SERVER.ROLE, SERVER, and those of other resources")
		}
		if seconds < 0 {
			return nil, source.Fail(source.Usage, fmt.Sprintf("%s: %s cannot take %g seconds", path, name, seconds), "")
		}
	}
	return of, nil
}

// prediction is what a simulation says.
type prediction struct {
	*timeline.Run
	// Worst is the makespan if every role with a time-out takes all its time.
	Worst float64 `json:"worst_makespan"`
	// WholeServers is that of Heat's own ordering of whole servers; -1 if it cannot
	// express this.
	WholeServers float64 `json:"whole_servers_makespan"`
}

func predict(r *emit.Result, d timeline.Durations) *prediction {
	net := r.Findings.Net
	p := &prediction{Run: timeline.Simulate(net, d), WholeServers: -1}
	if makespan, possible := timeline.WholeServers(net, d); possible {
		p.WholeServers = makespan
	}
	worst := timeline.Durations{Boot: d.Boot, Role: d.Role, Make: d.Make, Of: map[string]float64{}}
	for name, seconds := range d.Of {
		worst.Of[name] = seconds
	}
	for _, server := range r.Program.Servers {
		for _, role := range server.Roles {
			if role.Timeout > 0 {
				worst.Of[role.Key()] = role.Timeout
			}
		}
	}
	p.Worst = timeline.Simulate(net, worst).Makespan
	return p
}

func (p *prediction) headline() string {
	if p.Hung {
		return "never ends: roles wait for each other"
	}
	text := fmt.Sprintf("%s in all", lasting(p.Makespan))
	if p.WholeServers < 0 {
		return text + "; ordering whole servers would be a circle"
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
	t := table{width: s.width()}
	t.add("ROLE", "START", "END", "BLOCKED", "ON")
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
	if p.Worst > p.Makespan {
		fmt.Fprintf(s.out, "at worst %s, if every role with a time-out takes all its time\n", lasting(p.Worst))
	}
	if len(p.Critical) > 0 {
		fmt.Fprintln(s.out, "critical path:")
		path := table{width: s.width()}
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
