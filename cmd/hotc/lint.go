package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/driver/plugin"
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
		Short: "Say what is wrong with templates, and write nothing",
		Long: `Look at templates, with roles or without, as hotc compile would, and say what is wrong
with them. Nothing is written. In a folder the templates and environments are found, by
what they say. A template that another one nests is judged by what that one gives it.
Environment files may be among the files; those of -e hold for all templates. - is
standard input, which is called what --stdin-name says.

The status is 1 if there is an error, or whatever is as bad as --fail-on says, else 0; it
is 2 if hotc was called wrongly.

--untrusted is for templates of strangers, as a pipeline gets them: nothing outside of a
template's own folder (or of the folder that is named) is read but what -e names, no link
leads out of it, no plug-in is started, and time and memory are bounded.

` + formatHelp(),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := how.check(args); err != nil {
				return err
			}
			o, err := in.options("")
			if err != nil {
				return err
			}
			if how.untrusted {
				o.Drivers = driversWith(plugin.Drivers{})
			}
			found, err := how.lint(cmd.Context(), args, o, s)
			if err != nil {
				return err
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
	f.StringVar(&how.format, "format", "text", anyOf(format.Names()))
	f.BoolVar(&how.json, "json", false, "the same as --format json")
	f.BoolVar(&how.strict, "strict", false, "the same as --fail-on warning")
	f.StringVar(&how.failOn, "fail-on", "error", anyOf(lint.Levels)+": from which severity on the status is 1")
	f.BoolVar(&how.untrusted, "untrusted", false, "read nothing outside of the template's folder, start no plug-in, bound time and memory")
	f.StringVar(&how.stdinName, "stdin-name", "stdin.yaml", "what standard input is called: files that it names are found from there")
	return cmd
}

// linting are the flags of hotc lint alone.
type linting struct {
	format       string
	json, strict bool
	untrusted    bool
	failOn       string
	level        lint.Level
	stdinName    string
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
	stdin := 0
	for _, a := range args {
		if a == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return usageError{fmt.Errorf("standard input can be read only once")}
	}
	return nil
}

// lint looks at files and folders.
func (l *linting) lint(ctx context.Context, args []string, o emit.Options, s streams) (*lint.Report, error) {
	var targets []lint.Target
	for _, name := range args { // - has its place among the others
		found, err := l.targets(ctx, name, s)
		if err != nil {
			return nil, err
		}
		targets = append(targets, found...)
	}
	report, err := lint.Run(ctx, lint.Unique(targets), lint.Options{Compile: o, Untrusted: l.untrusted, FailOn: l.level})
	if ctx.Err() != nil {
		return nil, interrupted()
	}
	return report, err
}

func (l *linting) targets(ctx context.Context, name string, s streams) ([]lint.Target, error) {
	if name != "-" {
		return lint.Find(ctx, name, l.untrusted)
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

// formatHelp tells of the formats.
func formatHelp() string {
	var out []string
	for _, f := range format.All {
		out = append(out, fmt.Sprintf("  --format %-10s %s", f.Name, f.For))
	}
	return strings.Join(out, "\n")
}

// anyOf is a choice: "a, b or c".
func anyOf(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
