package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// BenchmarkThousandAgents starts a thousand agents, each a process of its own with its
// journal, while their ZooKeeper is away, and then ZooKeeper as Debian installs it: all
// come at once. ready-s is when the last one has read its plan, enrolled and announced
// itself, from when the server serves; ratio compares that with as many processes that
// wait in the same way, with the library's default settings, and only dial. On one machine
// both are about how the processes share its cores. HOTC_AGENTS is another number than a
// thousand.
func BenchmarkThousandAgents(b *testing.B) {
	count := 1000
	if text := os.Getenv("HOTC_AGENTS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	program := buildAgent(b)
	for range b.N {
		var p contract.Plan
		for i := range count {
			p.Servers = append(p.Servers, contract.Server{Path: contract.ServerPath(fmt.Sprintf("s%d", i)), Roles: []contract.Role{}})
		}
		crowd := newCrowd(b, program, p, nil)
		ours := crowd.come(b)
		memory := crowd.memory(b)
		stop(crowd.agents)
		bare := crowd.bare(b)
		b.ReportMetric(ours.Seconds(), "ready-s")
		b.ReportMetric(ours.Seconds()/bare.Seconds(), "ratio")
		b.ReportMetric(memory, "MB/agent")
		crowd.zk.Kill()
	}
	b.ReportMetric(0, "ns/op")
}

// buildAgent builds the agent as a release does.
func buildAgent(b *testing.B) string {
	program := filepath.Join(b.TempDir(), "hotc-agent")
	if out, err := exec.Command("make", "-C", "../..", "agent", "AGENT="+program).CombinedOutput(); err != nil {
		b.Fatalf("build the agent: %v: %s", err, out)
	}
	return program
}

// crowd is a deployment on a ZooKeeper that can be away.
type crowd struct {
	zk      *zktest.Server
	url     string
	secret  protocol.Secret
	servers []contract.ServerPath
	agents  []*exec.Cmd
}

// newCrowd starts the agents of servers before there is a ZooKeeper.
func newCrowd(b *testing.B, program string, p contract.Plan, files deploy.Files) *crowd {
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	c := &crowd{zk: zktest.Start(b, zktest.AsInstalled), secret: secret}
	c.url = c.zk.URL("hotc/crowd")
	p.Format, p.Signal, p.Outputs = contract.Format, contract.NobodySignals, []contract.StackOutput{}
	for _, s := range p.Servers {
		c.servers = append(c.servers, s.Path)
	}
	text, err := json.Marshal(p)
	if err != nil {
		b.Fatal(err)
	}
	s := c.operator(b)
	if _, err := deploy.Publish(b.Context(), s, deploy.Publication{Deployment: deployment, Secret: secret, Plan: &p, JSON: text, Files: files, Now: time.Now()}); err != nil {
		b.Fatal(err)
	}
	s.Close()
	c.zk.Stop()
	folder := b.TempDir()
	for _, path := range c.servers {
		c.start(b, program, filepath.Join(folder, string(path)), path)
	}
	// The last one has begun to dial when its journal is there.
	for _, path := range c.servers {
		for {
			if found, _ := filepath.Glob(filepath.Join(folder, string(path), "state", "*")); len(found) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	time.Sleep(time.Second)
	return c
}

func (c *crowd) operator(b *testing.B) store.Session {
	s, err := zookeeper.Open(b.Context(), c.url, c.secret.Operator(deployment))
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (c *crowd) start(b *testing.B, program, folder string, path contract.ServerPath) {
	boot, err := json.Marshal(contract.Boot{Format: contract.Format, Deployment: string(deployment), Server: path, Coordinator: c.url,
		Token: c.secret.ServerToken(deployment, path)})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(folder, "boot.json")
	if err := os.WriteFile(file, boot, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--boot", file, "--state", filepath.Join(folder, "state"), "--instance-id", "i-"+string(path))
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	c.agents = append(c.agents, cmd)
	b.Cleanup(func() { _ = cmd.Process.Kill() })
}

// come starts ZooKeeper and waits for all agents.
func (c *crowd) come(b *testing.B) time.Duration {
	c.zk.Start(b)
	begin := time.Now()
	s := c.operator(b)
	defer s.Close()
	for _, path := range c.servers {
		for {
			_, there, err := s.Stat(b.Context(), deployment.Presence(path))
			if err != nil {
				b.Fatal(err)
			}
			if there {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return time.Since(begin)
}

// bare does the same with bare sessions, on a ZooKeeper of their own.
func (c *crowd) bare(b *testing.B) time.Duration {
	server := zktest.Start(b, zktest.AsInstalled)
	server.Stop()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	program := filepath.Join(b.TempDir(), bareProgram)
	if err := os.Symlink(self, program); err != nil {
		b.Fatal(err)
	}
	said, says, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer said.Close()
	var processes []*exec.Cmd
	for range c.servers {
		cmd := exec.Command(program, server.Addr())
		cmd.Stdout = says
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		processes = append(processes, cmd)
	}
	says.Close()
	defer func() { stop(processes) }()
	hear := func() {
		for left := len(processes); left > 0; {
			n, err := said.Read(make([]byte, left))
			if err != nil {
				b.Fatal(err)
			}
			left -= n
		}
	}
	hear()
	time.Sleep(time.Second)
	server.Start(b)
	begin := time.Now()
	hear()
	return time.Since(begin)
}

// bareProgram is the name under which the test program is a bare session.
const bareProgram = "bare-session"

// bareSession says when it begins to dial, and when it has a session, and keeps it.
func bareSession(server string) {
	_, events, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.WriteString(".")
	for e := range events {
		if e.State == zk.StateHasSession {
			os.Stdout.WriteString(".")
			break
		}
	}
	for range events {
	}
}

func stop(processes []*exec.Cmd) {
	for _, cmd := range processes {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// memory is what an agent has for itself, in megabytes, on average: what it shares with
// the others, its program above all, is counted once for all of them.
func (c *crowd) memory(b *testing.B) float64 {
	total := 0
	for _, cmd := range c.agents {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nPss:")
		kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			b.Fatal(err)
		}
		total += kilobytes
	}
	return float64(total) / 1024 / float64(len(c.agents))
}
