package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// statement is what a script of the benchmark does: it works for so many units, reads
// an input, or writes its output.
type statement struct {
	work        int
	read, write bool
}

var (
	read  = statement{read: true}
	write = statement{write: true}
)

func work(units int) statement { return statement{work: units} }

// planned is the role of one server, and the servers whose outputs it reads, all by the
// same statement.
type planned struct {
	from       []string
	statements []statement
}

// deployments are sets of scripts with early and late reads; servers are named in an
// order in which all that they read from come before them.
var deployments = []struct {
	name    string
	servers []string
	scripts map[string]planned
}{
	// Everything is installed before anything is configured: each waits for the one
	// before it in the middle of its work.
	{"late-chain", []string{"a", "b", "c", "d"}, map[string]planned{
		"a": {nil, []statement{work(4), write, work(2)}},
		"b": {[]string{"a"}, []statement{work(4), read, work(1), write, work(2)}},
		"c": {[]string{"b"}, []statement{work(4), read, work(1), write, work(2)}},
		"d": {[]string{"c"}, []statement{work(4), read, work(1), write}},
	}},
	// Nothing can be done before the read: laziness gains what comes after the writes.
	{"early-chain", []string{"a", "b", "c"}, map[string]planned{
		"a": {nil, []statement{work(1), write, work(5)}},
		"b": {[]string{"a"}, []statement{read, work(1), write, work(5)}},
		"c": {[]string{"b"}, []statement{read, work(5)}},
	}},
	{"diamond", []string{"db", "app1", "app2", "lb"}, map[string]planned{
		"db":   {nil, []statement{work(3), write, work(3)}},
		"app1": {[]string{"db"}, []statement{work(5), read, work(1), write}},
		"app2": {[]string{"db"}, []statement{work(1), read, work(3), write, work(2)}},
		"lb":   {[]string{"app1", "app2"}, []statement{work(3), read, work(1)}},
	}},
}

const unit = 0.25 // seconds

// text is the script, which notes when each of its statements begins and ends. Reads are
// plain variables and writes assignments, which hotc intercepts.
func (s planned) text(name, log string) string {
	var b strings.Builder
	b.WriteString("#!/bin/bash\nset -eu\n")
	for i, x := range s.statements {
		fmt.Fprintf(&b, "begin=$EPOCHREALTIME\n")
		switch {
		case x.read:
			for _, from := range s.from {
				fmt.Fprintf(&b, "echo \"$in_%s\"\n", from)
			}
		case x.write:
			b.WriteString("out=value\n")
		default:
			fmt.Fprintf(&b, "sleep %g\n", float64(x.work)*unit)
		}
		fmt.Fprintf(&b, "echo %s %d $begin $EPOCHREALTIME >>%s\n", name, i, log)
	}
	return b.String()
}

func (s planned) writes() bool { return slices.Contains(s.statements, write) }

// ideal is the critical path of the statements in seconds: every script begins at once,
// and a value is there the moment that it is written. A statement's work takes as long as
// it took.
func ideal(servers []string, scripts map[string]planned, took map[statementKey]float64) (longest float64) {
	written := map[string]float64{}
	for _, name := range servers {
		now := 0.0
		for i, x := range scripts[name].statements {
			switch {
			case x.read:
				for _, from := range scripts[name].from {
					now = max(now, written[from])
				}
			case x.write:
				written[name] = now
			default:
				now += took[statementKey{name, i}]
			}
		}
		longest = max(longest, now)
	}
	return longest
}

// statementKey is a statement by its script and its place in that.
type statementKey struct {
	server string
	number int
}

// nominal is how long the statements would take on a machine that does nothing else.
func nominal(scripts map[string]planned) map[statementKey]float64 {
	took := map[statementKey]float64{}
	for name, s := range scripts {
		for i, x := range s.statements {
			took[statementKey{name, i}] = float64(x.work) * unit
		}
	}
	return took
}

// template is a deployment's template. Eager inputs are awaited before a role starts.
// Heat's own way is that of whole servers: one is begun when all that it needs
// something from have ended.
func template(servers []string, scripts map[string]planned, log string, eager, whole bool) string {
	var b strings.Builder
	b.WriteString("heat_template_version: 2018-08-31\nresources:\n")
	for _, name := range servers {
		s := scripts[name]
		fmt.Fprintf(&b, "  %s:\n    type: OS::Nova::Server\n    properties: {image: i, flavor: f}\n    metadata:\n      hotc:\n        roles:\n"+
			"          - name: r\n            driver: script\n            source: |\n", name)
		for line := range strings.Lines(s.text(name, log)) {
			b.WriteString("              " + line)
		}
		if len(s.from) > 0 {
			b.WriteString("            inputs:\n")
		}
		for _, from := range s.from {
			fmt.Fprintf(&b, "              in_%s: {value: {get_attr: [%s, out]}, eager: %v}\n", from, from, eager)
		}
		if whole && len(s.from) > 0 {
			fmt.Fprintf(&b, "            depends_on: [%s.r]\n", strings.Join(s.from, ".r, "))
		}
		if s.writes() {
			b.WriteString("            outputs: {out: {type: string}}\n")
		}
	}
	return b.String()
}

// BenchmarkOverlap prints how long a deployment takes from the first script's begin to
// the last one's end, beside its critical path: x-ideal takes each statement's work as
// long as it took in that run, on this machine with what else it does; x-nominal takes a
// sleep of a second as a second. Beside that, how many times longer it takes with eager
// reads and with whole servers in order. Booting is left out, which favours the latter.
func BenchmarkOverlap(b *testing.B) {
	agent := binary(b, "hotc-agent")
	hotc := binary(b, "hotc")
	for _, d := range deployments {
		b.Run(d.name, func(b *testing.B) {
			took := map[string]float64{}
			best, least := 0.0, ideal(d.servers, d.scripts, nominal(d.scripts))
			for b.Loop() {
				for _, way := range []string{"lazy", "eager", "whole"} {
					makespan, statements := play(b, hotc, agent, func(log string) string {
						return template(d.servers, d.scripts, log, way == "eager", way == "whole")
					})
					took[way] += makespan
					if way == "lazy" {
						best += ideal(d.servers, d.scripts, statements)
					}
				}
			}
			b.ReportMetric(took["lazy"]/best, "x-ideal")
			b.ReportMetric(took["lazy"]/(least*float64(b.N)), "x-nominal")
			b.ReportMetric(took["eager"]/took["lazy"], "x-faster-than-eager")
			b.ReportMetric(took["whole"]/took["lazy"], "x-faster-than-whole-servers")
			b.ReportMetric(least, "s-nominal")
		})
	}
}

// play runs a deployment. It returns how long that took, and how long each statement.
func play(b *testing.B, hotc, agent string, template func(log string) string) (makespan float64, took map[statementKey]float64) {
	b.Helper()
	dir := b.TempDir()
	log := filepath.Join(dir, "times")
	site := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(site, []byte(template(log)), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command(hotc, "run", "--agent", agent, "--workdir", filepath.Join(dir, "work"), site).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		b.Fatal(err)
	}
	took = map[statementKey]float64{}
	first, last := math.Inf(1), 0.0
	for line := range strings.Lines(strings.ReplaceAll(string(text), ",", ".")) {
		var key statementKey
		var begin, end float64
		if _, err := fmt.Sscanf(line, "%s %d %f %f", &key.server, &key.number, &begin, &end); err != nil {
			b.Fatalf("%q: %v", line, err)
		}
		took[key] = end - begin
		first, last = min(first, begin), max(last, end)
	}
	return last - first, took
}
