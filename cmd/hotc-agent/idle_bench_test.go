package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// BenchmarkIdle is what agents cost whose roles are done, each a process of its own: what their
// ZooKeeper hears of one in a second, the looks and pings of its session included, how much of a
// core it takes, and its memory. The agents of `following` have a role that follows a value, those
// of `done` one that follows none; what following costs at rest is the ratio of the two.
// HOTC_AGENTS is another number than 50.
func BenchmarkIdle(b *testing.B) {
	count := 50
	if text := os.Getenv("HOTC_AGENTS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	program := buildAgent(b)
	for range b.N {
		var requests, cpu [2]float64
		for i, follows := range []bool{false, true} {
			crowd := newCrowd(b, program, idlers(count, follows), idleScripts)
			crowd.come(b)
			crowd.rest(b)
			const window = 20 * time.Second
			heard, busy := heardBy(b, crowd.zk), crowd.busy(b)
			time.Sleep(window)
			share := window.Seconds() * float64(count)
			requests[i], cpu[i] = float64(heardBy(b, crowd.zk)-heard)/share, (crowd.busy(b)-busy)/share
			name := []string{"done", "following"}[i]
			b.ReportMetric(requests[i], "requests/s-"+name)
			b.ReportMetric(100*cpu[i], "core-%-"+name)
			b.ReportMetric(crowd.memory(b), "MB-"+name)
			stop(crowd.agents)
			crowd.zk.Kill()
		}
		b.ReportMetric(requests[1]/requests[0], "ratio-requests")
		b.ReportMetric(cpu[1]/cpu[0], "ratio-core")
	}
	b.ReportMetric(0, "ns/op")
}

// idlers are servers whose roles do nothing; all but the first may follow what that one gives.
func idlers(count int, follow bool) contract.Plan {
	p := contract.Plan{}
	const followed = contract.CellName("s0.r:x")
	for i := range count {
		path := contract.ServerPath(fmt.Sprintf("s%d", i))
		s, role := contract.Server{Path: path}, contract.Role{Name: "r", Driver: "script"}
		script := digestOf(doesNothing)
		switch {
		case i == 0:
			script, role.Outputs = digestOf(givesX), []contract.Output{{Name: "x", Cell: followed, Type: contract.JSON}}
		case follow:
			role.Idempotent, role.Follows = true, []contract.Follow{{Cell: followed, Watch: true}}
			role.Inputs = []contract.Input{{Name: "x", Time: contract.Run, Watch: true, Reads: []contract.CellName{followed},
				Expr: json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, followed)), At: map[string]contract.Position{"": "site.yaml:1:1"}}}
		}
		role.Source, role.Files = json.RawMessage(fmt.Sprintf(`{"file":%q}`, script)), []string{script}
		s.Roles = []contract.Role{role}
		p.Servers, p.Cells = append(p.Servers, s), append(p.Cells, contract.Cell{Name: path.Role("r").Completion(), Server: path, Role: "r"})
	}
	p.Cells = append(p.Cells, contract.Cell{Name: followed, Server: "s0", Role: "r"})
	for _, script := range []string{doesNothing, givesX} {
		p.Files = append(p.Files, contract.File{Digest: digestOf(script), Size: int64(len(script)), Name: "r.sh"})
	}
	p.Derive()
	return p
}

// The scripts of servers that idle.
const doesNothing, givesX = "true\n", "printf 1 | hotc-agent put x\n"

func idleScripts(digest string) ([]byte, error) {
	if digest == digestOf(givesX) {
		return []byte(givesX), nil
	}
	return []byte(doesNothing), nil
}

// rest waits until all agents say that their roles are done, and a moment longer.
func (c *crowd) rest(b *testing.B) {
	s := c.operator(b)
	defer s.Close()
	for _, path := range c.servers {
		for {
			node, err := s.Read(b.Context(), deployment.State(path))
			if err != nil {
				b.Fatal(err)
			}
			if strings.Contains(string(node.Data), `"phase":"done"`) {
				break
			}
			if strings.Contains(string(node.Data), `"phase":"failed"`) {
				b.Fatalf("%s", node.Data)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	time.Sleep(5 * time.Second)
}

// heardBy is how many packets a server has received.
func heardBy(b *testing.B, s *zktest.Server) int {
	n, err := strconv.Atoi(zktest.Fact(s.Addr(), "Received"))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// busy is how many seconds of a core the agents have taken.
func (c *crowd) busy(b *testing.B) (seconds float64) {
	const ticks = 100 // a second: what Linux tells programs, whatever its own clock is
	for _, cmd := range c.agents {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		for _, field := range strings.Fields(rest)[11:13] {
			n, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			seconds += float64(n) / ticks
		}
	}
	return seconds
}
