package driver

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Installable is a Driver whose tool is a separate program, installed before Prepare.
type Installable interface {
	Tool() Tool
}

// RoleInstallable is a Driver whose tool depends on the role; false if the role needs
// none.
type RoleInstallable interface {
	ToolOf(r contract.Role) (Tool, bool)
}

// ToolFor returns the tool that a driver needs for a role; false if none.
func ToolFor(d Driver, r contract.Role) (Tool, bool) {
	switch d := d.(type) {
	case Installable:
		return d.Tool(), true
	case RoleInstallable:
		return d.ToolOf(r)
	}
	return Tool{}, false
}

// CheckTool reports a missing tool of a role, if its driver can check (Checker) or the tool is not to
// be installed.
func CheckTool(ctx context.Context, d Driver, r contract.Role) error {
	if checker, can := d.(Checker); can {
		return checker.Check(ctx, r)
	}
	if tool, needed := ToolFor(d, r); needed {
		return tool.CheckThere(r)
	}
	return nil
}

// Tool is a program that the agent finds, or installs (runtime/install).
type Tool struct {
	// Name is its name in messages, Program its executable, searched on PATH and then in
	// Folders.
	Name, Program string
	Folders       []string
	// Version are the arguments with which it prints its version; nil if any version will
	// do.
	Version []string
	// Packages are the distribution's, by package manager: "apt", "dnf", "apk", "zypper". A
	// requested version is that of the first one.
	Packages map[string][]string
	// Gem is its Ruby gem, GemNeeds the packages needed to install that, GemVersion the
	// default version.
	Gem        string
	GemNeeds   map[string][]string
	GemVersion string
	// GemLicence is the message if the gem requires a licence that the role does not accept;
	// "" for a gem that does not.
	GemLicence string
	// From is how it is installed by default: "packages", "gem", or "none" for a tool that the
	// user installs.
	From string
}

// IsThere reports whether the program is on the agent's own PATH or in Folders.
func (t Tool) IsThere() bool {
	if _, err := exec.LookPath(t.Program); err == nil {
		return true
	}
	return slices.ContainsFunc(t.Folders, func(folder string) bool {
		_, err := exec.LookPath(filepath.Join(folder, t.Program))
		return err == nil
	})
}

// CheckThere returns an error if a role's tool is missing and must not be installed.
func (t Tool) CheckThere(r contract.Role) error {
	if r.Install == nil || r.Install.From != "none" || t.IsThere() {
		return nil
	}
	return fmt.Errorf("%s is not on this server, and must not be installed (install: {from: none})", t.Name)
}
