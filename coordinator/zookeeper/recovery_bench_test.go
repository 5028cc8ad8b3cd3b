package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// Times are from the death of a server, or the start of a stampede, ours and bare at
// the same time from the same cause.

// writer does one read and one write, and repeats them until they succeed.
type writer func(ctx context.Context, value string) error

func storeClient(b *testing.B, url string) writer {
	s := join(b, b.Context(), url, sessionTimeout)
	return func(ctx context.Context, value string) error {
		if _, err := s.Read(ctx, "ours"); err != nil {
			return err
		}
		return set(ctx, s, "ours", value)
	}
}

func bareClient(b *testing.B, at string, hosts ...string) writer {
	conn, err := dialBare(hosts...)
	must(b, err)
	b.Cleanup(conn.Close)
	return func(ctx context.Context, value string) error {
		for {
			_, _, err := conn.Get(at)
			if err == nil {
				_, err = conn.Set(at, []byte(value), -1)
			}
			if err == nil || ctx.Err() != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// recoveries breaks something and returns how long the writers took to read and write
// again, sorted.
func recoveries(b *testing.B, value string, breaks func(), writers []writer) []time.Duration {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	breaks()
	begin := time.Now()
	took := make([]time.Duration, len(writers))
	var running sync.WaitGroup
	for i, do := range writers {
		running.Go(func() {
			if err := do(ctx, value); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(begin)
		})
	}
	running.Wait()
	return took
}

// eachSide is how many writers of each kind recover at the same time: which server
// a writer had, and which it dials first, is chance.
const eachSide = 8

func recoveryClients(b *testing.B, url string, hosts ...string) []writer {
	op := join(b, b.Context(), url, sessionTimeout)
	must(b, op.Create(b.Context(), []store.NewNode{{Path: "ours"}, {Path: "bare"}}))
	var writers []writer
	for range eachSide {
		writers = append(writers, storeClient(b, url))
	}
	for range eachSide {
		writers = append(writers, bareClient(b, op.at("bare"), hosts...))
	}
	return writers
}

// reportRecoveries reports the median of all of ours, and its ratio to bare's.
func reportRecoveries(b *testing.B, all [2][]time.Duration) {
	for _, side := range all {
		slices.Sort(side)
	}
	middle := func(k int) time.Duration { return all[k][len(all[k])/2] }
	b.ReportMetric(float64(middle(0).Milliseconds()), "ms")
	b.ReportMetric(float64(middle(0))/float64(middle(1)), "ratio")
	b.ReportMetric(0, "ns/op")
}

// breakages are how often something is broken in each iteration.
const breakages = 6

// BenchmarkLeaderKilled kills the leader of three, and measures until the first
// read and write of each writer have succeeded. Nobody is faster than the election.
func BenchmarkLeaderKilled(b *testing.B) {
	e := zktest.Ensemble(b, 3, zktest.AsInstalled)
	var hosts []string
	for _, s := range e.Servers {
		hosts = append(hosts, s.Addr())
	}
	writers := recoveryClients(b, e.URL("hotc/recovery"), hosts...)
	var all [2][]time.Duration
	var elections []time.Duration
	for i := range b.N * breakages {
		settle()
		leader := e.Leader(b)
		elected := make(chan time.Duration)
		took := recoveries(b, fmt.Sprint(i), func() {
			leader.Kill()
			begin := time.Now()
			go func() {
				e.Leader(b)
				elected <- time.Since(begin)
			}()
		}, writers)
		elections = append(elections, <-elected)
		all[0], all[1] = append(all[0], took[:eachSide]...), append(all[1], took[eachSide:]...)
		leader.Start(b)
	}
	slices.Sort(elections)
	b.ReportMetric(float64(elections[len(elections)/2].Milliseconds()), "ms-of-election")
	reportRecoveries(b, all)
}

// BenchmarkServerRestarted kills a server that is alone and starts it at once, and
// measures from when it serves again.
func BenchmarkServerRestarted(b *testing.B) {
	server := zktest.Start(b, zktest.AsInstalled)
	writers := recoveryClients(b, server.URL("hotc/recovery"), server.Addr())
	var all [2][]time.Duration
	for i := range b.N * breakages {
		settle()
		took := recoveries(b, fmt.Sprint(i), func() {
			server.Kill()
			server.Start(b)
		}, writers)
		all[0], all[1] = append(all[0], took[:eachSide]...), append(all[1], took[eachSide:]...)
	}
	reportRecoveries(b, all)
}

// BenchmarkStampede opens a thousand sessions at once on a server as Debian installs
// it, ours with all that an agent's does until it is ready, and bare ones that only
// dial. It is about the last one. Each thousand is a process of its own: the library's
// buffers are 3 MB a session, and memory that had been other sessions' is cleared
// first, which no agent has to do and took as much time of the processors as the rest.
func BenchmarkStampede(b *testing.B) {
	const sessions = 1000
	var all [2][]time.Duration
	for i := range b.N * 2 {
		for k := range 2 {
			k := (k + i) % 2
			server := zktest.Start(b, zktest.AsInstalled)
			url := server.URL("hotc/stampede")
			op := join(b, b.Context(), url, sessionTimeout, operator)
			must(b, op.Create(b.Context(), []store.NewNode{cell("cell")}))
			self, err := os.Executable()
			must(b, err)
			cmd := exec.CommandContext(b.Context(), self)
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", crowdVariable, sessions, [2]string{url, server.Addr()}[k]))
			text, err := cmd.Output()
			must(b, err)
			took, err := time.ParseDuration(string(text))
			must(b, err)
			all[k] = append(all[k], took)
			server.Kill()
		}
	}
	reportRecoveries(b, all)
}

// crowdVariable makes of the test program a crowd of sessions: how many, and where, a
// URL for ours and an address for bare ones.
const crowdVariable = "HOTC_TEST_CROWD"

// crowd opens sessions at once, and prints when the last was ready.
func crowd(of string) error {
	var count int
	var to string
	if _, err := fmt.Sscan(of, &count, &to); err != nil {
		return fmt.Errorf("%s=%q: %w", crowdVariable, of, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	come := func() error {
		_, err := dialBare(to)
		return err
	}
	if strings.HasPrefix(to, scheme) {
		come = func() error {
			s, err := open(ctx, to, sessionTimeout, agent)
			if err == nil {
				_, err = s.Read(ctx, "cell")
			}
			return err
		}
	}
	errs := make([]error, count)
	var running sync.WaitGroup
	begin := time.Now()
	for i := range count {
		running.Go(func() { errs[i] = come() })
	}
	running.Wait()
	took := time.Since(begin)
	fmt.Print(took) // the sessions end with the process
	return errors.Join(errs...)
}
