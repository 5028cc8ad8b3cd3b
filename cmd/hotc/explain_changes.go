package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/analysis/follow"
	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

// change is something that can change, as `hotc explain --changes` tells it (docs/json.md).
type change struct {
	Change  string    `json:"change"` // "role db.mysql", "server db", "parameter level"
	Reaches []reached `json:"reaches"`
	Keeps   []keeps   `json:"keeps"`
	// Preview is all that runs, with what the change itself concerns.
	Preview *previewReport `json:"preview"`
}

type reached struct {
	Role  string     `json:"role"`
	How   follow.How `json:"how"`
	After []string   `json:"after,omitempty"`
}

type keeps struct {
	Role  string `json:"role"`
	Input string `json:"input"`
	At    string `json:"at"`
	Why   string `json:"why"`
}

func explainChanges(s streams, r *emit.Result, chosen, template, durations string, asJSON bool) error {
	if r.Findings.Cyclic {
		return errReported // the cycle is said
	}
	d := timeline.Durations{Boot: timeline.UsualBoot, Role: timeline.UsualRole, Make: timeline.UsualMake}
	if durations != "" {
		var err error
		if d.Of, err = readDurations(durations, r, d.Boot, s); err != nil {
			return err
		}
	}
	list := []change{}
	for _, c := range follow.Changes(r.Program, r.Analysis, r.Findings.Heat, d) {
		if chosen == "" || c.What == chosen || strings.HasSuffix(c.What, " "+chosen) {
			list = append(list, changeOf(c))
		}
	}
	if len(list) == 0 && chosen != "" {
		return source.Fail(source.UnknownName, fmt.Sprintf("no role reads anything of %q", chosen), "`hotc explain --changes "+shellQuote(template)+"` lists what roles read something of")
	}
	if asJSON {
		return printJSON(s.out, map[string]any{"changes": list})
	}
	printChangesReach(s, list)
	return nil
}

func changeOf(c follow.Change) change {
	out := change{Change: c.What, Reaches: []reached{}, Keeps: []keeps{}, Preview: reportPreview(c.Preview)}
	for _, x := range c.Reaches {
		to := reached{Role: string(x.Role.Key()), How: x.How}
		for _, after := range x.After {
			if key := string(after.Key()); "role "+key != c.What { // that it comes after what changes goes without saying
				to.After = append(to.After, key)
			}
		}
		slices.Sort(to.After)
		out.Reaches = append(out.Reaches, to)
	}
	for _, k := range c.Keeps {
		out.Keeps = append(out.Keeps, keeps{Role: string(k.Input.Role.Key()), Input: k.Input.Name, At: k.At.String(), Why: k.Why})
	}
	return out
}

// printChangesReach prints a table with a row for each role that a change reaches, or not.
func printChangesReach(s streams, list []change) {
	if len(list) == 0 {
		fmt.Fprintln(s.out, "no role reads anything that can change")
		return
	}
	t := &table{width: s.width(), columns: []column{{"CHANGE", 12}, {"ROLE", 12}, {"WHAT THEN", 24}}}
	for _, c := range list {
		what := c.Change
		row := func(role, then string) {
			t.add(what, role, then)
			what = ""
		}
		for _, x := range c.Reaches {
			then := map[follow.How]string{follow.Hook: "its hook update runs", follow.Again: "it runs again",
				follow.Apply: "as soon as it is compiled with the other value and applied: it is brought up to date"}[x.How]
			if len(x.After) > 0 {
				then += ", once, after " + strings.Join(x.After, ", ")
			}
			row(x.Role, then)
		}
		for _, k := range c.Keeps {
			row(k.Role, fmt.Sprintf("not reached: keeps input %s (%s): %s", k.Input, k.At, k.Why))
		}
		if len(c.Preview.Runs) > 1 {
			row("", c.Preview.headline())
		}
	}
	fmt.Fprint(s.out, t.String())
}
