//go:build unix && !linux

package main

import "syscall"

// ofItsOwn makes a process the first of a group. Where the kernel cannot end it with
// this one, a hotc run that is killed leaves its agents.
func ofItsOwn() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
