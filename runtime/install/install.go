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
func (i *Installer) Ensure(ctx context.Context, tool driver.Tool, want contract.Install) (string, error) {
	want.From = cmp.Or(want.From, tool.From)
	found := i.find(ctx, tool, want)
	if found.fit {
		return found.program, nil
	}
	lacks := found.missing(tool, want.Version)
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

// found is a tool's program that is there: one of a fit version, or else the first one;
// program is "" if there is none, version if it does not tell it.
type found struct {
	program, version string
	fit              bool
}

// missing says what is wrong with what is there.
func (f found) missing(tool driver.Tool, want string) string {
	switch {
	case f.program == "":
		return fmt.Sprintf("%s is not on this server", tool.Name)
	case want == "":
		return fmt.Sprintf("%s is not the one that its sha256 names", f.program)
	case f.version == "":
		return fmt.Sprintf("%s does not tell its version, and %s is needed", f.program, want)
	}
	return fmt.Sprintf("%s is version %s, and %s is needed", f.program, f.version, want)
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
		return "", fmt.Errorf("there is no way of installation %q", r.want.From)
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
	return "", errors.New("it was installed, but " + found.missing(r.tool, r.want.Version))
}

// find looks for a tool's program in all of its places.
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

// isOf says whether a tool that tells no version is the one that a role wants: of a URL
// it is what was installed last from the bytes with that checksum.
func (i *Installer) isOf(tool driver.Tool, want contract.Install) bool {
	if want.From != "url" {
		return true
	}
	sum, err := os.ReadFile(i.note(tool))
	return err == nil && string(sum) == want.SHA256
}

// note is the file that keeps from which bytes a tool was installed.
func (i *Installer) note(tool driver.Tool) string {
	return filepath.Join(i.Folder, tool.Name+".sha256")
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// path are the folders of PATH.
func (i *Installer) path() (folders []string) {
	for _, entry := range i.Environment {
		if list, is := strings.CutPrefix(entry, "PATH="); is {
			folders = filepath.SplitList(list)
		}
	}
	return folders
}

// places are the folders in which a program may be.
func (i *Installer) places(tool driver.Tool, want contract.Install) []string {
	path := append(i.path(), tool.Folders...)
	own := []string{filepath.Join(i.Folder, tool.Name, "bin"), filepath.Join(i.Folder, tool.Name)}
	if tool.Version == nil && want.From == "url" {
		return append(own, path...) // only that one is meant, and others tell nothing of themselves
	}
	return append(path, own...)
}

// tellsVersion is how long a program may think about its version.
const tellsVersion = 2 * time.Minute

func (i *Installer) version(ctx context.Context, program string, args []string) string {
	ctx, cancel := context.WithTimeout(ctx, tellsVersion)
	defer cancel()
	cmd := exec.Command(program, args...)
	cmd.Env = i.Environment
	printed, exit, err := process.Output(ctx, cmd, process.Grace)
	if err != nil || !exit.OK() {
		return ""
	}
	return versionIn(string(printed[:min(len(printed), 4096)]))
}
