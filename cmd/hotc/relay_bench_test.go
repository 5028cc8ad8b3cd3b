package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// BenchmarkRelay has a relay for a group of a thousand servers, each with a wait of its own,
// beside that of the stack: MB is the most that its process took until Heat was told of all,
// requests/s what it asks of Heat at rest, cpu-% what of one core it takes then.
func BenchmarkRelay(b *testing.B) {
	const servers, rest = 1000, 10 * time.Second
	hotc := binary(b, "hotc")
	for range b.N {
		d := newRelayed(b, servers)
		cmd := exec.Command(hotc, "relay", "--stack", "crowd", "--coordinator", d.url, "--secret-file", d.file)
		cmd.Env = append(os.Environ(), "OS_AUTH_URL="+d.heat.URL+"/v3", "OS_APPLICATION_CREDENTIAL_ID=id", "OS_APPLICATION_CREDENTIAL_SECRET=s")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		b.Cleanup(func() { _ = cmd.Process.Kill() })
		d.agentsRun(b)
		began := time.Now()
		select {
		case <-d.told:
		case err := <-ended:
			b.Fatalf("the relay has ended: %v", err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "told-s")
		b.ReportMetric(memoryOf(b, cmd.Process.Pid), "MB")
		before, used := d.asked.Load(), processorTime(b, cmd.Process.Pid)
		time.Sleep(rest)
		b.ReportMetric(float64(d.asked.Load()-before)/rest.Seconds(), "requests/s")
		b.ReportMetric(100*float64(processorTime(b, cmd.Process.Pid)-used)/float64(rest), "cpu-%")
	}
	b.ReportMetric(0, "ns/op")
}

// memoryOf is the most that a process has had resident, in MB.
func memoryOf(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kB, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kB) * 1024 / 1e6
}

// processorTime is what a process has used, of the kernel's ticks of 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// relayed is a deployment on a ZooKeeper, and a Heat that waits for its roles.
type relayed struct {
	url, file string
	secret    protocol.Secret
	plan      *contract.Plan
	heat      *httptest.Server
	asked     atomic.Int64
	told      chan struct{} // closed when Heat waits for nothing more

	mu    sync.Mutex
	waits []map[string]any
	open  int
}

func newRelayed(b *testing.B, servers int) *relayed {
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	d := &relayed{url: zktest.Start(b, zktest.AsInstalled).URL("hotc"), file: filepath.Join(b.TempDir(), "secret"), secret: secret, told: make(chan struct{}),
		plan: &contract.Plan{Format: contract.Format, Signal: contract.RelaySignals, Outputs: []contract.StackOutput{}}}
	if err := os.WriteFile(d.file, []byte(secret.Hex()), 0o600); err != nil {
		b.Fatal(err)
	}
	all := []any{}
	for i := range servers {
		path := contract.ServerPath(fmt.Sprintf("web/%d", i))
		cell := contract.CellName(path.Role("app"))
		d.plan.Servers = append(d.plan.Servers, contract.Server{Path: path,
			Roles: []contract.Role{{Name: "app", Driver: "script", Source: json.RawMessage(`{"text":"true"}`)}}})
		d.plan.Cells = append(d.plan.Cells, contract.Cell{Name: cell, Server: path, Role: "app"})
		named := map[string]any{"server": path, "id": "id-" + strconv.Itoa(i)}
		all = append(all, named)
		d.wait(strconv.Itoa(i), string(path), []any{named})
	}
	d.wait("root", "", all)
	d.plan.Derive()
	text, err := json.Marshal(d.plan)
	if err != nil {
		b.Fatal(err)
	}
	s, err := zookeeper.Open(b.Context(), d.url, secret.Operator("crowd"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if _, err := deploy.Publish(b.Context(), s, deploy.Publication{Deployment: "crowd", Secret: secret, Plan: d.plan, JSON: text, Now: time.Now()}); err != nil {
		b.Fatal(err)
	}
	d.heat = httptest.NewServer(http.HandlerFunc(d.serve))
	b.Cleanup(d.heat.Close)
	return d
}

func (d *relayed) wait(id, stack string, servers []any) {
	about := map[string]any{"format": contract.HeatWaitFormat, "deployment": "crowd", "wait": "hotc_done", "stack": stack}
	d.waits = append(d.waits, map[string]any{"id": id, "server_id": "stack-1", "config_id": "c-" + id, "action": "CREATE", "status": "IN_PROGRESS", "status_reason": "Deploy data available",
		"creation_time": "2026-11-22T12:00:00Z", "input_values": map[string]any{"hotc": about, "servers": servers}, "output_values": nil})
	d.open++
}

// serve plays Keystone and Heat.
func (d *relayed) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	if r.URL.Path == "/v3/auth/tokens" {
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		answer(map[string]any{"token": map[string]any{"expires_at": "2099-01-01T00:00:00.000000Z", "catalog": []any{map[string]any{
			"type": "orchestration", "name": "heat", "endpoints": []any{map[string]any{"id": "1", "interface": "public", "region": "R", "region_id": "R", "url": d.heat.URL + "/v1/p"}}}}}})
		return
	}
	d.asked.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch id := filepath.Base(r.URL.Path); {
	case r.Method == http.MethodPut:
		var end map[string]any
		_ = json.NewDecoder(r.Body).Decode(&end)
		for _, x := range d.waits {
			if x["id"] == id {
				if x["status"] == "IN_PROGRESS" && end["status"] == "COMPLETE" {
					if d.open--; d.open == 0 {
						close(d.told)
					}
				}
				x["status"], x["status_reason"] = end["status"], end["status_reason"]
				answer(map[string]any{"software_deployment": x})
			}
		}
	case id == "software_deployments":
		answer(map[string]any{"software_deployments": d.waits})
	default:
		answer(map[string]any{"stack": map[string]any{"stack_name": "crowd", "id": "stack-1", "stack_status": "CREATE_IN_PROGRESS"}})
	}
}

// agentsRun has all agents come and report that their role is done.
func (d *relayed) agentsRun(b *testing.B) {
	err := store.Each(b.Context(), len(d.plan.Servers), func(ctx context.Context, i int) error {
		server := &d.plan.Servers[i]
		token := d.secret.ServerToken("crowd", server.Path)
		s, err := zookeeper.Open(ctx, d.url, protocol.ServerCredential(server.Path, token))
		if err != nil {
			return err
		}
		defer s.Close()
		m := member.Join(s, "crowd", server.Path, token)
		if _, err := m.Plan(ctx); err != nil {
			return err
		}
		session, err := m.Enrol(ctx, "journal", "id-"+strconv.Itoa(i), false, time.Now())
		if err != nil {
			return err
		}
		role := protocol.RoleState{Name: "app", Status: protocol.RoleDone, Started: time.Now(), Ended: time.Now(), Made: server.Roles[0].Made()}
		return session.Report(ctx, protocol.ServerState{Phase: protocol.PhaseDone, Roles: []protocol.RoleState{role}}, nil)
	})
	if err != nil {
		b.Fatal(err)
	}
}
