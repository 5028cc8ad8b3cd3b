// Package install finds the tools that roles need, and installs those that are not
// there: from the distribution's packages, from a package or an archive at a URL,
// or as a Ruby gem. An image that has a fit version is used as it is.
//
// A server that was just created is busy: cloud-init, unattended upgrades and the
// cloud's own agent install packages, too. A lock that another one holds is waited
// for. What the package manager says goes to the log of the role that needs the
// tool; an error repeats its last line.
package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/coordinator/plan"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
)

// Patience is how long an installation may take.
const Patience = 30 * time.Minute

// Installer installs tools on this server.
type Installer struct {
	// Forbidden says that nothing may be installed here (`hotc run`).
	Forbidden bool
	// Folder is where tools go that come as an archive: FOLDER/TOOL.
	Folder string
	// Environment is that of the tools and of package managers, as KEY=VALUE.
	Environment []string
	// Patience is how long an installation may take; 0 is Patience.
	Patience time.Duration
	// Begin is called before an installation, and what it returns after it.
	Begin func(ctx context.Context, tool string) (end func(), err error)
	// Log is where package managers print.
	Log *os.File
}

// Ensure returns the path of a tool's program of a fit version, which it installs
// if it must.
func (i *Installer) Ensure(ctx context.Context, tool driver.Tool, want plan.Install) (string, error) {
	if want.From == "" {
		want.From = tool.From
	}
	program, version := i.find(ctx, tool)
	if program != "" && fits(version, want.Version) {
		return program, nil
	}
	lacks := missing(tool, program, version, want.Version)
	switch {
	case want.From == "none" || want.From == "":
		return "", fmt.Errorf("%s, and it is not to be installed (install: {from: none})", lacks)
	case i.Forbidden:
		return "", fmt.Errorf("%s, and `hotc run` installs nothing on this machine", lacks)
	}
	end, err := i.begin(ctx, tool.Name)
	if err != nil {
		return "", err
	}
	defer end()
	patience := i.Patience
	if patience == 0 {
		patience = Patience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %v", patience))
	defer cancel()
	r := &run{Installer: i, ctx: ctx, tool: tool, want: want}
	if program, err = r.install(); err != nil {
		return "", fmt.Errorf("install %s: %w", tool.Name, err)
	}
	return program, nil
}

func (i *Installer) begin(ctx context.Context, tool string) (func(), error) {
	if i.Begin == nil {
		return func() {}, nil
	}
	return i.Begin(ctx, tool)
}

// missing says what is wrong with what is there.
func missing(tool driver.Tool, program, version, want string) string {
	switch {
	case program == "":
		return fmt.Sprintf("%s is not on this server", tool.Name)
	case version == "":
		return fmt.Sprintf("%s does not tell its version, and %s is needed", program, want)
	}
	return fmt.Sprintf("%s is version %s, and %s is needed", program, version, want)
}

// run is one installation.
type run struct {
	*Installer
	ctx  context.Context
	tool driver.Tool
	want plan.Install
}

func (r *run) install() (program string, err error) {
	switch r.want.From {
	case "packages":
		err = r.fromPackages()
	case "url":
		err = r.fromURL()
	case "gem":
		err = r.fromGem()
	default:
		return "", fmt.Errorf("there is no way of installation %q", r.want.From)
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", err
	}
	program, version := r.find(r.ctx, r.tool)
	if program != "" && fits(version, r.want.Version) {
		return program, nil
	}
	return "", errors.New("it was installed, but " + missing(r.tool, program, version, r.want.Version))
}

// find looks for a tool's program. Its version is "" if it has none or does not
// tell it.
func (i *Installer) find(ctx context.Context, tool driver.Tool) (program, version string) {
	for _, folder := range i.places(tool) {
		path := filepath.Join(folder, tool.Program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			program = path
			break
		}
	}
	if program == "" || tool.Version == nil {
		return program, ""
	}
	return program, i.version(ctx, program, tool.Version)
}

// places are the folders in which a program may be.
func (i *Installer) places(tool driver.Tool) []string {
	var places []string
	for _, entry := range i.Environment {
		if path, is := strings.CutPrefix(entry, "PATH="); is {
			places = filepath.SplitList(path)
		}
	}
	places = append(places, tool.Folders...)
	own := filepath.Join(i.Folder, tool.Name)
	return append(places, filepath.Join(own, "bin"), own)
}

// tellsVersion is how long a program may think about its version.
const tellsVersion = 2 * time.Minute

func (i *Installer) version(ctx context.Context, program string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, tellsVersion)
	defer cancel()
	out, err := os.CreateTemp("", "hotc-version-")
	if err != nil {
		return ""
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = i.Environment, out, out
	if exit, err := process.Run(ctx, cmd, process.Grace); err != nil || !exit.OK() {
		return ""
	}
	text := make([]byte, 4096)
	n, _ := out.ReadAt(text, 0)
	return versionIn(string(text[:n]))
}
