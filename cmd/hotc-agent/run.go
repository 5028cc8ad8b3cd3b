package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/member"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/machine"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/role"
)

// gcPercent keeps the heap small: an agent waits far more than it computes, and its roles need
// the memory.
const gcPercent = 25

func runAgent(ctx context.Context, args []string, s streams) error {
	flags := newFlags("run", "--boot FILE --state DIR [flags]",
		"Runs this server's roles, and stays until it is terminated.", s)
	boot := flags.String("boot", "/etc/hotc/boot.json", "boot `FILE`, written by user-data")
	state := flags.String("state", "/var/lib/hotc", "`DIR` for the journal and private files")
	work := flags.String("work", "", "`DIR` that roles run in (default STATE/roles)")
	instance := flags.String("instance-id", "", "the instance's `ID` (default: cloud-init's record)")
	once := flags.Bool("once", false, "exit when the roles have ended, with status 0 if all are done, otherwise 1")
	nothing := flags.Bool("install-nothing", false, "fail roles whose tool is missing, instead of installing it")
	leftovers := flags.Bool("end-leftovers", false, "end roles' background processes with the agent")
	beside := flags.Bool("after-cloud-init", false, "join the deployment while cloud-init runs, and become the server when it has finished")
	grace := flags.Duration("grace", process.Grace, "`DURATION` that a process may take to end")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	settings := takeSettings(machine.Here())
	config, err := configure(*boot, *state, *work, *instance)
	if err != nil {
		return err
	}
	config.InstallNothing = *nothing
	config.Once, config.EndLeftovers, config.Grace, config.Console = *once, *leftovers, *grace, s.err
	debug.SetGCPercent(gcPercent)
	defer role.BoundPrints(ctx, config.Work)()
	if *beside {
		return runBesideCloudInit(ctx, machine.Here(), settings, config, startAnew)
	}
	return agent.Run(ctx, config)
}

func configure(bootFile, state, work, instance string) (agent.Config, error) {
	boot, err := readBoot(bootFile)
	if err != nil {
		return agent.Config{}, err
	}
	if state, err = filepath.Abs(state); err != nil {
		return agent.Config{}, err
	}
	if work == "" {
		work = filepath.Join(state, "roles")
	}
	if work, err = filepath.Abs(work); err != nil {
		return agent.Config{}, err
	}
	here := machine.Here()
	if instance == "" {
		_ = json.Unmarshal(boot.Facts[contract.FactID], &instance)
	}
	if instance == "" {
		if instance, err = here.InstanceID(); err != nil {
			return agent.Config{}, fmt.Errorf("%w; set it with --instance-id", err)
		}
	}
	program, err := os.Executable()
	if err != nil {
		return agent.Config{}, fmt.Errorf("find the agent's own program: %w", err)
	}
	return agent.Config{
		Boot: boot, Instance: instance, State: state, Work: work, Program: program, Version: version,
		Environment: os.Environ(), Drivers: drivers(), Open: dial.Open, Probe: dial.Probe,
		Now: time.Now, Random: rand.Reader, Facts: here.Fact,
	}, nil
}

// readBoot reads the boot file. Its content is never quoted: it holds passwords.
func readBoot(path string) (contract.Boot, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return contract.Boot{}, fmt.Errorf("read the boot file: %w", err)
	}
	var boot contract.Boot
	if err := json.Unmarshal(text, &boot); err != nil {
		return contract.Boot{}, fmt.Errorf("the boot file %s is not valid JSON of a boot file", path)
	}
	for key, value := range map[string]string{"deployment": boot.Deployment, "server": string(boot.Server),
		"coordinator": boot.Coordinator, "token": boot.Token} {
		if value == "" {
			return contract.Boot{}, fmt.Errorf("the boot file %s has no %s", path, key)
		}
	}
	return boot, nil
}

// isFinal says that the agent would end the same way if it were started again.
func isFinal(err error) bool {
	return errors.Is(err, member.ErrFenced) && !errors.Is(err, member.ErrMayReturn) || errors.Is(err, member.ErrDestroyed)
}
