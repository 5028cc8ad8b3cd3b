package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hotc-dev/hotc/analysis/explain"
	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/emit/lint/format"
	"github.com/hotc-dev/hotc/runtime/operate"
)

// answers are what commands print with --json.
var answers = map[string][]any{
	"secret new": nil, // a map of its two keys
	"root new":   {rootReport{}}, "root show": {rootReport{}},
	"list": {listReport{}}, "up": {upReport{}}, "down": {downReport{}},
	"apply": {applied{}}, "status": {status.Report{}}, "why": {status.WhyReport{}}, "admit": {operate.Admitted{}}, "logs": {logReport{}}, "outputs": {operate.Outputs{}},
	"destroy": {destroyed{}}, "action": {acted{}}, "suspend": {operate.Hooked{}}, "resume": {operate.Hooked{}}, "lint": {format.JSON{}}, "explain": {explain.Reference{}},
	"retry": {operate.Retried{}}, "simulate": {timeline.Prediction{}}, "run": {runReport{}}, "eval": {evaluated{}},
}

// describedElsewhere are objects that have a table of their own in docs/json.md.
var describedElsewhere = map[string][]reflect.Type{
	"":        {reflect.TypeFor[protocol.Cause]()},
	"destroy": {reflect.TypeFor[operate.Hooked]()},
}

// Every command that has --json has a section in docs/json.md, in which all of its keys
// stand; and no section names a key that is not printed.
func TestEveryKeyIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, text := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(text, "\n")
		for _, name := range regexp.MustCompile(`hotc ([a-z]+(?: [a-z]+)?)`).FindAllStringSubmatch(title, -1) {
			sections[name[1]] = text
		}
	}
	commands := commandsWithJSON(newRootCommand(streams{out: io.Discard, err: io.Discard}), "")
	if want := slices.Sorted(maps.Keys(answers)); !slices.Equal(commands, want) {
		t.Errorf("--json have %q, the test knows %q", commands, want)
	}
	if described := slices.Sorted(maps.Keys(sections)); !slices.Equal(commands, described) {
		t.Errorf("--json have %q, docs/json.md describes %q", commands, described)
	}
	for _, name := range commands {
		if answers[name] == nil {
			continue
		}
		keys := map[string]bool{}
		for _, answer := range answers[name] {
			keysOf(reflect.TypeOf(answer), slices.Concat(describedElsewhere[""], describedElsewhere[name]), keys)
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if !regexp.MustCompile("[`.]" + key + "`").MatchString(sections[name]) {
				t.Errorf("hotc %s: docs/json.md says nothing of %q", name, key)
			}
		}
		for _, key := range firstColumn(sections[name]) {
			if !keys[key] {
				t.Errorf("hotc %s: docs/json.md describes %q, which is not printed", name, key)
			}
		}
	}
}

func commandsWithJSON(c *cobra.Command, path string) (names []string) {
	if c.Flags().Lookup("json") != nil {
		names = append(names, path)
	}
	for _, below := range c.Commands() {
		names = append(names, commandsWithJSON(below, strings.TrimSpace(path+" "+below.Name()))...)
	}
	slices.Sort(names)
	return names
}

// keysOf collects the keys of a type's JSON, and of all below.
func keysOf(of reflect.Type, except []reflect.Type, keys map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		keysOf(of.Elem(), except, keys)
	case reflect.Struct:
		if slices.Contains(except, of) || of == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range of.NumField() {
			field := of.Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if key == "-" || !field.IsExported() && !field.Anonymous {
				continue
			}
			if key != "" {
				keys[key] = true
			}
			keysOf(field.Type, append(except, of), keys)
		}
	}
}

// firstColumn are the keys that stand in front of a section's first table.
func firstColumn(section string) (keys []string) {
	table := false
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			if table {
				break
			}
			continue
		}
		table = true
		cell := strings.Split(line, "|")[1]
		for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			key := found[1][strings.LastIndexByte(found[1], '.')+1:]
			keys = append(keys, strings.TrimSuffix(key, "[]"))
		}
	}
	return keys
}

// The exit statuses stand in docs/operations.md as the code has them, and on every man page.
func TestExitStatusesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Exit statuses\n\n| status | |\n|---|---|\n")
	table, rest, _ := strings.Cut(section, "\n\n")
	var want []string
	for _, x := range exitStatuses {
		want = append(want, fmt.Sprintf("| %d | %s |", x.status, x.meaning))
	}
	if got := strings.Split(table, "\n"); !slices.Equal(got, want) || !strings.HasPrefix(rest, actionStatus) {
		t.Errorf("docs/operations.md has %q, want %q", got, want)
	}
	dir := t.TempDir()
	if _, err := call(t, func(s streams) *cobra.Command { return newRootCommand(s) }, "man", dir); err != nil {
		t.Fatal(err)
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	for _, path := range pages {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, section, found := strings.Cut(string(text), ".SH EXIT STATUS\n")
		section, _, _ = strings.Cut(section, ".SH ")
		if !found || !strings.Contains(section, "\\fB3\\fP") || !strings.Contains(section, "has failed") {
			t.Errorf("%s does not say what 3 means: %q", path, section)
		}
	}
	if len(pages) < 20 {
		t.Errorf("only %d pages", len(pages))
	}
}
