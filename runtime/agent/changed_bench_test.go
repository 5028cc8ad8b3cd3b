package agent_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/driver"
)

// BenchmarkChangedValue changes a value that the roles of a thousand servers follow. started-ms is
// from the beginning of the write until the last role has been started for it; ratio compares
// that with one value to as many readers, which the same roles block on in their first runs. The
// agents share a process and this machine's cores; their journals lie in memory, since servers
// have disks of their own. HOTC_AGENTS is another number than a thousand.
func BenchmarkChangedValue(b *testing.B) {
	count := 1000
	if text := os.Getenv("HOTC_AGENTS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for range b.N {
		f := newFollowers(b, count)
		peer := f.round(func(ctx context.Context) error {
			return f.writer.Put(ctx, followedCell, json.RawMessage(`"first"`), time.Now())
		})
		f.settle()
		var started []time.Duration
		for i := range valueRounds {
			started = append(started, f.round(func(ctx context.Context) error {
				return f.writer.Renew(ctx, followedCell, json.RawMessage(strconv.Itoa(i)), nil, nil, time.Now())
			}))
			f.settle()
		}
		slices.Sort(started)
		ours := started[valueRounds/2]
		b.ReportMetric(float64(ours.Milliseconds()), "started-ms")
		b.ReportMetric(float64(peer.Milliseconds()), "read-ms")
		b.ReportMetric(float64(ours)/float64(peer), "ratio")
		f.end() // or the next iteration's agents would share the cores with these
	}
	b.ReportMetric(0, "ns/op")
}

// valueRounds is how often the value changes; the middle one counts.
const valueRounds = 7

// followedCell is the cell that all read, and follow.
const followedCell contract.CellName = "db.r:x"

// followers are the agents of servers with a role each, which follows a value.
type followers struct {
	b      *testing.B
	secret protocol.Secret
	plan   contract.Plan
	writer *member.Session

	mu    sync.Mutex
	left  int
	last  time.Time
	ended chan struct{}

	end func() // of the agents
}

func newFollowers(b *testing.B, count int) *followers {
	secret, err := protocol.NewSecret(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	f := &followers{b: b, secret: secret, plan: contract.Plan{Format: contract.Format, Signal: "none", Outputs: []contract.StackOutput{}}}
	db := contract.Server{Path: "db", Roles: []contract.Role{{Name: "r", Driver: "stub"}}}
	own := func(s *contract.Server, cell contract.CellName) {
		f.plan.Cells = append(f.plan.Cells, contract.Cell{Name: cell, Server: s.Path, Role: "r"})
	}
	own(&db, followedCell)
	db.Roles[0].Outputs = []contract.Output{{Name: "x", Cell: followedCell, Type: contract.JSON}}
	reader := contract.Role{Name: "r", Driver: "stub", Idempotent: true, Follows: []contract.Follow{{Cell: followedCell, Watch: true}},
		Inputs: []contract.Input{{Name: "x", Time: contract.Run, Watch: true, Reads: []contract.CellName{followedCell}, IfDown: 3600,
			Expr: json.RawMessage(fmt.Sprintf(`{"$cell":%q}`, followedCell)), At: map[string]contract.Position{"": "site.yaml:1:1"}}}}
	own(&db, "db.r")
	f.plan.Servers = append(f.plan.Servers, db)
	for i := range count {
		s := contract.Server{Path: contract.ServerPath(fmt.Sprint("s", i)), Roles: []contract.Role{reader}}
		own(&s, s.Path.Role("r").Completion())
		f.plan.Servers = append(f.plan.Servers, s)
	}
	url := zktest.Start(b, zktest.AsInstalled).URL("hotc/changed")
	open := func(ctx context.Context, _ string, creds ...store.Credential) (store.Session, error) {
		return zookeeper.Open(ctx, url, creds...)
	}
	f.plan.Derive()
	f.publish(open)
	token := secret.ServerToken(deployment, "db")
	store, err := open(b.Context(), "", protocol.ServerCredential("db", token))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	m := member.Join(store, deployment, "db", token)
	if _, err := m.Plan(b.Context()); err != nil {
		b.Fatal(err)
	}
	if f.writer, err = m.Enrol(b.Context(), "journal", "i-db", false, time.Now()); err != nil {
		b.Fatal(err)
	}
	f.expect(count) // until all wait for the first value
	f.startAll(open)
	<-f.ended
	f.settle()
	return f
}

// publish puts the plan on the coordinator.
func (f *followers) publish(open func(context.Context, string, ...store.Credential) (store.Session, error)) {
	text, err := json.Marshal(f.plan)
	if err != nil {
		f.b.Fatal(err)
	}
	s, err := open(f.b.Context(), "", f.secret.Operator(deployment))
	if err != nil {
		f.b.Fatal(err)
	}
	defer s.Close()
	if _, err := deploy.Publish(f.b.Context(), s, deploy.Publication{Deployment: deployment, Secret: f.secret, Plan: &f.plan, JSON: text, Now: time.Now()}); err != nil {
		f.b.Fatal(err)
	}
}

// startAll starts the agents of all readers.
func (f *followers) startAll(open func(context.Context, string, ...store.Credential) (store.Session, error)) {
	folder, err := os.MkdirTemp("/dev/shm", "hotc-agents")
	if err != nil {
		f.b.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		f.b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	f.end = sync.OnceFunc(func() {
		stop()
		running.Wait()
		os.RemoveAll(folder)
	})
	f.b.Cleanup(f.end)
	for _, s := range f.plan.Servers[1:] {
		own := filepath.Join(folder, string(s.Path))
		config := agent.Config{
			Boot: contract.Boot{Format: contract.Format, Deployment: string(deployment), Server: s.Path, Coordinator: "zk:",
				Token: f.secret.ServerToken(deployment, s.Path)},
			Instance: "i-" + string(s.Path), State: filepath.Join(own, "state"), Work: filepath.Join(own, "work"),
			Program: program, Version: "bench", Environment: []string{}, Drivers: []driver.Driver{stub{f}}, Open: open, Console: io.Discard,
			Now: time.Now, Random: rand.Reader, Grace: time.Second, Parting: time.Second, Retry: time.Second,
		}
		running.Go(func() {
			if err := agent.Run(ctx, config); err != nil && ctx.Err() == nil {
				panic(err)
			}
		})
	}
}

// expect begins a round, which ends when so many roles have come somewhere.
func (f *followers) expect(count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.ended = count, make(chan struct{})
}

func (f *followers) came() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left == 0 {
		f.last = time.Now()
		close(f.ended)
	}
}

// round writes a value, and says how long it took the last role to come to where it is expected.
func (f *followers) round(write func(context.Context) error) time.Duration {
	f.expect(len(f.plan.Servers) - 1)
	begin := time.Now()
	if err := write(f.b.Context()); err != nil {
		f.b.Fatal(err)
	}
	<-f.ended
	return f.last.Sub(begin)
}

// settle lets what agents do at the end of a run come to its end.
func (f *followers) settle() { time.Sleep(3 * time.Second) }

// stub is a driver that reads a role's values, and tells when it has come to each.
type stub struct{ f *followers }

func (stub) Name() string                               { return "stub" }
func (stub) Prepare(context.Context, *driver.Job) error { return nil }
func (d stub) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	if err := job.Started(ctx); err != nil {
		return driver.Exit{}, err
	}
	d.f.came()
	value, err := job.Values.Read(ctx, "x")
	if err == nil && string(value) == `"first"` {
		d.f.came()
	}
	return driver.Exit{}, err
}
