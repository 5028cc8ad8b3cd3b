package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hotc-dev/hotc/compiler/mistake"
	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/machine"
)

// start is the script that obtains the agent and execs it (emit/userdata).
const start = "/etc/hotc/start"

// settingsVariable holds the settings that the script has read. They may be secret: the agent's
// child processes do not get it.
const settingsVariable = "HOTC_SETTINGS"

// errSettings ends an agent that waits for cloud-init, to start it again.
var errSettings = errors.New("the user's own part has written /etc/hotc/environment")

// takeSettings returns the settings that this process was started with, or if the script has
// not set them, the present ones.
func takeSettings(here machine.Machine) string {
	settings, told := os.LookupEnv(settingsVariable)
	os.Unsetenv(settingsVariable)
	if !told {
		settings = here.Settings()
	}
	return settings
}

// runBesideCloudInit runs an agent that joins its deployment while cloud-init is still running.
// If the user's own part of that has changed the settings, which only the script's shell can
// read, again restarts the process.
func runBesideCloudInit(ctx context.Context, here machine.Machine, settings string, config agent.Config, again func() error) error {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	booted := make(chan struct{})
	config.Booted = booted
	mistake.Go(func() {
		switch err := here.AwaitCloudInit(inner); {
		case err != nil:
		case here.Settings() != settings:
			stop(errSettings)
		default:
			close(booted)
		}
	})
	err := agent.Run(inner, config)
	if errors.Is(context.Cause(inner), errSettings) && ctx.Err() == nil { // and was not asked to end
		return again()
	}
	return err
}

// startAnew execs the script, which reads the settings and execs the agent.
func startAnew() error {
	err := syscall.Exec("/bin/sh", []string{"sh", start}, os.Environ())
	return fmt.Errorf("restart with a changed environment: %w", err)
}
