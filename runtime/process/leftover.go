package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// EndMarked ends every process with one of the marks in its environment: SIGTERM first,
// SIGKILL after the grace. It returns how many there were, and an error if some are left
// (a process that waits in the kernel cannot be killed).
func EndMarked(marks []string, grace time.Duration) (found int, err error) {
	marked := func() []target { return withEnvironment(marks) }
	targets := marked()
	if len(targets) == 0 {
		return 0, nil
	}
	signal(targets, unix.SIGTERM)
	awaitNone(marked, time.Now().Add(grace))
	// A process may fork before it gets the signal: search again.
	deadline := time.Now().Add(grace)
	killed := pidsOf(targets)
	for left := marked(); len(left) > 0; left = marked() {
		killed = append(killed, pidsOf(left)...)
		if time.Now().After(deadline) {
			return len(targets), fmt.Errorf("%d processes of a role cannot be ended, such as process %d", len(left), left[0].pid)
		}
		signal(left, unix.SIGKILL)
		awaitNone(marked, time.Now().Add(lookEvery))
	}
	awaitGone(killed, time.Now().Add(time.Second))
	return len(targets), nil
}

func pidsOf(targets []target) []int {
	pids := make([]int, len(targets))
	for i, t := range targets {
		pids[i] = t.pid
	}
	return pids
}

// awaitGone waits for processes that have released their memory, and with it their
// environment, but not ended. A reused process ID costs at most the time until the
// deadline.
func awaitGone(pids []int, deadline time.Time) {
	for _, pid := range pids {
		for time.Now().Before(deadline) {
			if state := ReadStat(pid).State; state == 0 || state == 'Z' || state == 'X' {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// lookEvery is the polling interval for ending processes.
const lookEvery = 20 * time.Millisecond

// target is a matching process, held by a descriptor so that a signal never reaches
// another with a reused ID.
type target struct {
	pid     int
	process *os.Process
}

func signal(targets []target, s unix.Signal) {
	for _, t := range targets {
		t.process.Signal(s)
		t.process.Release()
	}
}

// awaitNone polls until nothing is found or the deadline has passed.
func awaitNone(find func() []target, deadline time.Time) {
	for {
		found := find()
		for _, t := range found {
			t.process.Release()
		}
		if len(found) == 0 || time.Now().After(deadline) {
			return
		}
		time.Sleep(lookEvery)
	}
}

func withEnvironment(marks []string) []target {
	wanted := map[string]bool{}
	for _, m := range marks {
		wanted[MarkVariable+"="+m] = true
	}
	return find(func(pid int) bool { return environmentHas(pid, wanted) })
}

func inSession(session int) []target {
	return find(func(pid int) bool {
		s := ReadStat(pid)
		return s.Session == session && s.State != 'Z'
	})
}

// find returns the matching processes other than this one. A zombie has an empty
// environment.
func find(matches func(pid int) bool) []target {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	var found []target
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// Open first, then match: what is matched is what is held, or has ended.
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if !matches(pid) {
			process.Release()
			continue
		}
		found = append(found, target{pid, process})
	}
	return found
}
