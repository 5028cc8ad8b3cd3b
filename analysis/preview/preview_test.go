package preview_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/analysis/preview"
	"github.com/hotc-dev/hotc/analysis/timeline"
	"github.com/hotc-dev/hotc/compiler/contract"
)

// site parses roles, one per line: `web.app: y <- db.r:x` (what it writes, and what it follows).
func site(text string) *preview.Graph {
	var roles []preview.Role
	for line := range strings.Lines(text) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		writes, follows, _ := strings.Cut(rest, "<-")
		r := preview.Role{Key: contract.RoleKey(key), Server: contract.ServerPath(key[:strings.LastIndexByte(key, '.')]), How: preview.Hook}
		for _, o := range strings.Fields(writes) {
			r.Writes = append(r.Writes, contract.CellName(key+":"+o))
		}
		for _, c := range strings.Fields(follows) {
			r.Follows = append(r.Follows, preview.Followed{Cell: contract.CellName(c)})
		}
		roles = append(roles, r)
	}
	return preview.New(roles)
}

func show(p *preview.Preview) string {
	var b strings.Builder
	for _, s := range p.Runs {
		each := ""
		if s.Each {
			each = "each of "
		}
		fmt.Fprintf(&b, "%g-%g %s %s %s%v; ", s.Start, s.End, s.Role, s.How, each, s.After)
	}
	fmt.Fprintf(&b, "%g:", p.Seconds)
	for _, l := range p.Critical {
		b.WriteString(" " + l)
	}
	return b.String()
}

func TestPreview(t *testing.T) {
	const diamond = "a.r: x\nd.r: <- b.r:y c.r:z\nb.r: y <- a.r:x\nc.r: z <- a.r:x\ne.r: w <- a:address"
	roles := func(keys ...string) preview.Begin {
		b := preview.Begin{Roles: map[contract.RoleKey]preview.How{}}
		for _, k := range keys {
			b.Roles[contract.RoleKey(k)] = preview.Hook
		}
		return b
	}
	d := timeline.Durations{Boot: 100, Role: 10, Of: map[string]timeline.Duration{"c.r": {Seconds: 25}}}
	for name, c := range map[string]struct {
		site  string
		begin preview.Begin
		want  string
	}{
		"nothing":                     {diamond, preview.Begin{}, "0:"},
		"a role that nobody follows":  {diamond, roles("d.r"), "0-10 d.r hook []; 10: d.r"},
		"a diamond is one run":        {diamond, roles("a.r"), "0-10 a.r hook []; 10-20 b.r hook [a.r]; 10-35 c.r hook [a.r]; 35-45 d.r hook [b.r c.r]; 45: a.r c.r d.r"},
		"two that follow each other":  {diamond, roles("d.r", "c.r"), "0-25 c.r hook []; 25-35 d.r hook [c.r]; 35: c.r d.r"},
		"a new value":                 {diamond, preview.Begin{Cells: []contract.CellName{"a.r:x"}}, "0-10 b.r hook []; 0-25 c.r hook []; 25-35 d.r hook [b.r c.r]; 35: c.r d.r"},
		"a server that is replaced":   {diamond, preview.Begin{Replaced: []contract.ServerPath{"a"}, Cells: []contract.CellName{"a:address"}}, "0-10 e.r hook []; 100-110 a.r run []; 110-120 b.r hook [a.r]; 110-135 c.r hook [a.r]; 135-145 d.r hook [b.r c.r]; 145: a a.r c.r d.r"},
		"a server does one at a time": {"s.a: x\ns.b: <- s.a:x\ns.c: <- s.a:x", roles("s.a"), "0-10 s.a hook []; 10-20 s.b hook [s.a]; 20-30 s.c hook [s.a]; 30: s.a s.b s.c"},
		"members that join one by one": {"a.r: x\nb.r: y\nlb.r: <- a.r:x b.r:y", preview.Begin{Replaced: []contract.ServerPath{"a", "b"}},
			"100-110 a.r run []; 100-110 b.r run []; 110-120 lb.r hook each of [a.r b.r]; 120: a a.r lb.r"},
		"a member that joins a changed list": {"a.r: x\nlb.r: <- a.r:x", preview.Begin{Replaced: []contract.ServerPath{"a"}, Roles: roles("lb.r").Roles},
			"100-110 a.r run []; 110-120 lb.r hook each of [a.r]; 120: a a.r lb.r"},
		"a member that joins, and nothing else": {"a.r: x\nlb.r: <- a.r:x", preview.Begin{Replaced: []contract.ServerPath{"a"}, Roles: roles("lb.r").Roles, Joins: []contract.RoleKey{"lb.r"}},
			"100-110 a.r run []; 110-120 lb.r hook [a.r]; 120: a a.r lb.r"},
		"new machines read the existing values": {"s.a: x <- t.b:y\nt.b: y", preview.Begin{Replaced: []contract.ServerPath{"s"}, Roles: map[contract.RoleKey]preview.How{"t.b": preview.Hook}},
			"0-10 t.b hook []; 100-110 s.a run []; 110: s s.a"},
		"a reader waits, where the change is Heat's": {"a.r: x\nb.r: y\nc.r: <- b.r:y",
			preview.Begin{Roles: roles("a.r", "b.r").Roles, After: map[contract.RoleKey][]contract.RoleKey{"b.r": {"a.r"}}},
			"0-10 a.r hook []; 10-20 b.r hook [a.r]; 20-45 c.r hook [b.r]; 45: a.r b.r c.r"},
	} {
		if got := show(site(c.site).Of(c.begin, d)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// In a chain of 5,000 roles each runs after the one before.
func TestLongChain(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "s%d.r: x <- s%d.r:x\n", i, i-1)
	}
	p := site(b.String()).Of(preview.Begin{Cells: []contract.CellName{"s-1.r:x"}}, timeline.Durations{Role: 1})
	if len(p.Runs) != 5000 || p.Seconds != 5000 || p.Runs[4999].Role != "s4999.r" {
		t.Errorf("%d runs in %g s", len(p.Runs), p.Seconds)
	}
}
