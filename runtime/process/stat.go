package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Stat is what the kernel says of a process (proc(5), /proc/PID/stat).
type Stat struct {
	State   byte // as in ps: 'R', 'S', 'D', 'Z', …; 0 is a process that is gone
	Parent  int
	Session int // the process that leads its session
}

// ReadStat looks at a process; the zero Stat is one that is gone.
func ReadStat(pid int) Stat {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}
	}
	// The second field is the program's name in brackets and may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 4 || len(fields[0]) != 1 {
		return Stat{}
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	session, _ := strconv.Atoi(string(fields[3]))
	return Stat{State: fields[0][0], Parent: parent, Session: session}
}

// HasMark says whether a process has a mark of a role in its environment.
func HasMark(pid int, mark string) bool {
	return environmentHas(pid, map[string]bool{MarkVariable + "=" + mark: true})
}

func environmentHas(pid int, wanted map[string]bool) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if wanted[string(entry)] {
			return true
		}
	}
	return false
}
