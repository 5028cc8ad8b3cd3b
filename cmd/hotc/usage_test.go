package main

import (
	"cmp"
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag's value has a short name in its help: a text in backquotes that was meant as a
// command would become one.
func TestFlagsNameTheirValues(t *testing.T) {
	name := regexp.MustCompile(`^([A-Z]+(=[A-Z]+)?|[a-z]+(\|[a-z]+)+|)$`)
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); !name.MatchString(value) {
				t.Errorf("%s --%s takes %q", c.CommandPath(), f.Name, value)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand(streams{}))
}

// Help fits into a terminal of 80 columns.
func TestHelpFits(t *testing.T) {
	var visit func(c *cobra.Command, words []string)
	visit = func(c *cobra.Command, words []string) {
		var out strings.Builder
		run(t.Context(), append(words, "--help"), streams{out: &out, err: &out})
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpColumns {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub, append(slices.Clone(words), sub.Name()))
		}
	}
	visit(newRootCommand(streams{}), nil)
}

// Whoever gives a flag what it does not take is told what it takes, whatever its type.
func TestValuesOfFlags(t *testing.T) {
	for line, want := range map[string]string{
		"up site.yaml --stack x --stack-timeout two": `--stack-timeout takes a whole number, not "two"`,
		"root new --max-nodes 1.5":                   `--max-nodes takes a whole number, not "1.5"`,
		"simulate site.yaml --boot x":                `--boot takes a number, not "x"`,
		"status --timeout 5":                         `--timeout takes a time such as 15s or 2m, not "5"`,
		"lint --untrusted=perhaps .":                 `--untrusted takes true or false, not "perhaps"`,
	} {
		var errs strings.Builder
		status := run(t.Context(), strings.Fields(line), streams{in: strings.NewReader(""), out: io.Discard, err: &errs})
		if status != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("hotc %s ends with %d: %s", line, status, errs.String())
		}
	}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); takes[kind] == "" && !strings.HasPrefix(kind, "string") {
				t.Errorf("nothing says what %s --%s takes, which is %s", c.CommandPath(), f.Name, kind)
			}
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand(streams{}))
}

// Whoever leaves an argument out, or gives one too many, is told which.
func TestArguments(t *testing.T) {
	for line, want := range map[string]string{
		"up":             "TEMPLATE is missing: hotc up TEMPLATE NAME [flags]",
		"lint":           "FILE|FOLDER is missing: hotc lint FILE|FOLDER... [flags]",
		"relay key":      "FILE is missing: hotc relay key FILE NAME [flags]",
		"action db":      "SERVER.ROLE is missing: hotc action NAME SERVER.ROLE ACTION [KEY=VALUE]… [flags]",
		"list a":         `too many arguments: "a": hotc list [flags]`,
		"explain a b c":  `too many arguments: "c": hotc explain TEMPLATE [REFERENCE] [flags]`,
		"compile a b -o": "flag needs an argument",
	} {
		root := newRootCommand(streams{out: io.Discard, err: io.Discard})
		root.SetArgs(strings.Fields(line))
		if err := root.ExecuteContext(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("hotc %s: %v, want %q", line, err, want)
		}
	}
}

// Every command that is about a deployment asks in one order, with the same words: for the stack, for
// what lies on this machine, for the coordinator, for the secret.
func TestWhatIsMissingIsAskedForInOneOrder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, v := range []string{coordinatorVariable, secretFileVariable, relayKeyVariable, rootKeyVariable} {
		t.Setenv(v, "")
	}
	arguments := map[string][]string{"up": {"none.yaml"}, "apply": {"none"}, "retry": {"db"}, "logs": {"db.mysql"}, "admit": {"db"}, "action": {"db.mysql", "dump"}, "relay key": {t.TempDir() + "/key"},
		"suspend": {"--run-hooks"}, "resume": {"--run-hooks"}}
	local := map[string]string{"up": "none.yaml", "apply": "none/plan.json"}
	ask := func(name string, flags ...string) string {
		var errs strings.Builder
		args := append(strings.Fields(name), append(arguments[name], flags...)...)
		run(t.Context(), args, streams{in: strings.NewReader(""), out: io.Discard, err: &errs})
		return errs.String()
	}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		name := strings.TrimPrefix(c.CommandPath(), "hotc ")
		if c.Flags().Lookup("stack") == nil || c.Flags().Lookup("secret-file") == nil || name == "down" || c.RunE == nil {
			return
		}
		then := "which coordinator?"
		if name == "relay key" {
			then = "which secret?"
		}
		for _, x := range []struct {
			want  string
			flags []string
		}{
			{"which stack?", nil},
			{cmp.Or(local[name], then), []string{"--stack", "s"}},
			{"is not a valid stack name", []string{"--stack", "a b"}},
		} {
			if got := ask(name, x.flags...); !strings.Contains(got, x.want) {
				t.Errorf("hotc %s %v says %q, want %q", name, x.flags, got, x.want)
			}
		}
		if local[name] != "" || then == "which secret?" {
			return
		}
		if got := ask(name, "--stack", "s", "--coordinator", "zk://127.0.0.1:1/hotc"); !strings.Contains(got, "which secret?") {
			t.Errorf("hotc %s says %q", name, got)
		}
	}
	visit(newRootCommand(streams{}))
}
