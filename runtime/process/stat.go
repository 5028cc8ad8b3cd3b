package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// Stat is the kernel's status of a process (proc(5), /proc/PID/stat).
type Stat struct {
	State   byte // as in ps: 'R', 'S', 'D', 'Z', …; 0 if it is gone
	Parent  int
	Session int // its session leader
}

// ReadStat returns the status of a process; zero if it is gone.
func ReadStat(pid int) Stat {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Stat{}
	}
	// The second field is the program's name in brackets and may contain anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 4 || len(fields[0]) != 1 {
		return Stat{}
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	session, _ := strconv.Atoi(string(fields[3]))
	return Stat{State: fields[0][0], Parent: parent, Session: session}
}

// HasMark reports whether a process has a role's mark in its environment.
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
