package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
)

// heatClient is the openstack client, which knows all ways to log in, as it is found
// on PATH, and one stack.
type heatClient struct {
	program string
	stack   string
}

// errNoClient says that the openstack client is not there.
var errNoClient = errors.New("the openstack client is not on PATH")

func findHeat(stack string) (*heatClient, error) {
	program, err := exec.LookPath("openstack")
	if err != nil {
		return nil, errNoClient
	}
	return &heatClient{program, stack}, nil
}

func (h *heatClient) call(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, h.program, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return nil, fmt.Errorf("openstack %s: %s", strings.Join(args[:2], " "), lines[len(lines)-1])
	}
	return out.Bytes(), nil
}

// status is the stack's status, DELETE_IN_PROGRESS; "" if there is no such stack.
func (h *heatClient) status(ctx context.Context) (string, error) {
	out, err := h.call(ctx, "stack", "show", h.stack, "-f", "value", "-c", "stack_status")
	if err != nil && strings.Contains(err.Error(), "Stack not found") {
		return "", nil
	}
	return strings.TrimSpace(string(out)), err
}

// remove asks Heat to delete the stack.
func (h *heatClient) remove(ctx context.Context) error {
	_, err := h.call(ctx, "stack", "delete", "--yes", h.stack)
	return err
}

// paused is a resource that waits for its hook to be cleared.
type paused struct {
	Resource string `json:"Resource Name"`
	Stack    string `json:"Stack Name"`
}

// paused are the resources whose deletion waits for their hook.
func (h *heatClient) paused(ctx context.Context) ([]paused, error) {
	out, err := h.call(ctx, "stack", "hook", "poll", h.stack, "--nested-depth", "5", "-f", "json")
	if err != nil {
		return nil, err
	}
	var found []paused
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("openstack stack hook poll: %w", err)
	}
	return found, nil
}

// clear lets a paused resource go on. Its name is no pattern.
func (h *heatClient) clear(ctx context.Context, p paused) error {
	name := strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(p.Resource)
	_, err := h.call(ctx, "stack", "hook", "clear", "--pre-delete", p.Stack, name)
	return err
}

// betweenLooks is the time between looks at a stack that is being deleted.
const betweenLooks = 2 * time.Second

// release clears the hooks at which a stack's deletion waits, as they come, until
// the stack is gone. It says whether it is; one that nobody deletes stays.
func (h *heatClient) release(ctx context.Context, say func(string)) (gone bool, err error) {
	for {
		status, err := h.status(ctx)
		switch {
		case err != nil:
			return false, err
		case status == "", status == "DELETE_COMPLETE":
			return true, nil
		case status == "DELETE_FAILED":
			return false, source.Fail(source.OperationFailed, "Heat could not delete the stack "+h.stack, "\"openstack stack show "+shellQuote(h.stack)+"\" says why; the deployment is still there")
		case status != "DELETE_IN_PROGRESS":
			return false, nil
		}
		waiting, err := h.paused(ctx)
		if err != nil {
			if now, again := h.status(ctx); again == nil && now != status {
				continue // it went away meanwhile
			}
			return false, err
		}
		for _, p := range waiting {
			if err := h.clear(ctx, p); err != nil {
				return false, err
			}
			say(fmt.Sprintf("Heat goes on with %s of %s.", p.Resource, p.Stack))
		}
		select {
		case <-time.After(betweenLooks):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
