package main

import "github.com/hotc-dev/hotc/coordinator"

// shellQuote writes a text as one word of a POSIX shell.
func shellQuote(text string) string { return coordinator.ShellWord(text) }
