package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/lists"
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
		Long: `Predict how a deployment will run: when each server boots, when each role works and what it
waits for, the critical path, and how long it would take if Heat ordered whole servers; and
the same with everything as slow as timeouts and retries allow.

The FILE of --durations maps SERVER.ROLE (a role's own work) or SERVER (its boot) to
seconds, or to {seconds: N, worst: N, retries: N}, as YAML or JSON; or it is the output of
` + "`hotc status --json`" + ` or ` + "`hotc run --json`" + ` of an earlier run. - is standard input.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := in.look(cmd.Context(), args[0], s)
			if err != nil {
				return err
			}
			d := timeline.Durations{Boot: boot, Role: role, Resource: resource, Of: map[string]timeline.Duration{}}
			if durations != "" {
				if d.Of, err = readDurations(durations, r, boot, s); err != nil {
					return err
				}
			}
			p := timeline.Predict(r.Program, r.Analysis, r.Findings.Net, d)
			if svg != "" {
				if err := os.WriteFile(svg, graph.Timeline(filepath.Base(args[0])+": "+p.Headline(), p.Run), 0o644); err != nil {
					return fmt.Errorf("write the timeline: %w", err)
				}
			}
			return printResult(s.out, asJSON, p, func() { printPrediction(s, p) })
		},
	}
	in.addFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&durations, "durations", "", "`FILE` with durations of roles and boots, or with the JSON output of an earlier run")
	f.Float64Var(&boot, "boot", timeline.UsualBoot, "`SECONDS` that a server takes to boot, unless the file says otherwise")
	f.Float64Var(&role, "role", timeline.UsualRole, "`SECONDS` that a role works, unless the file says otherwise")
	f.Float64Var(&resource, "resource", timeline.UsualResource, "`SECONDS` that any other resource takes")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVar(&svg, "svg", "", "draw the timeline as SVG to `FILE`")
	return cmd
}

func printPrediction(s streams, p *timeline.Prediction) {
	t := table{width: s.width(), columns: []column{{"ROLE", 0}, {"START", 0}, {"END", 0}, {"BLOCKED", 0}, {"ON", narrowest}}}
	for _, process := range p.Processes {
		for _, task := range process.Tasks {
			if task.Heat {
				if len(process.Tasks) > 1 || task.End > task.Start {
					t.add(process.Name+" (created)", point(task.Start), point(task.End), blocked(task), on(task))
				}
				continue
			}
			t.add(process.Name+"."+task.Name, point(task.Start), point(task.End), blocked(task), on(task))
		}
	}
	fmt.Fprint(s.out, t.String())
	fmt.Fprintf(s.out, "\n%s\n", p.Headline())
	if n := len(p.Perhaps); n > 0 {
		names := lists.Map(p.Perhaps, func(x timeline.Perhaps) string { return string(x.Server) })
		fmt.Fprintf(s.out, "with %s that Heat may not create: %s\n", source.Counted(n, "server"), few(names))
	}
	for _, failed := range p.Failures() {
		fmt.Fprintln(s.out, failed)
	}
	if p.Worst > p.Makespan || len(p.WorstFailures) > 0 && !p.Failed {
		fmt.Fprintf(s.out, "at worst %s, if everything takes as long as allowed\n", timeline.FormatSeconds(p.Worst))
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

// readDurations reads a file or standard input with durations.
func readDurations(path string, r *emit.Result, boot float64, s streams) (map[string]timeline.Duration, error) {
	text, err := readInput(path, s.in)
	if err != nil {
		return nil, source.Fail(source.CannotRead, fmt.Sprintf("cannot read %s: %v", path, err), "")
	}
	of, gone, err := timeline.ReadDurations(path, text, r.Program, r.Findings.Net, boot)
	if gone > 0 {
		fmt.Fprintf(s.err, "%s: %d recorded roles are not in the template\n", path, gone)
	}
	return of, err
}

func readInput(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	return io.ReadAll(io.LimitReader(in, maxRecord))
}

// maxRecord is how many bytes are read from a pipe.
const maxRecord = 64 << 20

func point(seconds float64) string {
	if seconds < 0 {
		return "never"
	}
	return timeline.FormatSeconds(seconds)
}

func blocked(t timeline.Task) string {
	if n := len(t.Waits); n > 0 && t.Waits[n-1].To < 0 {
		return "forever"
	}
	if t.Blocked == 0 {
		return "-"
	}
	return timeline.FormatSeconds(t.Blocked)
}

func on(t timeline.Task) string {
	return strings.Join(lists.Map(t.Waits, func(w timeline.Wait) string { return w.Cell }), ", ")
}
