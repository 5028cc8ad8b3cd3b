package zookeeper

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

// The benchmarks compare with a peer in the same run and report ratios:
//
//	go test -bench . -benchtime 200x -run '^$' ./coordinator/zookeeper

// side is a reader that blocks until its node has another value.
type side interface {
	// next returns the value, "" when the session has been closed.
	next() string
	close()
}

// ours reads through the store.
type ours struct {
	store  *client
	path   store.Path
	tokens <-chan struct{}
	last   string
}

func newOurs(b *testing.B, url string, path store.Path) side {
	s, err := open(b.Context(), url, sessionTimeout)
	must(b, err)
	s.Among("servers")
	tokens, err := s.Watch(context.Background(), path)
	must(b, err)
	<-tokens
	n, err := s.Read(context.Background(), path)
	must(b, err)
	return &ours{s, path, tokens, string(n.Data)}
}

func (o *ours) next() string {
	for range o.tokens {
		if n, err := o.store.Read(context.Background(), o.path); err == nil && string(n.Data) != o.last {
			o.last = string(n.Data)
			return o.last
		}
	}
	return ""
}

func (o *ours) close() { o.store.Close() }

// bare is the library as one would use it where nothing ever breaks.
type bare struct {
	conn  *zk.Conn
	at    string
	event <-chan zk.Event
}

func newBare(b *testing.B, host, at string) side {
	conn, err := dialBare(host)
	must(b, err)
	_, _, event, err := conn.GetW(at)
	must(b, err)
	return &bare{conn, at, event}
}

func dialBare(hosts ...string) (*zk.Conn, error) {
	conn, events, err := zk.Connect(hosts, sessionTimeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return conn, nil
}

func (r *bare) next() string {
	<-r.event
	data, _, event, err := r.conn.GetW(r.at)
	if err != nil {
		return ""
	}
	r.event = event
	return string(data)
}

func (r *bare) close() { r.conn.Close() }

// BenchmarkBlockedRead measures from the beginning of a write to a blocked reader's
// return with the value, ours and bare in turn.
func BenchmarkBlockedRead(b *testing.B) {
	for _, idle := range []time.Duration{0, 50 * time.Millisecond} {
		b.Run(fmt.Sprint("idle=", idle), func(b *testing.B) {
			server := zktest.Start(b, zktest.AsInstalled)
			url := server.URL("hotc/blocked")
			op := join(b, b.Context(), url, sessionTimeout)
			must(b, op.DeleteTree(b.Context(), ""))
			must(b, op.Create(b.Context(), []store.NewNode{{Path: "ours"}, {Path: "bare"}}))
			writer, err := dialBare(server.Addr())
			must(b, err)
			defer writer.Close()
			var took [2][]time.Duration
			readers := [2]*blocked{block(newOurs(b, url, "ours")), block(newBare(b, server.Addr(), op.at("bare")))}
			at := [2]string{op.at("ours"), op.at("bare")}
			settle()
			b.ResetTimer()
			for i := range b.N {
				for k := range 2 {
					k := (k + i) % 2
					time.Sleep(idle)
					took[k] = append(took[k], readers[k].round(b, writer, at[k], strconv.Itoa(i)))
				}
			}
			b.StopTimer()
			report(b, took)
			for _, r := range readers {
				r.close()
			}
		})
	}
}

// settle lets what sessions do at their start come to its end.
func settle() { time.Sleep(300 * time.Millisecond) }

// blocked are readers that wait for the next value, each in a goroutine of its own.
type blocked struct {
	sides   []side
	ends    []time.Time
	waiting sync.WaitGroup // for this round's value
	closed  atomic.Bool
	closing sync.WaitGroup
}

func block(sides ...side) *blocked {
	r := &blocked{sides: sides, ends: make([]time.Time, len(sides))}
	for i, s := range sides {
		r.closing.Go(func() {
			for s.next() != "" {
				r.ends[i] = time.Now()
				r.waiting.Done()
			}
			if !r.closed.Load() { // else its round would never end
				panic("a reader's session has ended")
			}
		})
	}
	return r
}

func (r *blocked) close() {
	r.closed.Store(true)
	for _, s := range r.sides {
		r.closing.Go(s.close)
	}
	r.closing.Wait()
}

// round writes a value and returns how long it took the last reader to return.
func (r *blocked) round(b *testing.B, writer *zk.Conn, at, value string) time.Duration {
	r.waiting.Add(len(r.sides))
	begin := time.Now()
	if _, err := writer.Set(at, []byte(value), -1); err != nil {
		b.Fatal(err)
	}
	r.waiting.Wait()
	return slices.MaxFunc(r.ends, time.Time.Compare).Sub(begin)
}

// report reports the median and the 99th percentile of ours, and how they compare.
func report(b *testing.B, took [2][]time.Duration) {
	for _, k := range took {
		slices.Sort(k)
	}
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		at := func(k int) time.Duration { return took[k][int(q*float64(len(took[k])-1))] }
		b.ReportMetric(float64(at(0).Microseconds()), "µs-"+name)
		b.ReportMetric(float64(at(0))/float64(at(1)), "ratio-"+name)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFanOut is BenchmarkBlockedRead for the last of many sessions: with one value
// after another, and with readers that have waited for a while, as most have.
func BenchmarkFanOut(b *testing.B) {
	for _, sessions := range []int{1000, 5000} {
		for _, idle := range []time.Duration{0, time.Second} {
			b.Run(fmt.Sprint("sessions=", sessions, "/idle=", idle), func(b *testing.B) { fanOut(b, sessions, idle) })
		}
	}
}

// fanOut lets one peer's sessions stand at a time, since those of ours give no rest to
// their server while they wait: the other's rounds would be slower for it.
func fanOut(b *testing.B, sessions int, idle time.Duration) {
	server := zktest.Start(b, zktest.AsInstalled)
	url := server.URL("hotc/fanout")
	op := join(b, b.Context(), url, sessionTimeout)
	nodes := []store.NewNode{{Path: "ours"}, {Path: "bare"}, {Path: "servers"}}
	for i := range sessions {
		nodes = append(nodes, store.NewNode{Path: store.Path(fmt.Sprint("servers/", i))})
	}
	must(b, op.Create(b.Context(), nodes))
	at := [2]string{op.at("ours"), op.at("bare")}
	must(b, op.Close())
	open := [2]func() side{
		func() side { return newOurs(b, url, "ours") },
		func() side { return newBare(b, server.Addr(), at[1]) },
	}
	writer, err := dialBare(server.Addr())
	must(b, err)
	defer writer.Close()
	const turns, warm = 2, 10
	rounds := max(b.N, 20) / turns // b.N is one: to open the sessions takes longer than a benchmark's second
	var took [2][]time.Duration
	for turn := range turns {
		for k := range 2 {
			k := (k + turn) % 2
			readers := block(openSides(sessions, open[k])...)
			settle()
			for i := range warm + rounds {
				if i >= warm && idle > 0 {
					time.Sleep(idle + rand.N(idle))
				}
				d := readers.round(b, writer, at[k], fmt.Sprint(turn, ".", i))
				if i >= warm {
					took[k] = append(took[k], d)
				}
			}
			readers.close()
			runtime.GC() // the library's buffers are 3 MB a session
		}
	}
	report(b, took)
}

// openSides opens sessions, a few at a time: a stampede of 5,000 into a listen queue of
// 50 is another benchmark's, and each connection that is dropped costs the library
// 3 MB of buffers once more.
func openSides(sessions int, open func() side) []side {
	sides := make([]side, sessions)
	slots := make(chan struct{}, 32)
	var running sync.WaitGroup
	for i := range sides {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			sides[i] = open()
		})
	}
	running.Wait()
	return sides
}

// BenchmarkPublish creates 10,000 nodes with rights, as Create does, one at a time,
// and in bare Multi batches of 100, four under way.
func BenchmarkPublish(b *testing.B) {
	const count = 10_000
	server := zktest.Start(b, zktest.AsInstalled)
	ctx := b.Context()
	op := join(b, ctx, server.URL("hotc/publish"), sessionTimeout, operator)
	nodes := func(under store.Path) []store.NewNode {
		list := []store.NewNode{{Path: under}}
		for i := range 100 {
			top := under.Join(fmt.Sprint("server-", i))
			list = append(list, store.NewNode{Path: top, Grants: []store.Grant{{To: operator.Principal(), May: store.MayAll}}})
			for k := range count/100 - 1 {
				list = append(list, store.NewNode{
					Path: top.Join(fmt.Sprint("cell", k)), Data: []byte(`{"state":"empty","incarnation":0}`),
					Grants: []store.Grant{
						{To: operator.Principal(), May: store.MayAll},
						{To: agent.Principal(), May: store.MayRead | store.MayWrite},
						{To: store.Credential{User: "server-reader", Password: "r"}.Principal(), May: store.MayRead},
					},
				})
			}
		}
		return list
	}
	for range 3 { // Java compiles what runs often
		must(b, op.Create(ctx, nodes("warm")))
		must(b, op.DeleteTree(ctx, "warm"))
	}
	var ours, single, multi time.Duration
	for i := range b.N {
		top := store.Path(fmt.Sprint("run", i))
		list := nodes(top)
		requests := make([]*zk.CreateRequest, len(list))
		for i, n := range list {
			requests[i] = &zk.CreateRequest{Path: op.at(n.Path), Data: bytesOf(n.Data), Acl: op.acl(n.Grants)}
		}
		wipe := func() { must(b, op.DeleteTree(ctx, top)) }
		wipe()
		create := func() {
			begin := time.Now()
			must(b, op.Create(ctx, list))
			ours += time.Since(begin)
			wipe()
		}
		if i%2 == 0 { // what comes later meets a warmer server
			create()
		}

		conn, err := dialBare(server.Addr())
		must(b, err)
		must(b, conn.AddAuth("digest", auth(operator)))
		begin := time.Now()
		for _, r := range requests {
			_, err := conn.Create(r.Path, r.Data, 0, r.Acl)
			must(b, err)
		}
		single += time.Since(begin)
		wipe()

		begin = time.Now()
		slots := make(chan struct{}, 4)
		var running sync.WaitGroup
		send := func(ops []any) {
			if _, err := conn.Multi(ops...); err != nil {
				b.Error(err)
			}
		}
		var parents []any // a bare client knows its parents
		var rest []any
		for _, r := range requests {
			if len(r.Acl) == 1 {
				parents = append(parents, r)
			} else {
				rest = append(rest, r)
			}
		}
		send(parents)
		for some := range slices.Chunk(rest, 100) {
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				send(some)
			})
		}
		running.Wait()
		multi += time.Since(begin)
		wipe()
		conn.Close()
		if i%2 == 1 {
			create()
		}
	}
	b.ReportMetric(float64(b.N*count)/ours.Seconds(), "nodes/s")
	b.ReportMetric(float64(single)/float64(ours), "times-faster-than-one-by-one")
	b.ReportMetric(float64(ours)/float64(multi), "ratio-to-bare-multi")
	b.ReportMetric(0, "ns/op")
}
