package main

import (
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// age formats a duration: 0.4s, 12s, 3m05s, 2h10m, 3d04h.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0s" // clocks differ
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// ageOf is the time since a moment, "" for the zero time.
func ageOf(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return age(now.Sub(since))
}

// shellQuote quotes a string as one word of a POSIX shell.
func shellQuote(text string) string { return protocol.ShellWord(text) }
