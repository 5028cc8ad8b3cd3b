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
)

// gcPercent keeps the heap close to what is in use: an agent waits far more than
// it computes, beside roles that want the memory.
const gcPercent = 25

func runAgent(ctx context.Context, args []string, s streams) error {
	flags := newFlags("run", "--boot FILE --state DIR [flags]",
		"Runs this server's roles and stays, until it is asked to end.", s)
	boot := flags.String("boot", "/etc/hotc/boot.json", "the boot `FILE` that user-data wrote")
	state := flags.String("state", "/var/lib/hotc", "the `DIR` of the journal and of private files")
	work := flags.String("work", "", "the `DIR` that roles run in (default STATE/roles)")
	instance := flags.String("instance-id", "", "the instance's `ID` (default what cloud-init wrote down)")
	once := flags.Bool("once", false, "end when the roles have ended: with status 0 if all are done, else 1")
	nothing := flags.Bool("install-nothing", false, "fail roles whose tool is not there, instead of installing it")
	leftovers := flags.Bool("end-leftovers", false, "end, with the agent, what roles have left in the background")
	beside := flags.Bool("after-cloud-init", false, "join the deployment beside cloud-init, and become the server when that has finished")
	grace := flags.Duration("grace", process.Grace, "how long a process that is asked to end may take")
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
			return agent.Config{}, fmt.Errorf("%w; --instance-id gives it", err)
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

// readBoot reads the boot file. Its text is never quoted: it holds passwords.
func readBoot(path string) (contract.Boot, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return contract.Boot{}, fmt.Errorf("read the boot file: %w", err)
	}
	var boot contract.Boot
	if err := json.Unmarshal(text, &boot); err != nil {
		return contract.Boot{}, fmt.Errorf("the boot file %s is not JSON of the right form", path)
	}
	for key, value := range map[string]string{"deployment": boot.Deployment, "server": string(boot.Server),
		"coordinator": boot.Coordinator, "token": boot.Token} {
		if value == "" {
			return contract.Boot{}, fmt.Errorf("the boot file %s has no %s", path, key)
		}
	}
	return boot, nil
}

// isFinal says that the agent would come to the same end if it were started again.
func isFinal(err error) bool {
	return errors.Is(err, member.ErrFenced) && !errors.Is(err, member.ErrMayReturn) || errors.Is(err, member.ErrDestroyed)
}
