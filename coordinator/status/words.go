package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/lists"
)

// What a status says, in words.

// Text says what holds a subject up.
func (f *Finding) Text(now time.Time) string {
	switch f.Kind {
	case KindBlocked:
		parts := lists.Map(f.On, func(d Dependence) string { return d.String() + since(d.Since, now) })
		return f.Subject + " waits for " + strings.Join(parts, ", and for ")
	case KindTurn:
		return fmt.Sprintf("%s runs after %s on its server", f.Subject, f.On[0].Subject)
	case KindSkipped:
		if len(f.On) == 0 {
			return f.Subject + " is skipped: " + CauseText(f.Cause)
		}
		return fmt.Sprintf("%s is skipped, because %s on its server failed", f.Subject, f.On[0].Subject)
	case KindFailedDependency, KindFailed:
		return fmt.Sprintf("%s failed%s: %s", f.Subject, at(f.Since, now), CauseText(f.Cause))
	case KindRunning:
		return f.Subject + " has been running" + since(f.Since, now)
	case KindArrived:
		return f.Subject + " has just received what it waited for"
	case KindStarting:
		if f.Message != "" {
			return f.Subject + " has not started: " + f.Message
		}
		return f.Subject + " has not started; its agent has been there" + since(f.Since, now)
	case KindAbsent:
		return f.Subject + " never came: no agent of this server has reached the coordinator"
	case KindMissing:
		return f.Subject + " was not created by Heat: " + f.Message
	case KindLeft:
		return f.Subject + " has left its group: Heat has removed its machine"
	case KindLost:
		text := f.Subject + " is lost: its agent had joined, and has no session with the coordinator now; its last report" + at(f.Since, now)
		if f.Message != "" {
			text += ": " + f.Message
		}
		return text
	case KindNotGiven:
		return f.Subject + " is not supplied yet, or not since its reader was replaced; to supply it: " + f.Message
	case KindRefused:
		return f.Subject + " has not been admitted" + since(f.Since, now) + ": " + f.Message
	case KindDone:
		if f.Message != "" {
			return f.Subject + " is done" + since(f.Since, now) + ": " + f.Message
		}
		return f.Subject + " is done" + since(f.Since, now)
	case KindUpdating:
		return f.Subject + " is done, and is being updated" + since(f.Since, now) + ": " + f.Message
	case KindOutOfDate:
		return fmt.Sprintf("%s is done, but was not updated%s: %s", f.Subject, at(f.Since, now), f.Message)
	}
	return f.Subject
}

func since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" since %s (%s)", clock(t, now), Age(now.Sub(t)))
}

func at(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" at %s (%s ago)", clock(t, now), Age(now.Sub(t)))
}

// clock formats a time in now's time zone.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}

// short describes a root cause in two or three words.
var short = map[Kind]string{
	KindRunning: "still runs", KindFailed: "failed", KindFailedDependency: "failed", KindArrived: "has what it waited for",
	KindStarting: "has not started", KindAbsent: "never came", KindMissing: "was not created", KindLost: "is lost",
	KindLeft: "has left its group", KindNotGiven: "is not supplied", KindRefused: "is not admitted", KindDone: "is done",
	KindUpdating: "is being updated", KindOutOfDate: "is out of date",
	KindBlocked: "waits", KindTurn: "waits", KindSkipped: "waits",
}

// String is a root cause in a few words.
func (r RootCause) String() string { return r.Subject + " " + short[r.Kind] }

// Age formats a duration: 0.4s, 12s, 3m05s, 2h10m, 3d04h.
func Age(d time.Duration) string {
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

// AgeOf is the time since a moment, "" for the zero time.
func AgeOf(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return Age(now.Sub(since))
}
