package lazyfile

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/runtime/process"
)

// mostParents is how many parents of a process are looked at.
const mostParents = 64

// isOf says whether a process is one of a role's: it, one of its parents or the leader
// of its session has the role's mark in its environment.
func isOf(pid int, mark string) bool {
	entry := []byte(process.MarkVariable + "=" + mark)
	session := 0
	for range mostParents {
		if pid <= 1 {
			break
		}
		if hasEntry(pid, entry) {
			return true
		}
		parent, leader := relatives(pid)
		if session == 0 {
			session = leader
		}
		pid = parent
	}
	return session > 1 && hasEntry(session, entry)
}

func hasEntry(pid int, entry []byte) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for one := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(one, entry) {
			return true
		}
	}
	return false
}

// relatives are a process's parent and the leader of its session; 0 where it has gone.
// The second field of its stat is the program's name in brackets and may hold anything.
func relatives(pid int) (parent, leader int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 4 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	leader, _ = strconv.Atoi(fields[3])
	return parent, leader
}
