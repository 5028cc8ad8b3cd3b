package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/compiler/driver/plugin"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit"
)

func newLintCommand(s streams) *cobra.Command {
	var (
		in  compilation
		how linting
	)
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Say what is wrong with templates, and write nothing",
		Long: `Look at templates, with roles or without, as hotc compile would, and say what is wrong
with them. Nothing is written. Environment files may be among the files; those of -e
hold for all templates. - is standard input, which is called what --stdin-name says.

The status is 0 if there is no error, 1 if there is one, 2 if hotc was called wrongly.
With --strict warnings count as errors do.

--untrusted is for templates of strangers, as a pipeline gets them: nothing outside of a
template's own folder is read but what -e names, no link leads out of it, no plug-in is
started, and time and memory are bounded.

  --format text   for people, with the line of the template and what to do (the default)
  --format line   a line for each: FILE:LINE:COLUMN: SEVERITY: TEXT [CODE]
  --format json   for programs; --json is short for it
  --format sarif  SARIF 2.1.0, which code hosts and editors show beside the text`,
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
			if err := found.write(s, how.format); err != nil {
				return err
			}
			if errors, warnings := found.count(); errors > 0 || how.strict && warnings > 0 {
				return errReported
			}
			return nil
		},
	}
	in.addFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&how.format, "format", "text", "text, line, json or sarif")
	f.BoolVar(&how.json, "json", false, "the same as --format json")
	f.BoolVar(&how.strict, "strict", false, "warnings make the status 1, too")
	f.BoolVar(&how.untrusted, "untrusted", false, "read nothing outside of the template's folder, start no plug-in, bound time and memory")
	f.StringVar(&how.stdinName, "stdin-name", "stdin.yaml", "what standard input is called: files that it names are found from there")
	return cmd
}

// linting are the flags of hotc lint alone.
type linting struct {
	format       string
	json, strict bool
	untrusted    bool
	stdinName    string
}

func (l *linting) check(args []string) error {
	if l.json {
		l.format = "json"
	}
	switch l.format {
	case "text", "line", "json", "sarif":
	default:
		return usageError{fmt.Errorf("--format is text, line, json or sarif, not %q", l.format)}
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

// lint looks at each file. What is found again by way of another template is kept
// once, and a template that another one nests is judged by what that one gives it.
func (l *linting) lint(ctx context.Context, args []string, o emit.Options, s streams) (*lintReport, error) {
	report := &lintReport{files: len(args)}
	found, nested := make([][]*source.Diagnostic, len(args)), map[string]bool{}
	for i, name := range args {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o.Template, o.Text = filepath.Clean(name), nil // as other templates name it
		if name == "-" {
			text, err := readWithin(ctx, name, s.in, emit.MaxFile)
			if ctx.Err() != nil {
				return nil, interrupted()
			}
			if err != nil {
				return nil, fmt.Errorf("read standard input: %w", err)
			}
			o.Template, o.Text = l.stdinName, append([]byte{}, text...)
		}
		diags, uses, err := l.look(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, path := range uses {
			nested[absolute(path)] = true
		}
		found[i] = diags.All()
	}
	seen := map[string]bool{}
	for i, name := range args {
		if nested[absolute(name)] {
			continue
		}
		for _, d := range found[i] {
			if key := d.Essence(); !seen[key] {
				seen[key] = true
				report.found = append(report.found, d)
			}
		}
	}
	return report, nil
}

// look looks at one file. It returns the templates that were looked at with it.
func (l *linting) look(ctx context.Context, o emit.Options) (diags *source.Diagnostics, nested []string, err error) {
	diags = &source.Diagnostics{}
	if !l.untrusted {
		return diags, emit.Lint(o, diags), nil
	}
	access, err := emit.Confine(o.Template, o.Environments)
	if d, cannot := source.AsDiagnostic(err); cannot {
		diags.Add(d)
		return diags, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	o.Access = access
	err = within(ctx, untrustedTime, untrustedMemory, o.Template, func() { nested = emit.Lint(o, diags) })
	return diags, nested, err
}

// absolute is a path by which files are compared.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return filepath.Clean(path)
}
