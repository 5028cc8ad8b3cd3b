// Package chef runs roles with Chef or Cinc, as chef-solo or as chef-client in local
// mode, with unmodified cookbooks.
//
// For each run the agent creates a Chef repository in the role's private folder: the
// cookbooks, roles, data bags and environments of the source, a configuration, and
// the node's JSON with run list and attributes. The configuration requires the
// interceptor (ruby/hotc.rb), which requests the inputs from the agent over the role's
// socket and publishes the outputs there. The folder is removed when the role has ended,
// so that no run finds what an earlier one has saved. What recipes download stays in the
// role's working folder.
package chef

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/process"
)

// interceptor is the Ruby code that turns a Chef run's reads and writes of node
// attributes into the role's (ruby/hotc.rb).
//
//go:embed ruby/*.rb
var interceptor embed.FS

// Driver runs Chef.
type Driver struct{}

// Name is "chef".
func (Driver) Name() string { return "chef" }

// Tool is chef-solo, of Chef's or Cinc's packages or the gem chef-bin. chef-client is
// beside it.
func (Driver) Tool() driver.Tool {
	return driver.Tool{Name: "chef", Program: "chef-solo", Folders: []string{"/opt/chef/bin", "/opt/cinc/bin"}, Version: []string{"--version"},
		Packages: map[string][]string{"apt": {"chef"}, "dnf": {"chef"}, "zypper": {"chef"}},
		Gem:      "chef-bin", GemVersion: "18", GemLicence: gemLicence,
		GemNeeds: map[string][]string{"apt": {"ruby", "ruby-dev", "build-essential"}, "dnf": {"ruby", "ruby-devel", "gcc", "gcc-c++", "make", "redhat-rpm-config"},
			"zypper": {"ruby", "ruby-devel", "gcc", "gcc-c++", "make"}, "apk": {"ruby", "ruby-dev", "build-base"}},
		From: "gem"}
}

// gemLicence is the message if the gem is to be installed and its licence is not accepted.
const gemLicence = "accept Chef's licence for the gem with `install: {licence: accept}`, or use a Cinc package: `install: {from: url, url: …, sha256: …}`"

func (d Driver) Check(_ context.Context, r contract.Role) error {
	if err := d.Tool().CheckThere(r); err != nil || d.Tool().IsThere() {
		return err
	}
	var want contract.Install
	if r.Install != nil {
		want = *r.Install
	}
	if (want.From == "gem" || want.From == "") && want.Licence == "" {
		return errors.New("chef-solo is not on this server; " + gemLicence)
	}
	return nil
}

// Prepare fetches the source's trees and runs its `prepare` command.
func (Driver) Prepare(ctx context.Context, job *driver.Job) error {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return err
	}
	_, err = makeRepository(ctx, job, s)
	return err
}

// Run waits for the eager inputs, and runs Chef.
func (Driver) Run(ctx context.Context, job *driver.Job) (driver.Exit, error) {
	s, err := parseSource(job.Role.Source)
	if err != nil {
		return driver.Exit{}, err
	}
	if err := job.AwaitEager(ctx); err != nil {
		return driver.Exit{}, err
	}
	program, err := s.program(job.Program)
	if err != nil {
		return driver.Exit{}, err
	}
	r, err := openRepository(job)
	if err != nil {
		return driver.Exit{}, err
	}
	r.cleanUp()
	defer r.cleanUp()
	arguments, err := r.configure(s)
	if err != nil {
		return driver.Exit{}, fmt.Errorf("write Chef's run folder: %w", err)
	}
	cmd := exec.Command(program, arguments...)
	cmd.Env = environment(job)
	exit, err := process.RunTool(ctx, job, cmd)
	if err != nil {
		return exit, err
	}
	if !exit.OK() && ctx.Err() == nil {
		// The role's cause repeats the last line of standard error.
		if why := r.failure(exit); why != "" {
			fmt.Fprintln(job.Stderr, why)
		}
	}
	return exit, nil
}

// environment is that of Chef and its tools; it accepts a licence only for the user.
func environment(job *driver.Job) []string {
	e := slices.Clone(job.Environment)
	if i := job.Role.Install; i != nil && i.Licence != "" {
		e = append(e, "CHEF_LICENSE="+i.Licence)
	}
	return e
}

// program returns the program that runs the source, from the path of chef-solo.
func (s source) program(solo string) (string, error) {
	if s.Mode != "client" {
		return solo, nil
	}
	client := filepath.Join(filepath.Dir(solo), "chef-client")
	if info, err := os.Stat(client); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("there is no chef-client beside %s: remove `mode: client`", solo)
	}
	return client, nil
}
