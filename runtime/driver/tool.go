package driver

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// Installable is what a Driver is, too, whose tool is a program of its own. Before
// Prepare the program is there.
type Installable interface {
	Tool() Tool
}

// RoleInstallable is a Driver whose tool depends on the role; false is a role that
// needs none.
type RoleInstallable interface {
	ToolOf(r contract.Role) (Tool, bool)
}

// ToolFor is the tool that a driver needs for a role; false is none.
func ToolFor(d Driver, r contract.Role) (Tool, bool) {
	switch d := d.(type) {
	case Installable:
		return d.Tool(), true
	case RoleInstallable:
		return d.ToolOf(r)
	}
	return Tool{}, false
}

// CheckTool says that a role's tool is not there, where its driver can tell (Checker), or where the
// tool is not to be installed.
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
	// Name is what people call it, Program its executable, which is looked for on
	// PATH and then in Folders.
	Name, Program string
	Folders       []string
	// Version are the arguments with which it prints its version; nil where any will
	// do.
	Version []string
	// Packages are those of the distribution, by package manager: "apt", "dnf", "apk",
	// "zypper". The version that a role wants is that of the first one.
	Packages map[string][]string
	// Gem is the Ruby gem that holds it, GemNeeds the packages without which that
	// cannot be installed, GemVersion what is installed where any version will do.
	Gem        string
	GemNeeds   map[string][]string
	GemVersion string
	// GemLicence is said where the role accepts no licence, and the gem needs that; ""
	// is a gem that does not.
	GemLicence string
	// From is how it is installed where the role does not say: "packages", "gem", or
	// "none" for a tool that is only where the user has put it.
	From string
}

// IsThere looks for the program on the agent's own PATH and in Folders.
func (t Tool) IsThere() bool {
	if _, err := exec.LookPath(t.Program); err == nil {
		return true
	}
	return slices.ContainsFunc(t.Folders, func(folder string) bool {
		_, err := exec.LookPath(filepath.Join(folder, t.Program))
		return err == nil
	})
}

// CheckThere is an error if a role's tool is missing and must not be installed.
func (t Tool) CheckThere(r contract.Role) error {
	if r.Install == nil || r.Install.From != "none" || t.IsThere() {
		return nil
	}
	return fmt.Errorf("%s is not on this server, and it is not to be installed (install: {from: none})", t.Name)
}
