package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/emit"
)

// durationEntry is what a file of durations says of one name: seconds, or a map.
type durationEntry struct {
	Seconds float64 `yaml:"seconds"`
	Worst   float64 `yaml:"worst"`
	Retries int     `yaml:"retries"`
}

// UnmarshalYAML reads both forms.
func (d *durationEntry) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.Seconds)
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i].Value; !slices.Contains([]string{"seconds", "worst", "retries"}, key) {
				return fmt.Errorf("line %d: %q is none of seconds, worst and retries", n.Content[i].Line, key)
			}
		}
	}
	type plain durationEntry
	return n.Decode((*plain)(d))
}

// record is what a former run left: the output of `hotc status --json` or of
// `hotc run --json`.
type record struct {
	Servers []recordServer `yaml:"servers"`
}

type recordServer struct {
	Path  string       `yaml:"path"`
	Roles []recordRole `yaml:"roles"`
}

type recordRole struct {
	Name    string    `yaml:"name"`
	Status  string    `yaml:"status"`
	ByHand  bool      `yaml:"by_hand"`
	Started time.Time `yaml:"started"`
	Ended   time.Time `yaml:"ended"`
	Blocked float64   `yaml:"blocked_seconds"`
}

// readDurations reads how long things take: a map of names, or the record of a former
// run. "-" is standard input.
func readDurations(path string, r *emit.Result, boot float64, s streams) (map[string]timeline.Duration, error) {
	text, err := readInput(path, s.in)
	if err != nil {
		return nil, source.Fail(source.CannotRead, fmt.Sprintf("cannot read %s: %v", path, err), "")
	}
	var rec record
	var shape struct {
		Servers yaml.Node `yaml:"servers"`
	}
	if yaml.Unmarshal(text, &shape) == nil && shape.Servers.Kind == yaml.SequenceNode {
		if err := yaml.Unmarshal(text, &rec); err != nil {
			return nil, source.Fail(source.CannotRead, fmt.Sprintf("%s is not what `hotc status --json` prints: %v", path, err), "")
		}
		return rec.durations(path, r, boot, s)
	}
	entries := map[string]durationEntry{}
	if err := yaml.Unmarshal(text, &entries); err != nil {
		return nil, source.Fail(source.CannotRead, fmt.Sprintf("%s is not a map of names to seconds: %v", path, err), "for example `db.mysql: 90`, or what `hotc status --json` printed of a former run")
	}
	of := map[string]timeline.Duration{}
	known := timedNames(r)
	for name, e := range entries {
		switch {
		case !known[name]:
			return nil, source.Fail(source.UnknownName, fmt.Sprintf("%s: there is no %q in the template", path, name), "the names are SERVER.ROLE, SERVER, and those of other resources")
		case !isDuration(e.Seconds) || !isDuration(e.Worst) || e.Retries < 0 || e.Retries > 1000:
			return nil, source.Fail(source.Usage, fmt.Sprintf("%s: %s cannot take %g seconds, %g at worst, with %d retries", path, name, e.Seconds, e.Worst, e.Retries), "")
		}
		of[name] = timeline.Duration(e)
	}
	return of, nil
}

// longest is the longest time that anything may take, in seconds: a year.
const longest = 366 * 24 * 3600

func isDuration(seconds float64) bool { return seconds >= 0 && seconds <= longest } // and no NaN

func readInput(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	return io.ReadAll(io.LimitReader(in, maxRecord))
}

// maxRecord is how much of a record is read from a pipe, in bytes.
const maxRecord = 64 << 20

// timedNames are the names of all that takes time.
func timedNames(r *emit.Result) map[string]bool {
	known := map[string]bool{}
	for _, p := range r.Findings.Net.Processes {
		for _, t := range p.Tasks {
			known[p.Name] = true
			known[p.Name+"."+t.Name] = known[p.Name+"."+t.Name] || !t.Heat
		}
	}
	return known
}

// durations are what a record says of the roles that the template still has. A role's
// own work is its time without its waits. Of boots a record tells only how much later
// than the first one a server's first role began: the first counts as booted in the
// usual time.
func (rec *record) durations(path string, r *emit.Result, boot float64, s streams) (map[string]timeline.Duration, error) {
	of := map[string]timeline.Duration{}
	gone := 0
	var began time.Time
	for _, server := range rec.Servers {
		if first := server.firstBegan(r); !first.IsZero() && (began.IsZero() || first.Before(began)) {
			began = first
		}
	}
	for _, server := range rec.Servers {
		if first := server.firstBegan(r); !first.IsZero() {
			of[server.Path] = timeline.Duration{Seconds: boot + first.Sub(began).Seconds()}
		}
		var before time.Time
		for _, role := range server.Roles {
			if !role.counts() {
				continue
			}
			declared := roleOf(r, server.Path, role.Name)
			if declared == nil {
				gone++
				continue
			}
			of[declared.Key()] = timeline.Duration{Seconds: role.work(declared, before)}
			before = role.Ended
		}
	}
	if len(of) == 0 {
		return nil, source.Fail(source.CannotRead, fmt.Sprintf("%s records no role of this template that has run to its end", path), "`hotc status --json` of a deployment that is done, or `hotc run --json`")
	}
	if gone > 0 {
		fmt.Fprintf(s.err, "%s: %d roles of the record are not in the template\n", path, gone)
	}
	return of, nil
}

// counts says whether a role has run, by itself and to its end.
func (role *recordRole) counts() bool {
	return role.Status == string(coordinator.RoleDone) && !role.ByHand && !role.Started.IsZero() && !role.Ended.Before(role.Started)
}

// work is how long a role has worked. What it waited for before it began is not a part
// of the time from its start to its end.
func (role *recordRole) work(declared *program.Role, before time.Time) float64 {
	blocked := role.Blocked
	if startsLate(declared) {
		gap := blocked
		if !before.IsZero() {
			gap = math.Max(0, role.Started.Sub(before).Seconds())
		}
		blocked = math.Max(0, blocked-gap)
	}
	return math.Max(0, role.Ended.Sub(role.Started).Seconds()-blocked)
}

// startsLate says whether a role waits for something before it begins.
func startsLate(role *program.Role) bool {
	return len(role.DependsOn) > 0 || slices.ContainsFunc(role.Inputs, func(in *program.Input) bool { return in.Eager })
}

// firstBegan is when the server's first role began, if it waited for nothing before;
// zero if that is not known.
func (server *recordServer) firstBegan(r *emit.Result) time.Time {
	if len(server.Roles) == 0 || !server.Roles[0].counts() {
		return time.Time{}
	}
	declared := roleOf(r, server.Path, server.Roles[0].Name)
	if declared == nil || startsLate(declared) {
		return time.Time{}
	}
	return server.Roles[0].Started
}

func roleOf(r *emit.Result, server, name string) *program.Role {
	if s := r.Program.Server(server); s != nil {
		return s.Role(name)
	}
	return nil
}
