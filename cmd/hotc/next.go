package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/emit"
)

// nextCommands are the commands that follow apply, quoted for a shell: create the stack, run a
// relay if Heat needs one, show the status. missing are the template's own parameters that
// still need a value.
func nextCommands(dir string, t *target, relay bool) (commands, missing []string) {
	template := filepath.Join(dir, "stack.yaml")
	words := []string{"openstack stack create -t", shellQuote(template)}
	for _, name := range environmentsOf(dir) {
		words = append(words, "-e", shellQuote(filepath.Join(dir, filepath.FromSlash(name))))
	}
	open := openParameters(template)
	if slices.Contains(open, contract.SecretParameter) {
		words = append(words, secretArgument(t.secretPath())...)
	}
	if slices.Contains(open, contract.CoordinatorParameter) {
		url, err := dial.Portable(t.coordinatorURL(), false)
		if err != nil {
			url = t.coordinatorURL()
		}
		words = append(words, "--parameter", shellQuote(contract.CoordinatorParameter+"="+url))
	}
	words = append(words, shellQuote(t.stack))
	missing = lists.Only(open, func(name string) bool {
		return name != contract.SecretParameter && name != contract.CoordinatorParameter
	})
	commands = []string{strings.Join(words, " ")}
	if relay {
		commands = append(commands, t.command("relay", "--once"))
	}
	return append(commands, t.command("status", "--watch")), missing
}

// environmentsOf are the environment files of a folder.
func environmentsOf(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(emit.EnvironmentsFile)))
	if err != nil {
		return nil
	}
	return slices.Collect(strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n"))
}

// secretArgument passes the secret to the client without showing it in the process list. The
// client looks for a --parameter-file next to the template.
func secretArgument(path string) []string {
	environment := path + environmentSuffix
	if _, err := os.Stat(environment); err == nil {
		return []string{"-e", shellQuote(environment)}
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return []string{"--parameter-file", shellQuote(contract.SecretParameter + "=" + path)}
}

// openParameters are a template's parameters without a default, in its order. A template that
// cannot be read is left to Heat to report.
func openParameters(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return []string{contract.SecretParameter}
	}
	t := hot.ParseTemplate(source.NewFile(path, text), &source.Diagnostics{})
	if t == nil {
		return nil
	}
	open := lists.Only(t.Parameters, func(p *hot.Parameter) bool { return p.Default == nil })
	return lists.Map(open, func(p *hot.Parameter) string { return p.Name })
}
