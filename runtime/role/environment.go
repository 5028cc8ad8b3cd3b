package role

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// environment is that of a role's processes: the agent's own without variables of other
// roles, `hotc-agent` first on PATH, a PATH and a HOME in any case (cloud-init guarantees
// neither), and the role's own variables.
func environment(agent []string, bin string, own map[string]string) []string {
	path, home := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "/"
	if os.Geteuid() == 0 {
		home = "/root"
	}
	var kept []string
	for _, entry := range agent {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH" && value != "":
			path = value
		case name == "HOME" && value != "":
			home = value
		case strings.HasPrefix(name, "HOTC_"), strings.HasPrefix(name, "hotc_"), name == "heat_outputs_path":
		default:
			kept = append(kept, entry)
		}
	}
	if bin != "" {
		path = bin + ":" + path
	}
	kept = append(kept, "PATH="+path, "HOME="+home)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		kept = append(kept, name+"="+own[name])
	}
	return kept
}

// ToolEnvironment is the environment of programs that prepare a role, such as package
// managers: that of a role's processes, without the role's variables.
func (h *Host) ToolEnvironment() []string { return environment(h.Environment, "", nil) }
