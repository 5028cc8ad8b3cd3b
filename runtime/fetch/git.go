package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/runtime/archive"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
)

// gitTool is git itself.
var gitTool = driver.Tool{Name: "git", Program: "git", From: "packages",
	Packages: map[string][]string{"apt": {"git"}, "dnf": {"git"}, "apk": {"git"}, "zypper": {"git"}}}

// sshTool is what git needs for ssh.
var sshTool = driver.Tool{Name: "ssh", Program: "ssh", From: "packages", Packages: map[string][]string{
	"apt": {"openssh-client"}, "dnf": {"openssh-clients"}, "apk": {"openssh-client"}, "zypper": {"openssh-clients"}}}

// fromGit clones one revision of a repository.
func fromGit(ctx context.Context, job *driver.Job, o Origin, folder string) error {
	program, err := job.Need(ctx, gitTool)
	if err != nil {
		return err
	}
	g := &git{job: job, program: program, folder: folder, origin: o}
	if g.environment, err = g.newEnvironment(ctx); err != nil {
		return err
	}
	if err := g.clone(ctx); err != nil {
		return fmt.Errorf("clone %s: %w", o.Git, err)
	}
	return archive.CheckLinks(ctx, folder)
}

type git struct {
	job             *driver.Job
	program, folder string
	origin          Origin
	environment     []string
}

// newEnvironment returns git's environment: without prompts, and with the source's ssh key and
// hosts.
func (g *git) newEnvironment(ctx context.Context) ([]string, error) {
	env := append([]string(nil), g.job.Environment...)
	env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	if p := g.origin.Proxy; p != "" {
		env = append(env, "http_proxy="+p, "https_proxy="+p)
	}
	if !overSSH(g.origin.Git) {
		return env, nil
	}
	if _, err := g.job.Need(ctx, sshTool); err != nil {
		return nil, err
	}
	ssh := "ssh -o BatchMode=yes -o ConnectTimeout=60"
	if g.origin.KnownHosts != "" {
		hosts := g.folder + ".hosts"
		if err := os.WriteFile(hosts, []byte(strings.TrimRight(g.origin.KnownHosts, "\n")+"\n"), 0o600); err != nil {
			return nil, err
		}
		ssh += " -o StrictHostKeyChecking=yes -o UserKnownHostsFile=" + protocol.ShellWord(hosts)
	} else {
		ssh += " -o StrictHostKeyChecking=accept-new"
	}
	key, err := g.key(ctx)
	if err != nil {
		return nil, err
	}
	if key != "" {
		ssh += " -o IdentitiesOnly=yes -i " + protocol.ShellWord(key)
	}
	return append(env, "GIT_SSH_COMMAND="+ssh), nil
}

func overSSH(repository string) bool {
	return strings.HasPrefix(repository, "ssh://") || !strings.Contains(repository, "://")
}

// key is the path of the private key, or "". One from an input is written into the job's
// private folder.
func (g *git) key(ctx context.Context) (string, error) {
	if len(g.origin.SSHKey) == 0 {
		return "", nil
	}
	var path string
	if json.Unmarshal(g.origin.SSHKey, &path) == nil {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("the ssh key %s is not on this server", path)
		}
		return path, nil
	}
	var from struct {
		Input string `json:"input"`
	}
	if err := json.Unmarshal(g.origin.SSHKey, &from); err != nil || from.Input == "" {
		return "", errors.New("ssh_key in the plan is neither a path nor an input")
	}
	value, err := g.job.Values.Read(ctx, from.Input)
	if err != nil {
		return "", err
	}
	path = g.folder + ".key"
	return path, os.WriteFile(path, append(bytes.TrimRight(driver.Text(value), "\n"), '\n'), 0o600)
}

// clone fetches only the revision if the server allows it.
func (g *git) clone(ctx context.Context) error {
	o := g.origin
	if name := o.Branch + o.Tag; name != "" {
		return g.run(ctx, "", "clone", "--quiet", "--depth", "1", "--branch", name, "--", o.Git, g.folder)
	}
	if err := g.run(ctx, "", "init", "--quiet", "--", g.folder); err != nil {
		return err
	}
	if err := g.run(ctx, g.folder, "fetch", "--quiet", "--depth", "1", "--", o.Git, o.Commit); err != nil {
		// Some servers only serve branches and tags.
		if allErr := g.run(ctx, g.folder, "fetch", "--quiet", "--tags", "--", o.Git, "+refs/heads/*:refs/remotes/origin/*"); allErr != nil {
			return allErr
		}
		return g.run(ctx, g.folder, "checkout", "--quiet", "--detach", o.Commit, "--")
	}
	return g.run(ctx, g.folder, "checkout", "--quiet", "--detach", "FETCH_HEAD", "--")
}

// run runs git; an error has its last line.
func (g *git) run(ctx context.Context, in string, args ...string) error {
	cmd := exec.Command(g.program, append([]string{"-c", "protocol.ext.allow=never", "-c", "protocol.file.allow=user", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir, cmd.Env = in, g.environment
	text, exit, err := process.Output(ctx, cmd, process.Grace)
	if err != nil || exit.OK() {
		return err
	}
	fmt.Fprintf(g.job.Stderr, "%s", text)
	return fmt.Errorf("git: %s: %s", exit, process.LastLine(text))
}
