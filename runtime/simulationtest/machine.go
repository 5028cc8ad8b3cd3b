package simulationtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/journal"
	"github.com/hotc-dev/hotc/runtime/role"
)

// machine is one build of a server: its disk, and the agents that run on it one after the other.
type machine struct {
	*Machine
	world *world
	disk  *disk
	gone  chan struct{} // closed when the machine is deleted
	// last is the process that was started last. It is read at rest.
	last atomic.Pointer[process]
	// left says that no further process will start.
	left atomic.Bool
	// asks is the key with which it asks for approval.
	asks atomic.Pointer[string]
}

// value is what the machine's role writes to a cell: no other writes the same.
func (m *machine) value(cell contract.CellName) string { return fmt.Sprintf("%s of %v", cell, m) }

// now is the machine's clock: on many it is wrong by up to two days, and is set, forwards or back,
// a while after they have booted.
func (m *machine) now() time.Time {
	d, now := m.world.dice, time.Now()
	if d.chance(0.3, m, "its clock is right") {
		return now
	}
	set := 0
	if m.world.cluster.now() > m.Boot+d.between(0, 3*time.Minute, m, "its clock is set") {
		set = 1
	}
	return now.Add(d.between(-48*time.Hour, 48*time.Hour, m, "its clock", set))
}

// live boots the machine and restarts its agent as systemd would
// (emit/userdata/parts/hotc-agent.service).
func (m *machine) live() {
	defer func() {
		if !m.world.over() {
			m.left.Store(true)
		}
	}()
	if !m.world.sleepUntil(m.Boot, m.gone) {
		return
	}
	for n := 0; ; n++ {
		end := End{}
		if n < len(m.Ends) {
			end = m.Ends[n]
		}
		p := m.world.newProcess(m, n, end)
		m.last.Store(p)
		err := p.live()
		down := 5 * time.Second
		switch {
		case m.world.over() || isClosed(m.gone):
			return
		case p.toEnd():
			down = end.Down
		case errors.Is(err, member.ErrMayReturn), errors.Is(err, syscall.ENOSPC):
		case errors.Is(err, member.ErrFenced), errors.Is(err, member.ErrDestroyed) && m.world.wasDestroyed():
			return
		case m.Once && (err == nil || errors.Is(err, agent.ErrRolesFailed)):
			return
		default:
			m.world.history.violate("the agent of %v ended by itself: %v", p, err)
			return
		}
		if down < 0 || !m.world.sleep(down, m.gone) {
			return
		}
	}
}

// process is a running agent.
type process struct {
	world   *world
	machine *machine
	number  int
	end     End
	mount   *mount
	dead    chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	started time.Duration

	mu       sync.Mutex
	session  *session
	requests int
	writes   int
	marks    int
	// hookMarks counts the points of hooks' lives.
	hookMarks int
	killed    bool
	asked     bool
	ended     bool
	err       error
	joined    time.Duration // when its presence node was first created; 0 is not yet
}

func (p *process) String() string { return fmt.Sprintf("%v.%d", p.machine, p.number) }

func (w *world) newProcess(m *machine, n int, end End) *process {
	p := &process{world: w, machine: m, number: n, end: end, dead: make(chan struct{}), started: w.cluster.now()}
	p.mount = &mount{disk: m.disk, writes: p.write, room: p.room}
	p.ctx, p.cancel = context.WithCancel(w.ctx)
	return p
}

// room is how much of a write the machine's disk has room for.
func (p *process) room(size int) int {
	if now := p.world.cluster.now(); within(p.machine.Full, now) {
		p.world.history.count("writes to a full disk")
		return int(p.world.dice.roll(p, "room", now) % uint64(size+1) * 2 / 3)
	}
	return size
}

// live is the process from its start to its end.
func (p *process) live() error {
	defer p.cancel()
	if p.end.After > 0 {
		defer time.AfterFunc(p.end.After, p.stop).Stop()
	}
	stopGone := context.AfterFunc(p.world.ctx, func() {})
	defer stopGone()
	go func() {
		select {
		case <-p.machine.gone:
			p.kill(true)
		case <-p.ctx.Done():
		}
	}()
	p.world.trace("%v starts", p)
	err := agent.Run(p.ctx, p.config())
	p.world.trace("%v ends: %v", p, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended, p.err = true, err
	return err
}

// config is what cmd/hotc-agent would use, without what is outside of virtual time: processes,
// sockets and the file system's clock.
func (p *process) config() agent.Config {
	m := p.machine
	folder := filepath.Join(p.world.folder, store.Segment(p.String()))
	boot := contract.Boot{Format: contract.Format, Deployment: string(deployment), Server: m.Server, Coordinator: "simulated:",
		Token: p.world.secret.ServerToken(deployment, m.Server)}
	if p.world.program.Plan.Signal == "heat" {
		boot.StackID, boot.SignalResource, boot.Signal = stackID, allDone, signalText(allDone)
		boot.Signals = p.world.program.handles()
	}
	if j := p.world.program.Joining; j != nil && m.Server == follower {
		boot.Deploy = map[string]json.RawMessage{"level": j.level(m.Boot)}
	}
	return agent.Config{
		Boot: boot, Heat: p.world.heat.client(p),
		Instance: m.Instance, State: filepath.Join(folder, "state"), Work: filepath.Join(folder, "work"),
		Program: "/bin/true", Version: "simulated", Drivers: []driver.Driver{tool{p}}, Open: p.open,
		Console: p, Now: p.machine.now, Random: randomness(p.world.dice.roll(p.String(), "random")),
		Grace: time.Second, Facts: p.fact, Once: m.Once, Disk: p.mount, Serve: noSocket,
	}
}

// noSocket is the endpoint of a role's values where no process will connect: roles run inside the
// simulation.
func noSocket(context.Context, string, driver.Values) (role.Endpoint, error) { return nowhere{}, nil }

type nowhere struct{}

func (nowhere) Path() string { return "/nowhere" }
func (nowhere) Close()       {}

// randomness is a stream of bytes from a seed.
func randomness(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return rand.NewChaCha8(key)
}

func (p *process) open(ctx context.Context, _ string, creds ...store.Credential) (store.Session, error) {
	s := p.world.cluster.open(p, p.String(), p.dead, p, creds)
	p.mu.Lock()
	p.session = s
	p.mu.Unlock()
	return s, s.travel(ctx, s.way(s.identify("open", ""), "there"))
}

func (p *process) fact(context.Context, contract.Fact) (json.RawMessage, error) {
	if p.machine.NoFact {
		return nil, errors.New("nobody told it")
	}
	return json.Marshal(p.machine.value(p.machine.Server.Fact(contract.FactFirstAddress)))
}

// Write implements io.Writer: the agent's console.
func (p *process) Write(text []byte) (int, error) {
	p.world.trace("%v says: %s", p, bytes.TrimSpace(text))
	p.machine.listen(text)
	return len(text), nil
}

// request implements caller.
func (p *process) request() (number int, died bool) {
	p.mu.Lock()
	p.requests++
	number = p.requests
	p.mu.Unlock()
	if number == p.end.Request && !p.end.Taken {
		p.stop()
	}
	return number, isClosed(p.dead)
}

// taken implements caller.
func (p *process) taken(number int) (died bool) {
	if number == p.end.Request && p.end.Taken && p.end.Write == 0 {
		p.stop()
	}
	return isClosed(p.dead)
}

// mark is a point in a role's life at which the process may end.
func (p *process) mark(key contract.RoleKey, point string) (died bool) {
	return p.pass(&p.marks, p.end.Mark, key, point)
}

// pass counts a point, and ends the process at the one that is planned.
func (p *process) pass(count *int, planned int, key contract.RoleKey, point string) (died bool) {
	p.mu.Lock()
	*count++
	number := *count
	p.mu.Unlock()
	if number == planned {
		p.world.trace("%v: %s, %s", p, key, point)
		p.stop()
	}
	return isClosed(p.dead)
}

// stop ends the process in the planned way.
func (p *process) stop() {
	if !p.end.Asked {
		p.kill(p.end.Power)
		return
	}
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	p.world.history.count("asked to end")
	p.world.trace("%v is asked to end", p)
	p.cancel()
}

// kill ends the process at once: nothing that it does afterwards has an effect.
func (p *process) kill(power bool) {
	p.mu.Lock()
	again := p.killed || p.ended
	p.killed = p.killed || !again
	p.mu.Unlock()
	if again {
		return
	}
	p.world.history.count("killed")
	p.world.trace("%v is killed (power %v)", p, power)
	p.machine.disk.crash(p.mount, power, func(unsynced int) int {
		return int(p.world.dice.roll(p.String(), "torn") % uint64(unsynced+1))
	})
	close(p.dead)
	p.cancel()
}

// second is an agent that is started beside the machine's own.
func (m *machine) second() {
	if !m.world.sleepUntil(m.Twice, m.gone) || m.last.Load() == nil || m.last.Load().isEnded() {
		return
	}
	p := m.world.newProcess(m, 100, End{})
	defer p.cancel()
	first := m.last.Load()
	if err := agent.Run(p.ctx, p.config()); !errors.Is(err, journal.ErrLocked) && !first.isEnded() && !m.world.over() {
		m.world.history.violate("a second agent on %v ended with: %v", m, err)
	}
	m.world.history.count("second agents")
}

// toEnd reports whether the process was killed, or asked to end.
func (p *process) toEnd() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed || p.asked
}

// joins records that the process is the server's agent.
func (p *process) joins() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.joined == 0 {
		p.joined = p.world.cluster.now()
	}
}

func (p *process) joinedAt() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.joined
}

func (p *process) isEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended || p.killed
}
