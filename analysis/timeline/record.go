package timeline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/analysis/waits"
	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// UnmarshalYAML reads both forms: seconds, or a map.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&d.Seconds)
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if key := n.Content[i].Value; !slices.Contains([]string{"seconds", "worst", "retries"}, key) {
				return fmt.Errorf("line %d: %q is not one of seconds, worst, retries", n.Content[i].Line, key)
			}
		}
	}
	type plain Duration
	return n.Decode((*plain)(d))
}

// record is the record of a previous run: the output of `hotc status --json` or of
// `hotc run --json`.
type record struct {
	Servers []recordServer `yaml:"servers"`
}

type recordServer struct {
	Path  contract.ServerPath `yaml:"path"`
	Roles []recordRole        `yaml:"roles"`
}

type recordRole struct {
	Name    string    `yaml:"name"`
	Status  string    `yaml:"status"`
	ByHand  bool      `yaml:"by_hand"`
	Started time.Time `yaml:"started"`
	Ended   time.Time `yaml:"ended"`
	Blocked float64   `yaml:"blocked_seconds"`
}

// ReadDurations reads durations from a text: a map of names, or the record of a previous run,
// in which gone roles are no longer in the template. boot is the usual duration of a boot.
func ReadDurations(name string, text []byte, p *program.Program, n *waits.Net, boot float64) (of map[string]Duration, gone int, err error) {
	var shape struct {
		Servers yaml.Node `yaml:"servers"`
	}
	if yaml.Unmarshal(text, &shape) == nil && shape.Servers.Kind == yaml.SequenceNode {
		var rec record
		if err := yaml.Unmarshal(text, &rec); err != nil {
			return nil, 0, source.Fail(source.CannotRead, fmt.Sprintf("%s is not the output of `hotc status --json`: %v", name, err), "")
		}
		return rec.durations(name, p, boot)
	}
	if err := yaml.Unmarshal(text, &of); err != nil {
		return nil, 0, source.Fail(source.CannotRead, fmt.Sprintf("%s is not a map of names to seconds: %v", name, err), "for example `db.mysql: 90`, or the output of `hotc status --json` for a previous run")
	}
	known := timedNames(n)
	for _, thing := range slices.Sorted(maps.Keys(of)) {
		d := of[thing]
		switch {
		case !known[thing]:
			return nil, 0, source.Fail(source.UnknownName, fmt.Sprintf("%s: there is no %q in the template", name, thing), "the names are SERVER.ROLE, SERVER, and those of other resources")
		case !isDuration(d.Seconds) || !isDuration(d.Worst) || d.Retries < 0 || d.Retries > 1000:
			return nil, 0, source.Fail(source.Usage, fmt.Sprintf("%s: %s cannot take %g seconds, %g at worst, with %d retries", name, thing, d.Seconds, d.Worst, d.Retries), "")
		}
	}
	return of, 0, nil
}

// longest is the longest duration, in seconds: a year.
const longest = 366 * 24 * 3600

func isDuration(seconds float64) bool { return seconds >= 0 && seconds <= longest } // excludes NaN

// timedNames are the names of everything that has a duration.
func timedNames(n *waits.Net) map[string]bool {
	known := map[string]bool{}
	for _, p := range n.Processes {
		for _, t := range p.Tasks {
			known[p.Name] = true
			known[p.Name+"."+t.Name] = known[p.Name+"."+t.Name] || !t.Heat
		}
	}
	return known
}

// durations are those of the roles in a record that the template still has. A role's own
// work is its time without its waits. For boots a record shows only how much later than
// the first one a server's first role began: the first is assumed to boot in the usual
// time.
func (rec *record) durations(name string, p *program.Program, boot float64) (of map[string]Duration, gone int, err error) {
	of = map[string]Duration{}
	var began time.Time
	for _, server := range rec.Servers {
		if first := server.firstBegan(p); !first.IsZero() && (began.IsZero() || first.Before(began)) {
			began = first
		}
	}
	for _, server := range rec.Servers {
		if first := server.firstBegan(p); !first.IsZero() {
			of[string(server.Path)] = Duration{Seconds: boot + first.Sub(began).Seconds()}
		}
		var before time.Time
		for _, role := range server.Roles {
			if !role.counts() {
				continue
			}
			declared := roleOf(p, server.Path, role.Name)
			if declared == nil {
				gone++
				continue
			}
			of[string(declared.Key())] = Duration{Seconds: role.work(declared, before)}
			before = role.Ended
		}
	}
	if len(of) == 0 {
		return nil, 0, source.Fail(source.CannotRead, fmt.Sprintf("%s records no completed role of this template", name), "use the output of `hotc status --json` for a completed deployment, or of `hotc run --json`")
	}
	return of, gone, nil
}

// counts says whether a role has completed, not started by hand.
func (role *recordRole) counts() bool {
	return role.Status == "done" && !role.ByHand && !role.Started.IsZero() && !role.Ended.Before(role.Started)
}

// work is the duration of a role's own work. Its waits before it began are not part of the
// time from its start to its end.
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
// otherwise zero.
func (server *recordServer) firstBegan(p *program.Program) time.Time {
	if len(server.Roles) == 0 || !server.Roles[0].counts() {
		return time.Time{}
	}
	declared := roleOf(p, server.Path, server.Roles[0].Name)
	if declared == nil || startsLate(declared) {
		return time.Time{}
	}
	return server.Roles[0].Started
}

func roleOf(p *program.Program, server contract.ServerPath, name string) *program.Role {
	if s := p.Server(server); s != nil {
		return s.Role(name)
	}
	return nil
}
