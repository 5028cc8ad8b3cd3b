package bed

import (
	"fmt"
	"path/filepath"
	"strings"
)

// logFiles are a server's own logs.
var logFiles = []string{stateDir + "/stages", "var/log/cloud-init-output.log", "var/log/hotc-agent.log", "var/lib/hotc/roles/*.std*",
	"var/log/cloud-init.log"}

// Logs are the ends of a server's logs, each under its name; of cloud-init's own log without mere
// progress.
func (s *Server) Logs() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- the machine\n%s\n", s.condition())
	for _, pattern := range logFiles {
		names, _ := filepath.Glob(s.path(pattern))
		for _, name := range names {
			name, _ = filepath.Rel(s.root, name)
			text, err := s.Read(name)
			if err != nil {
				text = err.Error()
			}
			if filepath.Base(name) == "cloud-init.log" {
				text = troubles(text)
			}
			fmt.Fprintf(&b, "--- /%s\n%s\n", name, end(text))
		}
	}
	return b.String()
}

// condition is what runs in the server, and its network.
func (s *Server) condition() string {
	list, err := s.processes()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%s %s\n", p.state, strings.Join(p.words, " "))
	}
	return b.String() + wiring(s.place)
}

// troubles are the lines of cloud-init's log that are above INFO.
func troubles(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "[DEBUG]") && !strings.Contains(line, "[INFO]") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

const logEnd = 6 << 10

func end(text string) string {
	if len(text) <= logEnd {
		return text
	}
	return "…" + text[len(text)-logEnd:]
}
