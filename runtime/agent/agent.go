// Package agent is a server's agent from start to end: it joins its deployment, becomes the server,
// publishes its facts, runs the roles in order and reports their results to the coordinator and to
// Heat. Then it keeps running, to show that the server is there.
//
// It may be killed and restarted at any moment. Everything it does is either noted in its journal
// before (the start of a role), or can be repeated without harm (every write to the coordinator,
// every signal). Decisions depend only on the journal and the coordinator, never on the agent's
// memory.
//
// Of two agents for the same server the later machine wins: the first one's writes are refused from
// then on, and it ends its role and itself.
package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/journal"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/role"
	"github.com/hotc-dev/hotc/runtime/signal"
)

// Config is what an agent needs. Every field but those after Grace must be set.
type Config struct {
	Boot contract.Boot
	// Instance names the machine: Nova's instance id.
	Instance string
	// State is the folder of the journal and of private files, Work that of roles.
	State, Work string
	// Program is the path of the agent's own program.
	Program     string
	Version     string
	Environment []string
	Drivers     []driver.Driver
	Open        func(ctx context.Context, url string, creds ...store.Credential) (store.Session, error)
	Console     io.Writer
	Now         func() time.Time
	Random      io.Reader
	Grace       time.Duration

	// Probe diagnoses why the coordinator at a URL cannot be reached (dial.Probe); nil is no
	// diagnosis.
	Probe func(ctx context.Context, url string) error
	// Room returns a folder's free disk space in bytes; nil asks the file system.
	Room func(folder string) (uint64, error)
	// Facts determines a fact of the server; nil means none.
	Facts func(ctx context.Context, name contract.Fact) (json.RawMessage, error)
	// Heat creates the client of a handle; nil is signal.NewClient.
	Heat func(signal.Handle) *signal.Client
	// Disk is where the journal is; nil is the folder State.
	Disk journal.Disk
	// Serve opens the socket of a role's values; nil is socket.Serve.
	Serve role.ServeFunc
	// Booted is closed when the server has booted, including the user's own user-data: until then
	// the agent only joins its deployment. nil means that it has.
	Booted <-chan struct{}
	// Once ends the agent when the roles have ended and Heat has been signalled.
	Once bool
	// InstallNothing fails roles whose tool is missing, instead of installing it.
	InstallNothing bool
	// EndLeftovers ends, with the agent, the background processes of its roles.
	EndLeftovers bool
	// Parting is how long a failed role may continue on its own; 0 is a second.
	Parting time.Duration
	// Retry is the time between attempts after a refusal; 0 is half a minute.
	Retry time.Duration
	// IfDown is how long all agents of a slot must be gone until the agent of another member takes
	// it; 0 is contract.DefaultIfDown.
	IfDown time.Duration
}

// ErrRolesFailed says that not all roles are done.
var ErrRolesFailed = errors.New("not all roles are done")

// agent is a running agent.
type agent struct {
	Config
	console *console
	journal *journal.Journal
	store   store.Session
	member  *member.Member
	session *member.Session // once it is the server
	plan    *contract.Server
	board   *board
	tools   map[wanted]string  // the programs of the tools that were found
	asked   <-chan struct{}    // there may be requests of an operator
	planned chan struct{}      // the plan may have changed
	later   bool               // a request could not be taken yet
	unread  bool               // the plan has changed, and cannot be read
	posted  []protocol.Request // by operators, as last read
	open    []protocol.Request // with those that the agent makes itself
	coming  map[string]protocol.Coming
	answers []protocol.Answer
	// shared is the identity that all members of the group share, if the agent has a slot.
	shared *identity
	// newlyRead are the read cells that changes of the plan have added.
	newlyRead map[contract.CellName]bool
	// reported are the roles whose failure the coordinator has, with the attempt.
	reported map[string]int
	follows  *followed
	moved    map[string]contract.Role // definitions of roles before their values moved (moved.go)
	// behind are the done roles that are not updated, since what they follow has failed.
	behind map[string]*protocol.BehindState
	heat   *heatValues
	// going is the reported progress of the delete hooks, if Heat deletes the machine.
	going *protocol.GoingState
	// again is the last update of Heat's for which failed roles were started again, saidAgain the
	// reported one.
	again, saidAgain string
	// relayed is the plan's, for goroutines that signal Heat.
	relayed atomic.Bool
	// refusing are the signals that the roles will not run, which end with joining.
	refusing sync.WaitGroup
	joining  context.Context
	// returned says that the coordinator has lost data, perhaps this machine's answers.
	returned atomic.Bool
	// stop ends everything, with the reason.
	stop context.CancelCauseFunc
}

// Run runs an agent. It returns nil when ctx ends after success, or with Once when all roles are
// done. Callers distinguish ErrRolesFailed, journal.ErrLocked, member.ErrFenced, with or without
// member.ErrMayReturn, and member.ErrDestroyed.
func Run(ctx context.Context, c Config) error {
	if c.Boot.Format != contract.Format {
		return fmt.Errorf("the boot file has format %d, this agent reads format %d", c.Boot.Format, contract.Format)
	}
	c.Parting = cmp.Or(c.Parting, time.Second)
	c.Retry = cmp.Or(c.Retry, 30*time.Second)
	if c.Heat == nil {
		c.Heat = signal.NewClient
	}
	if c.Disk == nil {
		c.Disk = journal.Folder(c.State)
	}
	a := &agent{Config: c, console: &console{out: c.Console}, tools: map[wanted]string{}, reported: map[string]int{}, behind: map[string]*protocol.BehindState{}, follows: newFollowed(), moved: map[string]contract.Role{}, newlyRead: map[contract.CellName]bool{}, heat: newHeatValues(c.Boot.Deploy, c.Instance), planned: make(chan struct{}, 1)}
	var err error
	a.journal, err = journal.Open(c.Disk, journal.Machine{
		Deployment: c.Boot.Deployment, Server: c.Boot.Server, Instance: c.Instance}, c.Random, c.Now)
	if err != nil {
		return err
	}
	defer a.journal.Close()
	a.heat.recall(a.journal.Remembered().Heat)
	ctx, a.stop = context.WithCancelCause(ctx)
	defer a.stop(nil)
	if c.EndLeftovers {
		defer a.endLeftovers()
	}
	return a.live(ctx)
}

// live is Run without the journal. If the agent was asked to end, that is the reason of its end,
// whatever error came with it.
func (a *agent) live(ctx context.Context) error {
	done, err := a.work(ctx)
	if a.store != nil {
		defer a.store.Close()
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, member.ErrFenced), errors.Is(cause, member.ErrDestroyed):
		return a.takenOut(ctx, cause)
	case cause != nil && !a.Once, cause != nil && done:
		return nil
	case cause != nil:
		return fmt.Errorf("the agent was stopped: %w", errors.Join(cause, ErrRolesFailed))
	case err == nil && !done:
		return ErrRolesFailed
	case errors.Is(err, member.ErrFenced), errors.Is(err, member.ErrDestroyed):
		return a.takenOut(ctx, err)
	}
	return err
}

// mayComeBack reports whether a deployment of which nothing was left while the machine enrolled may be
// there again: the machine never was the server, or the coordinator has refused its session, as it does
// after it has lost data.
func (a *agent) mayComeBack() bool {
	now, _ := a.store.Connection()
	return a.journal.Incarnation() == 0 || now.Ended > 0
}

// work does the work, and returns when there is no more to do; done says that all roles are done.
func (a *agent) work(ctx context.Context) (done bool, err error) {
	if err := a.joinBooted(ctx); err != nil {
		return false, err
	}
	a.followConnection(ctx)
	err = a.enrol(ctx)
	for errors.Is(err, member.ErrAnew) || errors.Is(err, member.ErrDestroyed) && a.mayComeBack() && ctx.Err() == nil {
		a.console.say("%v", err)
		if err := a.join(ctx); err != nil {
			return false, err
		}
		err = a.enrol(ctx)
	}
	if err != nil {
		return false, err
	}
	defer a.board.follow(ctx)()
	if err := a.appear(ctx); err != nil {
		return false, err
	}
	defer a.keepSealed(ctx)()
	if err := store.InTurn(ctx, a.watchFence, a.watchPlan, a.watchHeat, a.publishFacts, a.listen); err != nil {
		return false, err
	}
	for again := true; again && err == nil; {
		done, again, err = a.round(ctx)
	}
	return done, err
}

// round runs the roles and then idles, until a role has to run again or the agent has to end.
func (a *agent) round(ctx context.Context) (done, again bool, err error) {
	telling, enough := context.WithCancel(ctx)
	defer enough()
	h := newHerald(telling, a)
	if done, err = a.runRoles(ctx, h); err == nil {
		again, err = a.rest(ctx, h)
	}
	if again || err != nil {
		enough()
	}
	h.finish()
	return done, again, err
}

// listen prepares for requests of operators.
func (a *agent) listen(ctx context.Context) (err error) {
	if a.answers, err = a.member.Answers(ctx); err != nil {
		return err
	}
	a.asked, err = a.store.Watch(ctx, protocol.Deployment(a.Boot.Deployment).Requests(a.Boot.Server))
	return err
}

// rest signals Heat how the roles ended, and takes requests, until a role has to run again or the
// agent has to end.
func (a *agent) rest(ctx context.Context, h *herald) (again bool, err error) {
	telling, enough := context.WithCancel(ctx)
	defer enough()
	told := a.tellHeat(telling)
	for asked := a.later; ; {
		if asked {
			if again, err = a.attend(ctx); again || err != nil {
				enough()
				if told != nil {
					a.noteSignalled(<-told)
				}
				return again, err
			}
			a.sayTried()
		}
		if err := a.bringUpToDate(ctx); err != nil {
			return false, err
		}
		for waiting := true; waiting; {
			if told == nil && a.Once {
				return false, nil
			}
			waiting, asked = false, false
			select {
			case status := <-told:
				a.noteSignalled(status)
				told, waiting = nil, true
			case t := <-h.taken:
				h.note(t)
				waiting = true
			case _, asked = <-a.asked:
				if !asked {
					return false, nil // the agent ends
				}
			case <-a.planned:
				a.replan()
				asked = true
			case <-a.follows.changed:
				asked = a.later || a.parts() || a.triesAgain()
			case <-ctx.Done():
				if told != nil {
					a.noteSignalled(<-told)
				}
				return false, nil
			}
		}
	}
}

// enrol makes this machine the server and announces its presence.
func (a *agent) enrol(ctx context.Context) (err error) {
	a.member.RememberTries(max(a.journal.Trying(), a.journal.Incarnation()), a.journal.NoteTrying)
	a.member.OnLoss(func(what string) {
		a.follows.forgetLost()
		a.returned.Store(true)
		a.replan() // the one that is there may be another
		a.console.say("%s", what)
	})
	was := a.journal.Incarnation()
	a.session, err = a.member.Enrol(ctx, a.journal.ID(), a.Instance, was > 0, a.Now())
	if err != nil {
		return err
	}
	number := a.session.Incarnation.Number
	if was > 0 {
		if err := a.session.Republish(ctx, was); err != nil {
			return err
		}
	}
	if was != number { // after Republish: an agent that is killed in between publishes all again
		if err := a.journal.NoteEnrolled(number); err != nil {
			return err
		}
	}
	presence := protocol.PresenceRecord{Incarnation: number, Since: a.Now().UTC()}
	if err := a.session.Announce(ctx, presence); err != nil {
		return err
	}
	if err := a.forgetRemoved(); err != nil {
		return err
	}
	a.console.say("server %s of %s, incarnation %d: %s", a.Boot.Server, a.Boot.Deployment, number, source.Counted(len(a.plan.Roles), "role"))
	before, err := a.session.State(ctx)
	if err != nil {
		return err
	}
	if err := a.takeOver(before); err != nil {
		return err
	}
	a.board = newBoard(a.session, a.console, a.stop, a.Now, a.firstState(before))
	a.board.wrote = a.wrote
	return nil
}

// takeOver notes what the coordinator knows about this machine and the journal does not, after the
// disk was restored from a backup. A role that has ended must not run again.
func (a *agent) takeOver(before protocol.ServerState) error {
	for _, r := range before.Roles {
		if a.index(r.Name) < 0 {
			continue // it was removed from the plan
		}
		noted := a.journal.Role(r.Name)
		if r.Status.Ended() && (r.Attempt > noted.Attempt || r.Attempt == noted.Attempt && !noted.Status.Ended()) {
			if err := a.journal.NoteFound(r); err != nil {
				return err
			}
		}
		if r.Status == protocol.RoleFailed {
			a.reported[r.Name] = r.Attempt
		}
	}
	return nil
}

// firstState is the state from the journal, with the output that was reported before.
func (a *agent) firstState(before protocol.ServerState) protocol.ServerState {
	state := protocol.ServerState{Phase: protocol.PhaseUp, Since: a.Now().UTC(), Agent: a.Version, NoHandle: a.Boot.Signal == "", Decided: a.decided(), Again: before.Again}
	a.again, a.saidAgain = before.Again, before.Again
	for _, r := range a.plan.Roles {
		now := a.recall(r)
		if old := before.Role(r.Name); old.Status == now.Status && old.Attempt == now.Attempt {
			now.LastLines = old.LastLines
			now.Update = withLines(now.Update, old.Update)
		}
		state.Roles = append(state.Roles, now)
	}
	return state
}

// decided is what Heat decided, as far as this server's user-data says: so operators can tell
// servers that are late from those that were never created.
func (a *agent) decided() map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for key, expr := range a.plan.Decides {
		value, err := role.Decided(expr, a.heat.all())
		if err != nil {
			a.console.say("%v", err)
			continue
		}
		if out == nil {
			out = map[string]json.RawMessage{}
		}
		out[key] = value
	}
	return out
}

// recall is the state of a role from the journal, as it may be reported. A failure that was not
// reported yet stays hidden until its dependents are marked as failed: if this agent ends in
// between, the next one takes a failure in the coordinator as completely reported.
func (a *agent) recall(r contract.Role) protocol.RoleState {
	now := a.journal.Role(r.Name).RoleState
	if attempt, told := a.reported[r.Name]; now.Status == protocol.RoleFailed && (!told || attempt != now.Attempt) {
		return protocol.RoleState{Name: now.Name, Status: protocol.RoleRunning, Started: now.Started, Attempt: now.Attempt}
	}
	if now.Status == protocol.RoleDone {
		now.Followed = a.heat.ran(&r, now.Followed)
		now.Behind = a.behind[r.Name]
	}
	return now
}

func (a *agent) host() *role.Host {
	return &role.Host{
		Deployment: a.Boot.Deployment, Server: a.Boot.Server, Deploy: a.heat.all(), Carried: a.heat.relayed,
		Drivers: a.Drivers, Cells: a.cells(), Journal: a.journal,
		Serve: a.Serve, Work: a.Work, Private: filepath.Join(a.State, "run"), Agent: a.Program, Environment: a.Environment,
		Ensure: a.ensure,
		Show: func(r protocol.RoleState) {
			if r.Status == protocol.RoleFailed {
				return // it is reported together with its dependents
			}
			a.board.show(func(s *protocol.ServerState) { setRole(s, r) })
		},
		Begin:   a.board.begin,
		Current: a.member.CheckPlan,
		Now:     a.Now, Random: a.Random, Grace: a.Grace, Parting: a.Parting,
	}
}

// watchFence ends the agent as soon as another machine takes over the name, or the deployment is
// destroyed, even while there is nothing to write.
func (a *agent) watchFence(ctx context.Context) error {
	// Every report checks the incarnation, and the board ends the agent if it has changed.
	show := func() { a.board.show(func(*protocol.ServerState) {}) }
	return store.OnChange(ctx, a.store, protocol.Deployment(a.Boot.Deployment).Server(a.Boot.Server), show)
}

func (a *agent) endLeftovers() {
	found, err := process.EndMarked(a.journal.Runs(), a.Grace)
	if err != nil {
		a.console.say("%v", err)
	} else if found > 0 {
		a.console.say("ended %d background processes of roles", found)
	}
}
