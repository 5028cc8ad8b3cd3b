package status

import (
	"fmt"
	"time"
)

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
