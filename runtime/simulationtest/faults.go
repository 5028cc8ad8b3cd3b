package simulationtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Faults is what goes wrong, and when. Times count from the start of the run.
type Faults struct {
	// Apply is when the operator applies the plan. Unless Interrupted is 0, the operator's program
	// dies at that request, and is run again at Again.
	Apply       time.Duration
	Interrupted int
	Again       time.Duration
	// Lost is the chance that a request, or its answer, is lost; the store repeats it. Slow is the
	// chance that it takes seconds.
	Lost, Slow float64
	// Lag is how far a session's replica may be behind.
	Lag time.Duration
	// Room is how many bytes an agent's commit may have, fewer than all of its cells need; 0 is a
	// megabyte.
	Room int
	// Once makes the servers' tokens valid for one enrolment. The operator approves the machine
	// that was built last.
	Once     bool
	Machines []Machine
	// HeatDown are the times in which Heat is unreachable, HeatBusy is the chance that it has no
	// time for a request, Token is how long a token of Keystone's is valid.
	HeatDown []Span
	HeatBusy float64
	Token    time.Duration
	// Destroy is when the operator destroys the deployment, dying at request Cut if that is not 0,
	// and Anew when it is applied once more; 0 is never.
	Destroy time.Duration
	Cut     int
	Anew    time.Duration
	// Updates are the changes of the live plan.
	Updates Updates
	// Rivals are those by other operators.
	Rivals []Rival
	// Losses are when the coordinator loses data.
	Losses []Loss
}

// Machine is one build of a server.
type Machine struct {
	Server   contract.ServerPath
	Number   int
	Instance string
	// Made is when Heat has created it, Boot when it boots.
	Made, Boot time.Duration
	// Undone is when Heat goes back from it to the previous one; 0 is never.
	Undone time.Duration
	// Once ends its agent when all is done.
	Once bool
	// Gone is when the machine is deleted; 0 is never.
	Gone time.Duration
	// Ends is how the machine's processes end, one after the other; the one after the last is left
	// alone.
	Ends []End
	// Cut are the times in which it does not reach the coordinator.
	Cut []Span
	// Full are the times in which its disk is full.
	Full []Span
	// Twice is when a second agent is started by mistake; 0 is never.
	Twice time.Duration
	// NoFact makes the machine unable to report its facts.
	NoFact bool
}

func (m *Machine) String() string { return fmt.Sprintf("%s#%d", m.Server, m.Number) }

// Span is the time between two moments.
type Span struct{ From, To time.Duration }

// End is how a process ends early: at the first of these moments that it reaches.
type End struct {
	After   time.Duration // since the process's start; 0 is not by time
	Request int           // at this request to the coordinator; 0 is at none
	Taken   bool          // after that request or write was done, before anyone learns of it
	Hook    int           // at this point of a hook's life, counted over all hooks; 0 is at none
	Mark    int           // at this point of a role's life, counted over all roles; 0 is at none
	Write   int           // at this write, to the coordinator or to its journal; 0 is at none
	Number  bool          // after the coordinator has made its machine the server, before it reports so
	// Asked ends the process by a signal (an orderly restart), otherwise it is killed; Power loses
	// what was not synced.
	Asked, Power bool
	// Down is the time until the next process; negative is for ever.
	Down time.Duration
}

// mishaps creates a fault plan for a program.
type mishaps struct {
	*rand.Rand
}

func (g mishaps) perhaps(p float64) bool { return g.Float64() < p }

func (g mishaps) within(d time.Duration) time.Duration { return 1 + time.Duration(g.Int64N(int64(d))) }

// GenerateFaults creates a fault plan. With calm nothing goes wrong except that the servers and the
// plan arrive in any order.
func GenerateFaults(r *rand.Rand, p *Program, calm bool) *Faults {
	g := mishaps{r}
	f := &Faults{Apply: g.within(time.Minute)}
	for i := range p.Plan.Servers {
		f.Machines = append(f.Machines, Machine{Server: p.Plan.Servers[i].Path, Boot: g.within(time.Minute)})
	}
	if !calm {
		g.trouble(f)
	}
	return f
}

// name gives machines without an instance id one of their own.
func (f *Faults) name() {
	for i := range f.Machines {
		m := &f.Machines[i]
		m.Instance = m.instance()
	}
}

// addHeat makes Heat unreachable for a while, or busy.
func (f *Faults) addHeat(r *rand.Rand, calm bool) {
	g := mishaps{r}
	f.Token = time.Hour
	if calm {
		return
	}
	for at := time.Duration(0); g.perhaps(0.3) && len(f.HeatDown) < 3; {
		at += g.within(time.Minute)
		f.HeatDown = append(f.HeatDown, Span{at, at + g.within(2*time.Minute)})
		at = f.HeatDown[len(f.HeatDown)-1].To
	}
	if g.perhaps(0.2) {
		f.HeatBusy = 0.5 * g.Float64()
	}
	if g.perhaps(0.2) {
		f.Token = g.within(10 * time.Second)
	}
}

// addDestruction lets the operator destroy some deployments, and create some of these again, with
// new machines; an old one may be cut off meanwhile, and return late.
func (f *Faults) addDestruction(r *rand.Rand, p *Program) {
	g := mishaps{r}
	if !g.perhaps(0.15) {
		return
	}
	f.Destroy = max(f.Apply, f.Again) + g.within(90*time.Second)
	if g.perhaps(0.2) {
		f.Cut = 1 + g.IntN(10)
	}
	if g.perhaps(0.4) {
		return
	}
	f.Anew = f.Destroy + g.within(30*time.Second)
	if g.perhaps(0.3) { // at once
		f.Anew = f.Destroy + time.Second
	}
	for i := range f.Machines {
		if m := &f.Machines[i]; len(m.Cut) == 0 && g.perhaps(0.3) {
			m.Cut = []Span{{f.Destroy - g.within(2*time.Second), f.Anew + g.within(10*time.Second)}}
		}
	}
	for _, s := range p.Plan.Servers {
		if g.perhaps(0.8) {
			f.Machines = append(f.Machines, Machine{Server: s.Path, Number: 10, Boot: f.Anew - time.Second + g.within(20*time.Second)})
		}
	}
}

func (g mishaps) trouble(f *Faults) {
	if g.perhaps(0.1) {
		f.Interrupted, f.Again = 1+g.IntN(12), f.Apply+g.within(time.Minute)
	}
	if g.perhaps(0.5) {
		f.Lost = 0.15 * g.Float64()
	}
	if g.perhaps(0.3) {
		f.Slow = 0.1 * g.Float64()
	}
	if g.perhaps(0.4) {
		f.Lag = g.within(6 * time.Second)
		if g.perhaps(0.2) {
			f.Lag *= 5 // longer than a session lives
		}
	}
	if g.perhaps(0.1) {
		f.Room = 4000 + g.IntN(4000)
	}
	var more []Machine
	for i := range f.Machines {
		m := &f.Machines[i]
		g.machine(m)
		// A server that is rebuilt, once or twice, with the old one gone or not.
		for old := m; g.perhaps(0.2) && old.Number < 3; {
			next := Machine{Server: old.Server, Number: old.Number + 1, Boot: old.Boot + g.within(80*time.Second)}
			switch {
			case g.perhaps(0.5):
				old.Gone = old.Boot + g.within(next.Boot-old.Boot)
			case g.perhaps(0.3):
				next.Instance = old.Instance // a second state folder on the same machine
			}
			g.machine(&next)
			more = append(more, next)
			old = &more[len(more)-1]
		}
	}
	f.Machines = append(f.Machines, more...)
	f.Once = g.perhaps(0.3)
	if g.perhaps(0.05) { // a server that never comes
		i := g.IntN(len(f.Machines))
		f.Machines[i].Gone = f.Machines[i].Boot
	}
}

func (g mishaps) machine(m *Machine) {
	m.Once = g.perhaps(0.1)
	m.NoFact = g.perhaps(0.05)
	for g.perhaps(0.4) && len(m.Ends) < 4 {
		m.Ends = append(m.Ends, g.end())
	}
	at := m.Boot
	for g.perhaps(0.2) && len(m.Cut) < 3 {
		at += g.within(40 * time.Second)
		cut := Span{at, at + g.within(4*time.Second)}
		if g.perhaps(0.5) {
			cut.To += g.within(40 * time.Second) // longer than a session lives
		}
		m.Cut, at = append(m.Cut, cut), cut.To
	}
	if g.perhaps(0.05) {
		m.Twice = m.Boot + g.within(time.Minute)
	}
}

// addFull fills disks for a while.
func (f *Faults) addFull(r *rand.Rand) {
	g := mishaps{r}
	for i := range f.Machines {
		m := &f.Machines[i]
		for at := max(m.Boot, f.Apply); g.perhaps(0.3) && len(m.Full) < 3; {
			at += g.within(30 * time.Second)
			m.Full = append(m.Full, Span{at, at + g.within(30*time.Second)})
			at = m.Full[len(m.Full)-1].To
		}
	}
}

// addRebuilds makes some machines the same one again, with an empty disk.
func (f *Faults) addRebuilds(r *rand.Rand) {
	g := mishaps{r}
	for i := range f.Machines {
		m := &f.Machines[i]
		for k := range f.Machines {
			if old := &f.Machines[k]; old.Server == m.Server && old.Number == m.Number-1 && old.Gone > 0 && old.Gone <= m.Boot && m.Instance == "" && g.perhaps(0.5) {
				m.Instance = old.instance()
			}
		}
	}
}

func (m *Machine) instance() string {
	if m.Instance != "" {
		return m.Instance
	}
	return fmt.Sprintf("i-%s-%d", m.Server, m.Number)
}

func (g mishaps) end() End {
	e := End{Asked: g.perhaps(0.15), Power: g.perhaps(0.5), Down: g.within(5 * time.Second)}
	switch g.IntN(5) {
	case 0:
		e.After = g.within(time.Minute)
	case 1:
		e.Request, e.Taken = 1+g.IntN(25), g.perhaps(0.5)
	case 2:
		e.Request, e.Taken = 1+g.IntN(80), g.perhaps(0.5)
	case 3:
		e.Mark = 1 + g.IntN(12)
	case 4:
		e.Number = true
	}
	switch {
	case g.perhaps(0.08):
		e.Down = -1
	case g.perhaps(0.3):
		e.Down += g.within(40 * time.Second)
	}
	return e
}

// last is when the last planned event happens.
func (f *Faults) last() time.Duration {
	last := max(f.Apply, f.Again, f.Destroy, f.Anew)
	for _, u := range f.Updates {
		last = max(last, u.At, u.Again)
	}
	for _, x := range f.Rivals {
		last = max(last, x.At)
	}
	for _, l := range f.Losses {
		last = max(last, l.Repair+sessionTimeout)
	}
	for _, s := range f.HeatDown {
		last = max(last, s.To)
	}
	for _, m := range f.Machines {
		last = max(last, m.Boot, m.Gone, m.Twice)
		for _, s := range slices.Concat(m.Cut, m.Full) {
			last = max(last, s.To)
		}
	}
	return last
}

// String shows the plan to those who examine a failing seed.
func (f *Faults) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apply at %v", f.Apply)
	if f.Interrupted > 0 {
		fmt.Fprintf(&b, ", interrupted at request %d, again at %v", f.Interrupted, f.Again)
	}
	if f.Once {
		b.WriteString(", tokens good for one enrolment")
	}
	fmt.Fprintf(&b, "; lost %.2f, slow %.2f, lag %v, room %d\n", f.Lost, f.Slow, f.Lag, f.Room)
	fmt.Fprintf(&b, "Heat away %v, busy %.2f, tokens for %v\n", f.HeatDown, f.HeatBusy, f.Token)
	if f.Destroy > 0 {
		fmt.Fprintf(&b, "destroyed at %v (dies at request %d), applied anew at %v\n", f.Destroy, f.Cut, f.Anew)
	}
	for _, u := range f.Updates {
		fmt.Fprintf(&b, "the plan is changed at %v (back %v, grows %v, dies at request %d, again at %v)\n", u.At, u.Back, u.Grows, u.Cut, u.Again)
	}
	for _, x := range f.Rivals {
		fmt.Fprintf(&b, "another operator changes it at %v (dies at request %d, takes over %v)\n", x.At, x.Cut, x.Over)
	}
	for _, l := range f.Losses {
		fmt.Fprintf(&b, "the coordinator is away at %v, and back at %v, ", l.At, l.Back)
		if l.Older == 0 {
			b.WriteString("empty")
		} else {
			fmt.Fprintf(&b, "with its state of %v before", l.Older)
		}
		fmt.Fprintf(&b, "; the operator restores it at %v (dies at request %d)\n", l.Repair, l.Cut)
	}
	for i := range f.Machines {
		m := &f.Machines[i]
		fmt.Fprintf(&b, "%v (%s) is made at %v, boots at %v", m, m.Instance, m.Made, m.Boot)
		if m.Gone > 0 {
			fmt.Fprintf(&b, ", is deleted at %v", m.Gone)
		}
		if m.Undone > 0 {
			fmt.Fprintf(&b, ", Heat goes back from it at %v", m.Undone)
		}
		if m.Twice > 0 {
			fmt.Fprintf(&b, ", has a second agent at %v", m.Twice)
		}
		for _, c := range m.Cut {
			fmt.Fprintf(&b, ", is cut off from %v to %v", c.From, c.To)
		}
		for _, s := range m.Full {
			fmt.Fprintf(&b, ", its disk is full from %v to %v", s.From, s.To)
		}
		for n, e := range m.Ends {
			fmt.Fprintf(&b, "\n    process %d ends: %+v", n, e)
		}
		b.WriteString("\n")
	}
	return b.String()
}
