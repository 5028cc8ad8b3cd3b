package salt

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// config is the interceptor's configuration. It is in the job's private folder and
// contains no values of inputs.
type config struct {
	// Apply are the arguments of state.apply.
	Apply  []string        `json:"apply"`
	Pillar json.RawMessage `json:"pillar"`
	// GrainsFile is where Salt's functions store grains, Outcome where the interceptor
	// records how the run ended.
	GrainsFile string            `json:"grains_file"`
	Outcome    string            `json:"outcome"`
	Inputs     []driver.Declared `json:"inputs"`
	Outputs    []output          `json:"outputs"`
}

// output is a grain or, with an ID, a state's result: with a path a part of its changes,
// otherwise its success. State is the state's module; "" is any.
type output struct {
	driver.Declared
	State string `json:"state,omitempty"`
	ID    string `json:"id,omitempty"`
}

func configFolder(job *driver.Job) string { return filepath.Join(job.Folder, "etc") }
func outcomePath(job *driver.Job) string  { return filepath.Join(job.Folder, "outcome.json") }

// configure writes Salt's configuration, the interceptor and its configuration.
func configure(job *driver.Job, s source, trees layout) error {
	if err := checkInputs(job.Role.Inputs); err != nil {
		return err
	}
	folder := filepath.Join(job.Folder, "interceptor")
	if err := driver.WritePython(interceptor, socket.PythonClient, folder); err != nil {
		return err
	}
	if err := driver.WriteConfig(filepath.Join(folder, "config.json"), interceptorConfig(job, s)); err != nil {
		return err
	}
	return driver.WriteConfig(filepath.Join(configFolder(job), "minion"), minion(job, s, trees, folder))
}

func interceptorConfig(job *driver.Job, s source) config {
	c := config{Apply: []string{}, Pillar: s.Pillar, GrainsFile: filepath.Join(configFolder(job), "grains"),
		Outcome: outcomePath(job), Outputs: []output{}}
	if len(s.SLS) > 0 {
		c.Apply = append(c.Apply, strings.Join(s.SLS, ","))
	}
	if c.Pillar == nil {
		c.Pillar = json.RawMessage("{}")
	}
	inputs, outputs := driver.Declare(job.Role, keys, keys)
	c.Inputs = inputs
	for _, out := range outputs {
		c.Outputs = append(c.Outputs, outputOf(out))
	}
	return c
}

// keys splits a name into a path, at its colons, as in Salt, or otherwise at its dots.
func keys(name string) []string {
	if strings.Contains(name, ":") {
		return strings.Split(name, ":")
	}
	return strings.Split(name, ".")
}

// changes separates a state's ID from the path in its changes.
const changes = ".changes."

func outputOf(d driver.Declared) output {
	out := output{Declared: d}
	if state, path, isChange := strings.Cut(d.Name, changes); d.Resource != "" {
		out.State, out.ID = reference(d.Resource)
	} else if isChange {
		out.State, out.ID = reference(state)
		out.Path = keys(path)
	}
	return out
}

// reference splits a state as in requisites, "cmd: build it", or an ID.
func reference(text string) (state, id string) {
	if state, id, is := strings.Cut(text, ": "); is {
		return state, strings.TrimSpace(id)
	}
	return "", text
}

// checkInputs rejects arguments of actions that are not paths, or overlap. The compiler
// has checked the role's own inputs.
func checkInputs(inputs []contract.Input) error {
	seen := map[string]string{}
	for _, in := range inputs {
		path := keys(in.Name)
		for i, key := range path {
			if key == "" {
				return fmt.Errorf("%q is not a path in the pillar", in.Name)
			}
			at, kind := strings.Join(path[:i+1], ":"), "has an input in it"
			if i == len(path)-1 {
				kind = "is an input"
			}
			if other := seen[at]; other != "" && (other != kind || i == len(path)-1) {
				return fmt.Errorf("%s overlaps with another input", in.Name)
			}
			seen[at] = kind
		}
	}
	return nil
}

// minion is Salt's configuration: the source's own settings, overridden by those of the
// run.
func minion(job *driver.Job, s source, trees layout, interceptor string) map[string]any {
	all := map[string]any{}
	for key, value := range s.Config {
		all[key] = value
	}
	cache := filepath.Join(job.Folder, "cache")
	own := map[string]any{
		"file_client": "local", "local": true, "master_type": "disable",
		"file_roots":   map[string]any{"base": trees.files},
		"pillar_roots": map[string]any{"base": append([]string{}, trees.pillars...)},
		"grains_dirs":  []string{filepath.Join(interceptor, "grains")},
		"module_dirs":  []string{filepath.Join(interceptor, "modules")},
		"cachedir":     cache, "extension_modules": filepath.Join(cache, "extmods"), "pki_dir": filepath.Join(job.Folder, "pki"),
		"sock_dir": filepath.Join(job.Folder, "sockets"), "log_file": filepath.Join(job.Folder, "log"), "log_level_logfile": "quiet",
		"minion_id_caching": false, "default_include": "",
	}
	if s.Grains != nil {
		own["grains"] = s.Grains
	}
	if s.ID != "" {
		own["id"] = s.ID
	}
	if me, err := user.Current(); err == nil {
		own["user"] = me.Username // Salt rejects other users, and defaults to root
	}
	maps.Copy(all, own)
	return all
}
