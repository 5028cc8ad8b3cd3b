package main

import "github.com/hotc-dev/hotc/coordinator/protocol"

// shellQuote quotes a string as one word of a POSIX shell.
func shellQuote(text string) string { return protocol.ShellWord(text) }
