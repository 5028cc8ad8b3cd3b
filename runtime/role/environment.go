package role

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// environment is what every process of a role gets: the agent's own environment
// without what another role left in it, a place for `hotc-agent` first on PATH,
// a PATH and a HOME in any case (cloud-init promises neither), and the role's own.
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

// ToolEnvironment is what programs get that prepare a role, such as a package
// manager: what a role's own processes get, without the role.
func (h *Host) ToolEnvironment() []string { return environment(h.Environment, "", nil) }
