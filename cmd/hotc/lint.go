package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/rule"
	"github.com/hotc-dev/hotc/analysis/rule/pack"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/lint"
	"github.com/hotc-dev/hotc/emit/lint/format"
)

func newLintCommand(s streams) *cobra.Command {
	var (
		in  compilation
		how linting
	)
	cmd := &cobra.Command{
		Use:   "lint FILE|FOLDER...",
		Short: "Find mistakes in templates, with roles or without",
		Long: `Check templates, with roles or without, as hotc compile would. Nothing is written without
--fix. In a folder hotc finds templates and environments by their content. A nested
template is checked with the values that its parent passes. Environment files may be among
the files; those of -e apply to all templates. - reads standard input; --stdin-name is its
name.

The exit status is 1 if a finding has at least the severity of --fail-on (default: error),
otherwise 0; it is 2 for wrong usage.

--untrusted is for templates from unknown authors, as in a CI pipeline: hotc reads nothing
outside the template's own folder (or the folder that you name) except the files of -e,
follows no link out of it, starts no plug-in, and limits time and memory.

` + formatHelp(),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := how.check(args); err != nil {
				return err
			}
			anySignal := in.signal == autoSignal
			if anySignal {
				in.signal = string(contract.RelaySignals)
			}
			o, err := in.options("")
			if err != nil {
				return err
			}
			o.AnySignal = anySignal
			plugins := &pluginMachine{ctx: cmd.Context()}
			defer plugins.ended()
			if o.Drivers = driversWith(plugins); how.untrusted {
				o.Drivers = driversWith(nil)
			}
			how.cloud, o.Now = in.cloud, time.Now()
			if how.profile {
				o.Profile = &rule.Profile{}
			}
			want, err := how.options(o, cmd.Flags().Changed("fail-on"), s)
			if err != nil {
				return err
			}
			if how.shellcheck {
				if want.Compile.Shell = lint.Shellcheck(cmd.Context()); want.Compile.Shell == nil {
					fmt.Fprintln(s.err, "hotc: shellcheck is not installed: scripts were not checked with it")
				}
			}
			found, differs, err := how.lint(cmd.Context(), args, want, s)
			if err != nil {
				return err
			}
			if how.profile {
				printProfile(s, want.Compile.Profile)
			}
			if how.diff {
				if differs {
					return errReported
				}
				return nil
			}
			if how.writeBaseline {
				return how.keep(found, s)
			}
			if err := format.Write(s.out, how.format, found, s.outInk()); err != nil {
				return err
			}
			if found.Failed() {
				return errReported
			}
			return nil
		},
	}
	in.addFlags(cmd.Flags())
	f := cmd.Flags()
	signal := f.Lookup("signal")
	in.signal, signal.DefValue = autoSignal, autoSignal
	signal.Usage = "who reports to Heat when roles are done: `auto|heat|relay|none` (auto: a relay, as \"hotc up\" has it; what only --signal=heat can deploy is a warning)"
	f.StringVar(&how.format, "format", "text", "output `FORMAT`: "+anyOf(format.Names()))
	f.BoolVar(&how.json, "json", false, "the same as --format json")
	f.BoolVar(&how.strict, "strict", false, "the same as --fail-on warning")
	f.StringVar(&how.failOn, "fail-on", "error", "lowest `SEVERITY` for exit status 1: "+anyOf(lint.Levels))
	f.BoolVar(&how.untrusted, "untrusted", false, "read nothing outside the template's folder, start no plug-in, limit time and memory")
	f.StringVar(&how.config, "config", "", "configuration `FILE` (default: "+lint.ConfigName+" in this folder or, inside a git repository, in a parent folder; with --untrusted none)")
	f.BoolVar(&how.noConfig, "no-config", false, "ignore the configuration file")
	f.StringVar(&how.baseline, "baseline", "", "suppress the known findings in `FILE`")
	f.BoolVar(&how.writeBaseline, "write-baseline", false, "write the findings to the baseline")
	f.StringVar(&how.fix, "fix", "", "apply safe fixes, or with --fix=unsafe also guesses: `safe|unsafe`")
	f.Lookup("fix").NoOptDefVal = "safe"
	f.StringArrayVar(&how.packs, "pack", nil, "enable the rule pack `NAME` in addition to hotc's own rules: "+strings.Join(pack.Names(), ", ")+" (repeatable)")
	f.BoolVar(&how.profile, "profile", false, "print to standard error how long each rule took")
	f.BoolVar(&how.shellcheck, "shellcheck", false, "also check shell scripts in user_data with shellcheck, if it is installed")
	f.BoolVar(&how.diff, "diff", false, "print what --fix would change, and change nothing; exit status 1 if there are changes")
	f.StringVar(&how.stdinName, "stdin-name", "stdin.yaml", "`NAME` of standard input: files that it refers to are relative to it")
	return cmd
}

// linting holds the flags of hotc lint alone.
type linting struct {
	format       string
	json, strict bool
	untrusted    bool
	failOn       string
	level        lint.Level
	stdinName    string
	config       string
	noConfig     bool
	baseline     string
	fix          string // "", safe or unsafe
	diff         bool
	shellcheck   bool
	profile      bool
	// writeBaseline writes the baseline instead of using it.
	writeBaseline bool
	cloud         emit.Cloud
	packs         []string
}

func (l *linting) check(args []string) error {
	if l.json {
		l.format = "json"
	}
	if !format.Known(l.format) {
		return usageError{fmt.Errorf("--format is %s, not %q", anyOf(format.Names()), l.format)}
	}
	if l.strict {
		l.failOn = "warning"
	}
	var err error
	if l.level, err = lint.ParseLevel(l.failOn); err != nil {
		return usageError{fmt.Errorf("--fail-on is %s, not %q", anyOf(lint.Levels), l.failOn)}
	}
	if l.diff && l.fix == "" {
		l.fix = "safe"
	}
	if l.fix != "" && l.fix != "safe" && l.fix != "unsafe" {
		return usageError{fmt.Errorf("--fix is safe or unsafe, not %q", l.fix)}
	}
	stdin := len(lists.Only(args, func(name string) bool { return name == "-" }))
	if stdin > 0 && l.fix != "" && !l.diff {
		return usageError{fmt.Errorf("standard input cannot be fixed in place: --diff prints the changes")}
	}
	if stdin > 1 {
		return usageError{fmt.Errorf("standard input can be read only once")}
	}
	return nil
}

// options are those of the flags, and otherwise those of the configuration.
func (l *linting) options(o emit.Options, levelGiven bool, s streams) (lint.Options, error) {
	want := lint.Options{Compile: o, Untrusted: l.untrusted, FailOn: l.level}
	if l.config == "" && !l.noConfig && !l.untrusted { // an untrusted author must not configure the check
		l.config = lint.FindConfig()
	}
	if l.config != "" && !l.noConfig {
		var diags source.Diagnostics
		want.Config = lint.ReadConfig(l.config, &diags)
		if want.Config != nil {
			want.Compile.Types = want.Config.Cloud(l.cloud).Catalogue(&diags)
		}
		s.print(diags.All()...)
		if want.Config == nil || diags.Failed() {
			return want, exitWith{exitUsage, errReported}
		}
		if name := want.Config.FailOn; name != "" && !levelGiven && !l.strict {
			want.FailOn, _ = lint.ParseLevel(name) // the schema has checked it
		}
		l.shellcheck = l.shellcheck || want.Config.Shellcheck
		if l.baseline == "" {
			l.baseline = want.Config.Baseline
		}
	}
	names := l.packs
	if want.Config != nil {
		names = slices.Concat(want.Config.Packs, l.packs)
	}
	var err error
	if want.Compile.Packs, err = pack.Named(names); err != nil {
		return want, usageError{fmt.Errorf("--pack: %w", err)}
	}
	switch {
	case l.writeBaseline && l.baseline == "":
		return want, usageError{fmt.Errorf("--write-baseline needs --baseline FILE, or `baseline` in the configuration")}
	case l.baseline != "" && !l.writeBaseline:
		want.Known, err = lint.ReadKnown(l.baseline)
		return want, err
	}
	return want, nil
}

func (l *linting) keep(found *lint.Report, s streams) error {
	if err := found.WriteKnown(l.baseline); err != nil {
		return err
	}
	errors, warnings := found.Count()
	_, err := fmt.Fprintf(s.out, "%s: %s, %s\n", l.baseline, source.Counted(errors, "error"), source.Counted(warnings, "warning"))
	return err
}

// lint checks files and folders, and fixes them with --fix.
func (l *linting) lint(ctx context.Context, args []string, want lint.Options, s streams) (report *lint.Report, differs bool, err error) {
	var targets []lint.Target
	for _, name := range args { // - keeps its position
		found, err := l.targets(ctx, name, want.Config, s)
		if err != nil {
			return nil, false, err
		}
		targets = append(targets, found...)
	}
	var changes []lint.Change
	if targets = lint.Unique(targets); l.fix == "" {
		report, err = lint.Run(ctx, targets, want)
	} else {
		changes, report, err = lint.Fix(ctx, targets, want, l.fix == "unsafe")
	}
	if ctx.Err() != nil {
		return nil, false, interrupted()
	}
	for _, c := range changes {
		if err == nil && l.diff {
			name := filepath.ToSlash(c.Path)
			_, err = s.out.Write(diff.Diff("a/"+name, c.Before, "b/"+name, c.After))
		} else if err == nil {
			err = c.Write()
		}
	}
	return report, len(changes) > 0, err
}

func (l *linting) targets(ctx context.Context, name string, c *lint.Config, s streams) ([]lint.Target, error) {
	if name != "-" {
		return lint.Find(ctx, name, l.untrusted, c)
	}
	text, err := readWithin(ctx, name, s.in, emit.MaxFile)
	if ctx.Err() != nil {
		return nil, interrupted()
	}
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return []lint.Target{{Path: filepath.Clean(l.stdinName), Text: append([]byte{}, text...)}}, nil
}

// printProfile prints the time of each rule, the slowest first.
func printProfile(s streams, p *rule.Profile) {
	whole, rules := p.Sum()
	t := &table{width: s.width(), columns: []column{{"RULE", 0}, {"TIME", 0}, {"SHARE", 0}, {"LOOKS", 0}, {"", 12}}}
	share := func(of time.Duration) float64 { return of.Seconds() / max(whole.Seconds(), 1e-9) }
	rest := whole
	for _, x := range rules {
		rest -= x.Time
		over := ""
		if x.Over(whole) {
			over = fmt.Sprintf("more than its budget of %g %%", 100*rule.Budget)
		}
		t.add(string(x.Code), x.Time.Round(time.Microsecond).String(), fmt.Sprintf("%.1f %%", 100*share(x.Time)), fmt.Sprint(x.Runs), over)
	}
	t.add("stages", rest.Round(time.Microsecond).String(), fmt.Sprintf("%.1f %%", 100*share(rest)), "", "reading, names, order, types: the input of all rules")
	fmt.Fprint(s.err, t.String())
}

func formatHelp() string {
	return strings.Join(lists.Map(format.All, func(f format.Format) string { return fmt.Sprintf("  --format %-11s %s", f.Name, f.For) }), "\n")
}

// anyOf formats a choice: "a, b or c".
func anyOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
