package lazyfile

import "github.com/hotc-dev/hotc/runtime/process"

// mostParents is how many parents of a process are looked at.
const mostParents = 64

// isOf says whether a process is one of a role's: it, one of its parents or the leader
// of its session has the role's mark in its environment.
func isOf(pid int, mark string) bool {
	session := 0
	for range mostParents {
		if pid <= 1 {
			break
		}
		if process.HasMark(pid, mark) {
			return true
		}
		stat := process.ReadStat(pid)
		if session == 0 {
			session = stat.Session
		}
		pid = stat.Parent
	}
	return session > 1 && process.HasMark(session, mark)
}
