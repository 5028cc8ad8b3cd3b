package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hotc-dev/hotc/runtime/agent"
	"github.com/hotc-dev/hotc/runtime/machine"
)

// start is the script that obtains the agent and becomes it (emit/userdata).
const start = "/etc/hotc/start"

// errSettings ends an agent that waits for cloud-init.
var errSettings = errors.New("the user's own part has written /etc/hotc/environment")

// runBesideCloudInit runs an agent that joins its deployment while cloud-init is still
// at work. Where the user's own part of that has changed the agent's environment, which
// a shell reads, again decides what becomes of the process: it is to start anew.
func runBesideCloudInit(ctx context.Context, here machine.Machine, config agent.Config, again func() error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	settings, booted := here.Settings(), make(chan struct{})
	config.Booted = booted
	go func() {
		switch err := here.AwaitCloudInit(ctx); {
		case err != nil:
		case here.Settings() != settings:
			stop(errSettings)
		default:
			close(booted)
		}
	}()
	err := agent.Run(ctx, config)
	if errors.Is(context.Cause(ctx), errSettings) {
		return again()
	}
	return err
}

// startAnew becomes the script, which reads the environment and becomes an agent.
func startAnew() error {
	err := syscall.Exec("/bin/sh", []string{"sh", start}, os.Environ())
	return fmt.Errorf("start anew with another environment: %w", err)
}
