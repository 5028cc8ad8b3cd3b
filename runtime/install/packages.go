package install

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/runtime/process"
)

// manager is a distribution's package manager.
type manager struct {
	name, program string // name is the key in driver.Tool.Packages
	// refresh fetches the package lists, install installs packages or their files.
	refresh, install []string
	// pinned returns a package with the prefix of its version.
	pinned func(name, version string) string
	// environment is added to it, as KEY=VALUE.
	environment []string
}

// managers are the package managers, in search order.
var managers = []manager{
	{name: "apt", program: "apt-get", refresh: []string{"update", "-q"},
		install:     []string{"install", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"},
		pinned:      func(name, version string) string { return name + "=" + version + "*" },
		environment: []string{"DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_MODE=l"}},
	{name: "dnf", program: "dnf", refresh: []string{"-q", "makecache"}, install: []string{"-y", "-q", "install"},
		pinned: func(name, version string) string { return name + "-" + version + "*" }},
	{name: "dnf", program: "yum", refresh: []string{"-q", "makecache"}, install: []string{"-y", "-q", "install"},
		pinned: func(name, version string) string { return name + "-" + version + "*" }},
	{name: "zypper", program: "zypper", refresh: []string{"--non-interactive", "refresh"}, install: []string{"--non-interactive", "install", "--auto-agree-with-licenses"},
		pinned: func(name, version string) string { return name + "=" + version }, environment: []string{"ZYPP_LOCK_TIMEOUT=600"}},
	{name: "apk", program: "apk", refresh: []string{"--wait", "600", "update"}, install: []string{"--wait", "600", "add"},
		pinned: func(name, version string) string { return name + "=~" + version }},
}

// manager returns the server's package manager.
func (r *run) manager() (manager, error) {
	for _, m := range managers {
		if path := r.lookUp(m.program); path != "" {
			m.program = path
			return m, nil
		}
	}
	return manager{}, errors.New("this server has no supported package manager (apt, dnf, yum, zypper, apk)")
}

func (r *run) lookUp(program string) string {
	for _, folder := range r.path() {
		if file := filepath.Join(folder, program); isProgram(file) {
			return file
		}
	}
	return ""
}

func (r *run) fromPackages() error {
	m, err := r.manager()
	if err != nil {
		return err
	}
	packages := slices.Clone(r.tool.Packages[m.name])
	if len(packages) == 0 {
		return fmt.Errorf("it has no known package for %s; set `install: {from: url, …}`", m.name)
	}
	if v := r.want.Version; v != "" && !strings.HasPrefix(v, ">=") {
		packages[0] = m.pinned(packages[0], v)
	}
	return r.packages(m, packages, r.isThere)
}

// isThere reports whether a suitable version of the tool is installed.
func (r *run) isThere() bool {
	f := r.find(r.ctx, r.tool, r.want)
	return f.program != "" && fits(f.version, r.want.Version)
}

// packages installs packages; enough reports whether the result is suitable. The package lists are
// fetched only if installing with the image's fails or is not enough.
func (r *run) packages(m manager, packages []string, enough func() bool) error {
	install := append(slices.Clone(m.install), packages...)
	if err := r.manage(m, install); err == nil && enough() || err != nil && r.ctx.Err() != nil {
		return err
	}
	if err := r.manage(m, m.refresh); err != nil {
		return err
	}
	return r.manage(m, install)
}

// Messages of apt and dpkg when another is running, and after one was killed.
var (
	locked      = regexp.MustCompile(`Could not get lock|Unable to acquire|Unable to lock|is held by process|is another process using it|waiting for cache lock`)
	interrupted = regexp.MustCompile(`dpkg was interrupted`)
)

// between is the polling interval for a lock.
const between = 2 * time.Second

// manage runs the package manager. It waits for another that is running, and repairs the
// state left by one that was killed.
func (r *run) manage(m manager, args []string) error {
	repaired, said := false, false
	for {
		printed, err := r.run(m.environment, m.program, args...)
		switch {
		case err == nil, r.ctx.Err() != nil:
			return err
		case locked.Match(printed):
			if !said {
				fmt.Fprintln(r.Log, "hotc-agent: waiting for another package manager to finish")
			}
			said = true
			_ = store.Pause(r.ctx, between) // the next run finds that ctx has ended
		case interrupted.Match(printed) && !repaired:
			repaired = true
			if _, err := r.run(m.environment, "dpkg", "--configure", "-a"); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// run runs a program. It returns its output, which is also logged; if it fails, an error
// with its last line.
func (r *run) run(environment []string, program string, args ...string) ([]byte, error) {
	if !filepath.IsAbs(program) {
		if path := r.lookUp(program); path != "" {
			program = path
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(append(slices.Clone(r.Environment), "LC_ALL=C"), environment...)
	if p := r.want.Proxy; p != "" {
		cmd.Env = append(cmd.Env, "http_proxy="+p, "https_proxy="+p, "HTTP_PROXY="+p, "HTTPS_PROXY="+p)
	}
	cmd.Dir = "/"
	fmt.Fprintf(r.Log, "hotc-agent: %s %s\n", filepath.Base(program), strings.Join(args, " "))
	text, exit, err := process.Output(r.ctx, cmd, process.Grace)
	r.Log.Write(text)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%s: %s: %s", filepath.Base(program), exit, lastWords(text))
	}
	return text, err
}

// lastWords is the last error in a package manager's output, or its last line.
func lastWords(text []byte) string {
	lines := bytes.Split(text, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		if bytes.HasPrefix(line, []byte("E: ")) || bytes.HasPrefix(bytes.ToLower(line), []byte("error")) {
			return process.LastLine(line)
		}
	}
	return process.LastLine(text)
}
