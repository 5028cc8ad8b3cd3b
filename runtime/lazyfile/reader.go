package lazyfile

import "github.com/hotc-dev/hotc/runtime/process"

// mostParents bounds the parents of a process that are checked.
const mostParents = 64

// isOf reports whether a process belongs to a role: it, one of its parents or its session
// leader has the role's mark in its environment.
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
