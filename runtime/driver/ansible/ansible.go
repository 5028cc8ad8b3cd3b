// Package ansible runs roles that are Ansible playbooks, on the server itself.
//
// A launcher (python/launch.py) runs ansible-playbook in its own Python, after wrapping
// a few of its functions: declared inputs become variables whose values are requested
// when used, and what the playbook sets becomes the outputs. Playbooks and the installed
// Ansible are unmodified; the user's own ansible.cfg applies.
//
// The role's source in the plan is
//
//	{"playbook": ["site.yml"], "text": {"file": DIGEST, "name": "site.yml"} or "playbooks": ORIGIN,
//	 "roles": [ORIGIN], "collections": [ORIGIN], "host": "localhost", "groups": ["db"],
//	 "tags": [], "skip_tags": [], "vars": {}}
package ansible

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
	"github.com/hotc-dev/hotc/runtime/process"
)

//go:embed python/*.py
var interceptor embed.FS

// Driver runs playbooks.
type Driver struct{}

// Name is "ansible".
func (Driver) Name() string { return "ansible" }

func (Driver) Tool() driver.Tool {
	core := []string{"ansible-core"}
	return driver.Tool{
		Name: "ansible", Program: program, Version: []string{"--version"}, From: "packages",
		Packages: map[string][]string{"apt": core, "dnf": core, "zypper": core, "apk": core},
	}
}

const program = "ansible-playbook"

// source is a role's source.
type source struct {
	Playbook    []string        `json:"playbook"`
	Text        *fetch.Text     `json:"text,omitempty"` // an inline playbook
	Playbooks   *fetch.Origin   `json:"playbooks,omitempty"`
	Roles       []fetch.Origin  `json:"roles,omitempty"`
	Collections []fetch.Origin  `json:"collections,omitempty"`
	Host        string          `json:"host"`
	Groups      []string        `json:"groups,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	SkipTags    []string        `json:"skip_tags,omitempty"`
	Vars        json.RawMessage `json:"vars,omitempty"`
}

func parseSource(raw json.RawMessage) (source, error) {
	s, err := driver.ReadSource[source](raw)
	if err != nil {
		return source{}, err
	}
	if len(s.Playbook) == 0 || s.Host == "" || (s.Text == nil) == (s.Playbooks == nil) {
		return source{}, errors.New("the role's source in the plan has no playbook")
	}
	for _, name := range s.Playbook {
		if !filepath.IsLocal(name) {
			return source{}, fmt.Errorf("the playbook %q is outside its folder", name)
		}
	}
	return s, nil
}

// Prepare fetches the playbooks, roles and collections.
func (Driver) Prepare(ctx context.Context, job *driver.Job) error {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return err
	}
	trees := layout{Folders: map[string]string{}}
	if trees.Playbooks, err = playbooks(ctx, job, s); err != nil {
		return err
	}
	trees.Folders[trees.Playbooks] = ""
	for _, name := range s.Playbook {
		if info, err := os.Stat(filepath.Join(trees.Playbooks, name)); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("the fetched tree has no playbook %s", name)
		}
	}
	if trees.Roles, err = fetch.Trees(ctx, job, s.Roles, "roles"); err != nil {
		return err
	}
	if trees.Collections, err = fetch.Trees(ctx, job, s.Collections, "collections"); err != nil {
		return err
	}
	for kind, paths := range map[string][]string{"roles/": trees.Roles, "collections/": trees.Collections} {
		for _, path := range paths {
			trees.Folders[path] = kind
		}
	}
	return writeConfig(job, s, trees)
}

// layout is where the fetched trees are.
type layout struct {
	Playbooks          string
	Roles, Collections []string
	// Folders are their names in messages, by path.
	Folders map[string]string
}

func playbooks(ctx context.Context, job *driver.Job, s source) (string, error) {
	if s.Playbooks != nil {
		return fetch.Tree(ctx, job, *s.Playbooks, "playbooks")
	}
	folder := filepath.Join(job.Folder, "playbooks")
	return folder, job.Fetch(ctx, s.Text.File, "playbook", filepath.Join(folder, s.Playbook[0]), 0o600)
}

// Run runs the playbook.
func (Driver) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	if err := job.AwaitEager(ctx); err != nil {
		return driver.Exit{}, err
	}
	interpreter, err := interpreterOf(job.Program)
	if err != nil {
		return driver.Exit{}, err
	}
	arguments := append(interpreter[1:], filepath.Join(interceptorFolder(job), "launch.py"), configPath(job))
	cmd := exec.Command(interpreter[0], arguments...)
	cmd.Env = environment(job)
	return process.RunTool(ctx, job, cmd)
}

// interpreterOf returns the Python in the program's first line.
func interpreterOf(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", program, err)
	}
	defer file.Close()
	head := make([]byte, 1024)
	n, _ := file.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if !strings.HasPrefix(line, "#!") || len(words) == 0 || !strings.Contains(line, "python") {
		return nil, fmt.Errorf("%s is not a Python program, as installed from a package or with pip: its first line names no Python", path)
	}
	return words, nil
}

// environment is the role's, with a UTF-8 locale, which Ansible needs to start.
func environment(job *driver.Job) []string {
	all := append(append([]string(nil), job.Environment...), "PWD="+job.Work)
	locale := strings.ToLower(cmp.Or(job.Variable("LC_ALL"), job.Variable("LC_CTYPE"), job.Variable("LANG")))
	if !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8") {
		all = append(all, "LC_ALL=C.UTF-8")
	}
	return all
}
