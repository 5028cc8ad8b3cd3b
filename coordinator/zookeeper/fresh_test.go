package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// freshVariable is the environment variable that says how many ensembles the test
// below starts; make soak has twenty.
const freshVariable = "HOTC_FRESH_ENSEMBLES"

// longestWait is how long a value or a write may take in an ensemble that is well.
const longestWait = time.Second

// TestFreshEnsembles starts ensembles of Debian's ZooKeeper one after another, and
// passes values from one session to another through different servers, one at a
// time and nothing else: so in about half of them the server loses a wake-up, until
// the session's next ping (ZOOKEEPER-4537). Nobody may wait for that. What the
// machine is late by for other reasons is measured beside.
func TestFreshEnsembles(t *testing.T) {
	number := 5
	if text := os.Getenv(freshVariable); text != "" {
		var err error
		number, err = strconv.Atoi(text)
		must(t, err)
	}
	for i := range number {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			ensemble := zktest.Ensemble(t, 3, zktest.AsInstalled)
			bareFirst := i%2 == 1 // a server that has just started loses more
			if bareFirst {
				t.Log(bareRounds(t, ensemble))
			}
			freshEnsemble(t, within(t), ensemble)
			if !bareFirst {
				t.Log(bareRounds(t, ensemble))
			}
		})
	}
}

const freshRounds = 300

func freshEnsemble(t *testing.T, ctx context.Context, ensemble *zktest.Cluster) {
	url := func(i int) string { return "zk://" + ensemble.Servers[i].Addr() + "/hotc" }
	writer, err := open(ctx, url(0), sessionTimeout, operator)
	must(t, err)
	defer writer.Close()
	s, err := open(ctx, url(1), sessionTimeout, agent)
	must(t, err)
	defer s.Close()
	slow := watchMachine(ensemble)
	var write, wake time.Duration
	for i := range freshRounds {
		write, wake = freshRound(t, ctx, writer, s, store.Path(fmt.Sprint("cell", i)), write, wake)
	}
	late := slow()
	t.Logf("longest write %v, longest way to the reader %v, longest answer of a server that stands in no queue %v", write, wake, late)
	if limit := longestWait + 2*late; write > limit || wake > limit {
		t.Errorf("a write took %v and a value %v to its reader, more than %v", write, wake, limit)
	}
}

// freshRound creates a cell, lets its reader block, and writes it. It returns the
// longer ones of the times it took, and of those before.
func freshRound(t *testing.T, ctx context.Context, writer, s *client, path store.Path, write, wake time.Duration) (time.Duration, time.Duration) {
	t.Helper()
	ctx, end := context.WithCancel(ctx)
	defer end()
	begin := time.Now()
	must(t, writer.Create(ctx, []store.NewNode{cell(path)}))
	write = max(write, time.Since(begin))
	tokens, err := s.Watch(ctx, path)
	must(t, err)
	r := &reader{s, path, tokens}
	got := make(chan error, 1)
	go func() { got <- r.until(ctx, "1") }()
	begin = time.Now()
	must(t, set(ctx, writer, path, "1"))
	write = max(write, time.Since(begin))
	must(t, <-got)
	return write, max(wake, time.Since(begin))
}

// watchMachine asks the servers for their state, which takes no part in their
// requests' order, until it is asked how long that took at most; or by how much the
// pause before it was too long, when this process itself stood still.
func watchMachine(e *zktest.Cluster) (slowest func() time.Duration) {
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		most := time.Duration(0)
		const pause = 20 * time.Millisecond
		for i := 0; ; i++ {
			begin := time.Now()
			select {
			case <-stop:
				longest <- most
				return
			case <-time.After(pause):
			}
			e.Servers[i%len(e.Servers)].Mode()
			most = max(most, time.Since(begin)-pause)
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-longest
	}
}

// bareRounds does the same with the bare library until a round takes longer than
// longestWait, or goes wrong, and says how that went: it passes no judgement.
func bareRounds(t *testing.T, e *zktest.Cluster) string {
	t.Helper()
	writer, err := dialBare(e.Servers[0].Addr())
	must(t, err)
	defer writer.Close()
	reader, err := dialBare(e.Servers[1].Addr())
	must(t, err)
	defer reader.Close()
	for i := range freshRounds {
		begin := time.Now()
		if err := bareRound(writer, reader, fmt.Sprint("/bare", i)); err != nil {
			return fmt.Sprintf("round %d of a bare client ended with: %v", i+1, err)
		}
		if took := time.Since(begin); took > longestWait {
			return fmt.Sprintf("round %d of a bare client took %v", i+1, took)
		}
	}
	return fmt.Sprintf("%d rounds of a bare client lost nothing", freshRounds)
}

func bareRound(writer, reader *zk.Conn, at string) error {
	if _, err := writer.Create(at, []byte("0"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	if _, err := reader.Sync("/"); err != nil {
		return err
	}
	_, _, event, err := reader.ExistsW(at)
	if err == nil {
		_, err = writer.Set(at, []byte("1"), -1)
	}
	if err != nil {
		return err
	}
	select {
	case <-event:
	case <-time.After(patience):
		return errors.New("nobody tells the reader")
	}
	_, _, err = reader.Get(at)
	return err
}

// TestThousandAtOnce lets a thousand agents' sessions begin at the same moment on a
// server as Debian installs it, whose listen queue holds fifty. All come to read
// their value, and to be seen.
func TestThousandAtOnce(t *testing.T) {
	ctx := within(t)
	const sessions = 1000
	server := zktest.Start(t, zktest.AsInstalled)
	op := join(t, ctx, server.URL("hotc"), sessionTimeout, operator)
	must(t, op.Create(ctx, []store.NewNode{cell("cell"), {Path: "agents", Grants: []store.Grant{
		{To: operator.Principal(), May: store.MayAll}, {To: agent.Principal(), May: store.MayCreateChildren}}}}))
	errs := make([]error, sessions)
	var running sync.WaitGroup
	begin := time.Now()
	for i := range sessions {
		running.Go(func() {
			errs[i] = func() error {
				s, err := open(ctx, server.URL("hotc"), sessionTimeout, agent)
				if err != nil {
					return err
				}
				t.Cleanup(func() { go s.Close() })
				if err := s.Announce(ctx, store.Path(fmt.Sprint("agents/", i)), nil); err != nil {
					return err
				}
				tokens, err := s.Watch(ctx, "cell")
				if err != nil {
					return err
				}
				return (&reader{s, "cell", tokens}).until(ctx, "open")
			}()
		})
	}
	eventually(t, ctx, "all agents are seen", func() bool {
		names, err := op.Children(ctx, "agents")
		must(t, err)
		return len(names) == sessions
	})
	t.Logf("the last of %d agents was there after %v", sessions, time.Since(begin))
	must(t, set(ctx, op, "cell", "open"))
	running.Wait()
	must(t, errors.Join(errs...))
}
