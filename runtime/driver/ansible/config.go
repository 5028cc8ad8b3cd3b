package ansible

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// config is the launcher's configuration. It is in the job's private folder and contains
// no values of inputs.
type config struct {
	Program     string            `json:"program"`
	Arguments   []string          `json:"arguments"`
	Host        string            `json:"host"`
	Groups      []string          `json:"groups"`
	Roles       []string          `json:"roles"`
	Collections []string          `json:"collections"`
	Folders     map[string]string `json:"folders"`
	// Settings is the playbooks' ansible.cfg, if any.
	Settings string            `json:"settings"`
	Vars     json.RawMessage   `json:"vars"`
	Inputs   []driver.Declared `json:"inputs"`
	Outputs  []driver.Declared `json:"outputs"`
}

func interceptorFolder(job *driver.Job) string { return filepath.Join(job.Folder, "interceptor") }
func configPath(job *driver.Job) string        { return filepath.Join(job.Folder, "config.json") }
func inventoryPath(job *driver.Job) string {
	return filepath.Join(job.Folder, "inventory", "hosts.yml")
}

// writeConfig writes the launcher, its configuration, and an inventory of only this
// server.
func writeConfig(job *driver.Job, s source, l layout) error {
	if err := checkInputs(job.Role.Inputs); err != nil {
		return err
	}
	c := config{Program: job.Program, Host: s.Host, Groups: s.Groups, Roles: l.Roles, Collections: l.Collections,
		Folders: l.Folders, Vars: s.Vars, Arguments: arguments(job, s, l), Settings: settings(s, l)}
	if c.Vars == nil {
		c.Vars = json.RawMessage("{}")
	}
	variable := func(name string) []string { return strings.Split(name, ".") }
	c.Inputs, c.Outputs = driver.Declare(job.Role, variable, variable)
	if err := driver.WritePython(interceptor, socket.PythonClient, interceptorFolder(job)); err != nil {
		return err
	}
	if err := driver.WriteConfig(inventoryPath(job), inventory(s)); err != nil {
		return err
	}
	return driver.WriteConfig(configPath(job), c)
}

// checkInputs rejects arguments of actions that are not variables, or overlap. The
// compiler has checked the role's own inputs.
func checkInputs(inputs []contract.Input) error {
	for _, in := range inputs {
		if top, _, _ := strings.Cut(in.Name, "."); !variable.MatchString(top) {
			return fmt.Errorf("%q is not a valid Ansible variable name", in.Name)
		}
		for _, other := range inputs {
			if strings.HasPrefix(other.Name, in.Name+".") {
				return fmt.Errorf("%s is a part of %s, which is also an input", other.Name, in.Name)
			}
		}
	}
	return nil
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// settings is the ansible.cfg beside the first playbook, or otherwise the tree's.
func settings(s source, l layout) string {
	for _, folder := range []string{filepath.Dir(filepath.Join(l.Playbooks, s.Playbook[0])), l.Playbooks} {
		path := filepath.Join(folder, "ansible.cfg")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

func arguments(job *driver.Job, s source, l layout) []string {
	all := []string{"--inventory", inventoryPath(job)}
	if len(s.Tags) > 0 {
		all = append(all, "--tags", strings.Join(s.Tags, ","))
	}
	if len(s.SkipTags) > 0 {
		all = append(all, "--skip-tags", strings.Join(s.SkipTags, ","))
	}
	for _, name := range s.Playbook {
		all = append(all, filepath.Join(l.Playbooks, name))
	}
	return all
}

// inventory is this server, in its groups, as a YAML inventory.
func inventory(s source) any {
	type object = map[string]any
	host := object{s.Host: object{"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}}
	all := object{"hosts": host}
	if len(s.Groups) > 0 {
		groups := object{}
		for _, name := range s.Groups {
			groups[name] = object{"hosts": object{s.Host: object{}}}
		}
		all["children"] = groups
	}
	return object{"all": all}
}
