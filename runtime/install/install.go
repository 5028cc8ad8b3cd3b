// Package install finds the tools that roles need, and installs missing ones: from the
// distribution's packages, from a package or an archive at a URL, or as a Ruby gem. A
// suitable version in the image is used.
//
// A new server is busy: cloud-init, unattended upgrades and the cloud's own agent install
// packages, too. The package manager's lock is awaited. Its output goes to the log of the
// role that needs the tool; an error repeats its last line.
package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
)

// Patience limits an installation.
const Patience = 30 * time.Minute

// Installer installs tools on this server.
type Installer struct {
	// Forbidden is set if nothing may be installed (`hotc run`).
	Forbidden bool
	// Folder is where archives are unpacked: FOLDER/TOOL.
	Folder string
	// Environment is that of the tools and of package managers, as KEY=VALUE.
	Environment []string
	// Patience limits an installation; 0 is the constant Patience.
	Patience time.Duration
	// Begin is called before an installation, and end after it.
	Begin func(ctx context.Context, tool string) (end func(), err error)
	// Log receives the output of package managers.
	Log *os.File
}

// Ensure returns the path of a tool's program of a suitable version, which it installs if
// needed.
func (i *Installer) Ensure(ctx context.Context, tool driver.Tool, want contract.Install) (string, error) {
	want.From = cmp.Or(want.From, tool.From)
	found := i.find(ctx, tool, want)
	if found.fit {
		return found.program, nil
	}
	lacks := found.missing(tool, want.Version)
	switch {
	case want.From == "none" || want.From == "":
		return "", fmt.Errorf("%s, and must not be installed (install: {from: none})", lacks)
	case i.Forbidden:
		return "", fmt.Errorf("%s, and `hotc run` installs nothing on this machine", lacks)
	}
	end, err := i.begin(ctx, tool.Name)
	if err != nil {
		return "", err
	}
	defer end()
	patience := cmp.Or(i.Patience, Patience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %v", patience))
	defer cancel()
	r := &run{Installer: i, ctx: ctx, tool: tool, want: want}
	program, err := r.install()
	if err != nil {
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

// found is an installed program of a tool: one of a suitable version, or else the first;
// program is "" if there is none, version if it is unknown.
type found struct {
	program, version string
	fit              bool
}

// missing says why the program found is not suitable.
func (f found) missing(tool driver.Tool, want string) string {
	switch {
	case f.program == "":
		return fmt.Sprintf("%s is not on this server", tool.Name)
	case want == "":
		return fmt.Sprintf("%s does not have the requested sha256", f.program)
	case f.version == "":
		return fmt.Sprintf("%s has an unknown version, but %s is required", f.program, want)
	}
	return fmt.Sprintf("%s has version %s, but %s is required", f.program, f.version, want)
}

// run is one installation.
type run struct {
	*Installer
	ctx  context.Context
	tool driver.Tool
	want contract.Install
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
		return "", fmt.Errorf("unknown installation method %q", r.want.From)
	}
	if cause := context.Cause(r.ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", err
	}
	found := r.find(r.ctx, r.tool, r.want)
	if found.fit {
		return found.program, nil
	}
	return "", errors.New("after the installation, " + found.missing(r.tool, r.want.Version))
}

// find searches all places for a tool's program.
func (i *Installer) find(ctx context.Context, tool driver.Tool, want contract.Install) found {
	var first found
	for _, folder := range i.places(tool, want) {
		path := filepath.Join(folder, tool.Program)
		if !isProgram(path) {
			continue
		}
		f := found{program: path}
		if tool.Version == nil {
			f.fit = want.Version == "" && i.isOf(tool, want)
		} else {
			f.version = i.version(ctx, path, tool.Version)
			f.fit = fits(f.version, want.Version)
		}
		if f.fit {
			return f
		}
		if first.program == "" {
			first = f
		}
	}
	return first
}

// isOf reports whether a tool without a version is the requested one: for a URL, whether the
// last installation had its checksum.
func (i *Installer) isOf(tool driver.Tool, want contract.Install) bool {
	if want.From != "url" {
		return true
	}
	sum, err := os.ReadFile(i.note(tool))
	return err == nil && string(sum) == want.SHA256
}

// note is the file with the checksum that a tool was installed from.
func (i *Installer) note(tool driver.Tool) string {
	return filepath.Join(i.Folder, tool.Name+".sha256")
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// path returns the folders of PATH.
func (i *Installer) path() (folders []string) {
	for _, entry := range i.Environment {
		if list, is := strings.CutPrefix(entry, "PATH="); is {
			folders = filepath.SplitList(list)
		}
	}
	return folders
}

// places returns the folders in which a program may be.
func (i *Installer) places(tool driver.Tool, want contract.Install) []string {
	path := append(i.path(), tool.Folders...)
	own := []string{filepath.Join(i.Folder, tool.Name, "bin"), filepath.Join(i.Folder, tool.Name)}
	if tool.Version == nil && want.From == "url" {
		return append(own, path...) // only that one is meant, and others have no version
	}
	return append(path, own...)
}

// versionTimeout limits the time to print a version.
const versionTimeout = 2 * time.Minute

func (i *Installer) version(ctx context.Context, program string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.Command(program, args...)
	cmd.Env = i.Environment
	printed, exit, err := process.Output(ctx, cmd, process.Grace)
	if err != nil || !exit.OK() {
		return ""
	}
	return versionIn(string(printed[:min(len(printed), 4096)]))
}
