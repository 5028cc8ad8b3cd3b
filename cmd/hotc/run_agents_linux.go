package main

import "syscall"

// ofItsOwn makes a process the first of a group, which is asked to end when this
// one has ended, however that was.
func ofItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
