package localrun

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/status"
	"github.com/hotc-dev/hotc/runtime/process"
)

// busy names a role of a cycle that does something beside its reads, in the background or in the
// foreground, and may still write what is awaited; "" is none. A waiting read is a process without
// children: `hotc-agent get`, or the tool itself. More of these than reads do something else.
func (p *progress) busy(c status.Cycle) contract.RoleKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	children := childrenOf()
	for _, s := range c {
		if agent := p.agents[s.Role.Server.Path]; agent > 0 && leaves(children, agent) > len(s.Role.Blocked) {
			return s.Role.Key()
		}
	}
	return ""
}

// leaves counts the childless processes below one, except the agent's own and those that wait for
// the output of another of them.
func leaves(children map[int][]int, of int) int {
	n := 0
	for _, child := range children[of] {
		switch {
		case isGuard(child), readsPipe(child):
		case len(children[child]) == 0:
			n++
		default:
			n += leaves(children, child)
		}
	}
	return n
}

// isGuard reports whether a process is the agent's, guarding the role's.
func isGuard(pid int) bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return bytes.HasSuffix(line, []byte("\x00guard\x00"))
}

// readsPipe reports whether a process waits at a pipe, as `sort` does behind a read.
func readsPipe(pid int) bool {
	where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", pid))
	return bytes.Contains(where, []byte("pipe"))
}

// childrenOf are the processes of this machine by parent; none where there is no /proc.
func childrenOf() map[int][]int {
	all := map[int][]int{}
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			if s := process.ReadStat(pid); s.State != 'Z' {
				all[s.Parent] = append(all[s.Parent], pid)
			}
		}
	}
	return all
}
