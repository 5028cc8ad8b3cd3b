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

	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/runtime/process"
)

// manager is a distribution's package manager.
type manager struct {
	name, program string // name is the key in driver.Tool.Packages
	// refresh fetches the lists of packages, install installs packages or their files.
	refresh, install []string
	// pinned writes a package with the beginning of its version.
	pinned func(name, version string) string
	// environment is its own, as KEY=VALUE.
	environment []string
}

// managers are the package managers, in the order in which they are looked for.
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

// manager finds the server's package manager.
func (r *run) manager() (manager, error) {
	for _, m := range managers {
		if path := r.lookUp(m.program); path != "" {
			m.program = path
			return m, nil
		}
	}
	return manager{}, errors.New("this server has no package manager that is known here (apt, dnf, yum, zypper, apk)")
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
		return fmt.Errorf("no package of it is known for %s; say `install: {from: url, …}`", m.name)
	}
	if v := r.want.Version; v != "" && !strings.HasPrefix(v, ">=") {
		packages[0] = m.pinned(packages[0], v)
	}
	return r.packages(m, packages, r.isThere)
}

// isThere says that the tool is, in a version that is wanted.
func (r *run) isThere() bool {
	f := r.find(r.ctx, r.tool, r.want)
	return f.program != "" && fits(f.version, r.want.Version)
}

// packages installs packages; enough looks whether that has brought what is wanted. The lists of
// packages are fetched only if they must be: an image's may do, and if they are too old for that,
// the manager says so.
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

// What apt and dpkg say when another one works, and after one was killed.
var (
	locked      = regexp.MustCompile(`Could not get lock|Unable to acquire|Unable to lock|is held by process|is another process using it|waiting for cache lock`)
	interrupted = regexp.MustCompile(`dpkg was interrupted`)
)

// between is the time between two looks at a lock.
const between = 2 * time.Second

// manage runs the package manager. It waits for another one that is at work, and
// ends what one left undone that was killed.
func (r *run) manage(m manager, args []string) error {
	repaired, said := false, false
	for {
		printed, err := r.run(m.environment, m.program, args...)
		switch {
		case err == nil, r.ctx.Err() != nil:
			return err
		case locked.Match(printed):
			if !said {
				fmt.Fprintln(r.Log, "hotc-agent: waiting for another package manager to end")
			}
			said = true
			_ = coordinator.Pause(r.ctx, between) // the next run finds that ctx has ended
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

// run runs a program. It returns what it printed, which goes to the log, too; when
// it fails, an error with its last line.
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

// lastWords is the last error that a package manager printed, or its last line.
func lastWords(text []byte) string {
	lines := bytes.Split(text, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		if bytes.HasPrefix(line, []byte("E: ")) || bytes.HasPrefix(bytes.ToLower(line), []byte("error")) {
			return process.LastLine(line)
		}
	}
	return process.LastLine(text)
}
