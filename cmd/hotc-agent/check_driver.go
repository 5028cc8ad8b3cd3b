package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/terminal"
	"github.com/hotc-dev/hotc/runtime/driver/plugin"
)

// repeated are the values of a flag that may be given more than once.
type repeated []string

func (r *repeated) String() string { return "" }

func (r *repeated) Set(value string) error {
	*r = append(*r, value)
	return nil
}

// checkDriver tests a plug-in for its author (docs/plugins.md).
func checkDriver(ctx context.Context, args []string, s streams) error {
	flags := newFlags("check-driver", "PATH [flags]", "Tests whether a plug-in follows the protocol. With --source it runs the source on this\n"+
		"machine, in a folder of its own, three times: with its inputs, with a failing input,\n"+
		"and to be terminated.", s)
	file := flags.String("source", "", "`FILE` with a role's source: JSON if it is named .json, otherwise text")
	var inputs, outputs repeated
	flags.Var(&inputs, "input", "set an input of the role, to JSON or otherwise a string: `NAME=VALUE` (repeatable)")
	flags.Var(&outputs, "output", "declare an output of the role: `NAME[:TYPE]` (repeatable)")
	patience := flags.Duration("patience", 0, "`DURATION` that the plug-in may take to answer (default 1m)")
	if err := parse(flags, args, 1); err != nil {
		return err
	}
	path, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	trial := plugin.NewTrial(path)
	if *patience > 0 {
		trial.Patience = *patience
	}
	if trial.Source, err = readSource(*file); err != nil {
		return err
	}
	if trial.Inputs, err = trialInputs(inputs); err != nil {
		return err
	}
	if trial.Outputs, err = trialOutputs(outputs); err != nil {
		return err
	}
	if trial.Agent, err = os.Executable(); err != nil {
		return err
	}
	if trial.Folder, err = os.MkdirTemp("", "hotc-check-"); err != nil {
		return err
	}
	defer os.RemoveAll(trial.Folder)
	trial.Environment = os.Environ()
	if trial.Said, err = os.Create(filepath.Join(trial.Folder, "said")); err != nil {
		return err
	}
	defer trial.Said.Close()
	return report(ctx, trial, s)
}

func report(ctx context.Context, trial *plugin.Trial, s streams) error {
	failed := 0
	say := func(result, check string, err error) {
		if err != nil {
			check += ": " + err.Error() // perhaps the plug-in's own text
		}
		fmt.Fprintf(s.out, "%-8s %s\n", result, terminal.Visible(check))
	}
	trial.Run(ctx, func(check string, err error) {
		var skipped *plugin.ErrSkipped
		switch {
		case err == nil:
			say("ok", check, nil)
		case errors.As(err, &skipped):
			say("SKIPPED", check, err)
		default:
			failed++
			say("FAILED", check, err)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed == 0 {
		return nil
	}
	if said, err := os.ReadFile(trial.Said.Name()); err == nil && len(said) > 0 {
		fmt.Fprintf(s.err, "what it printed:\n%s\n", said[max(0, len(said)-4<<10):])
	}
	return fmt.Errorf("%s does not follow the protocol: %d of its checks failed", filepath.Base(trial.Path), failed)
}

func readSource(file string) (json.RawMessage, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	if !strings.HasSuffix(file, ".json") {
		return json.Marshal(string(text))
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("the source %s is not JSON", file)
	}
	return text, nil
}

func trialInputs(given []string) ([]plugin.TrialInput, error) {
	var inputs []plugin.TrialInput
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("--input takes NAME=VALUE, not %q", text)}
		}
		in := plugin.TrialInput{Name: name, Value: json.RawMessage(value)}
		if !json.Valid(in.Value) {
			in.Value, _ = json.Marshal(value)
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

func trialOutputs(given []string) ([]contract.Output, error) {
	var outputs []contract.Output
	for _, text := range given {
		name, kind := text, contract.JSON
		if i := strings.LastIndexByte(text, ':'); i > 0 && text[i-1] != ':' {
			name, kind = text[:i], contract.Type(text[i+1:])
		}
		if !slices.Contains([]contract.Type{contract.String, contract.Number, contract.Boolean, contract.List, contract.JSON}, kind) {
			return nil, usageError{fmt.Errorf("--output takes NAME or NAME:TYPE, where TYPE is string, number, boolean, list or json, not %q", text)}
		}
		outputs = append(outputs, contract.Output{Name: name, Type: kind})
	}
	return outputs, nil
}
