package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
	"github.com/hotc-dev/hotc/emit"
	"github.com/hotc-dev/hotc/emit/userdata"
)

// agent is a hotc-agent binary that this command can upload.
type agent struct {
	arch    userdata.Arch
	program []byte
}

// agentsBeside are the agents in this program's folder, where `make build` and a release put
// them, by digest: hotc-agent is for this program's architecture, hotc-agent-ARCH for others.
func agentsBeside() map[string]agent {
	program, err := os.Executable()
	if real, linked := filepath.EvalSymlinks(program); err == nil && linked == nil {
		program = real
	}
	return agentsIn(filepath.Dir(program))
}

func agentsIn(folder string) map[string]agent {
	found := map[string]agent{}
	files, _ := filepath.Glob(filepath.Join(folder, "hotc-agent*"))
	for _, path := range files {
		arch, named := strings.CutPrefix(filepath.Base(path), "hotc-agent-")
		if !named {
			arch = runtime.GOARCH
		}
		if !named && filepath.Base(path) != "hotc-agent" || userdata.CheckDigest(userdata.Arch(arch), protocol.Digest(nil)) != nil {
			continue
		}
		if text, err := os.ReadFile(path); err == nil {
			found[protocol.Digest(text)] = agent{userdata.Arch(arch), text}
		}
	}
	return found
}

// releasedAgents are the digests of the agents of this release, set by the linker:
// amd64=HEX,arm64=HEX.
var releasedAgents string

func agentsReleased() map[userdata.Arch]string {
	digests := map[userdata.Arch]string{}
	for one := range strings.SplitSeq(releasedAgents, ",") {
		arch, digest, _ := strings.Cut(one, "=")
		if userdata.CheckDigest(userdata.Arch(arch), digest) == nil {
			digests[userdata.Arch(arch)] = digest
		}
	}
	return digests
}

// putAgents uploads the agents that a folder's servers fetch from the coordinator, unless they
// are there. An agent that cannot be uploaded is a warning, not an error: servers whose image
// has the agent do not need it.
func (s *session) putAgents(ctx context.Context, say func(string), dir string, root deploy.Root, atHand map[string]agent) error {
	text, err := os.ReadFile(filepath.Join(dir, emit.AgentsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var wanted map[string]string
	if err == nil {
		err = json.Unmarshal(text, &wanted)
	}
	if err != nil {
		return source.Fail(source.BadPlan, fmt.Sprintf("%s cannot be read: %v", emit.AgentsFile, err), "compile again: the folder is incomplete")
	}
	for _, arch := range slices.Sorted(maps.Keys(wanted)) {
		digest := wanted[arch]
		there, err := deploy.HasAgent(ctx, s, digest)
		switch {
		case err != nil:
			return err
		case there:
		case atHand[digest].program == nil:
			say(fmt.Sprintf("warning: the agent for %s (sha256 %s) is neither on the coordinator nor next to hotc: servers whose image lacks it wait until the hotc that compiled %s applies it", arch, digest, dir))
		default:
			say("Uploading the agent for " + arch + " to the coordinator, once for all deployments there")
			err := s.putAgent(ctx, root, atHand[digest].program)
			if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrRights) || errors.Is(err, store.ErrRefused) {
				if comes, err := deploy.AgentComes(ctx, s, digest); comes || ctx.Err() != nil {
					if err != nil {
						return err
					}
					continue // another hotc has uploaded it meanwhile
				}
				say(fmt.Sprintf("warning: another user has put something in the place of the agent for %s (%v): servers whose image lacks the agent do not run it, and wait; use --agent-url, or a ROOT of your own (hotc root new)", arch, err))
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) putAgent(ctx context.Context, root deploy.Root, program []byte) error {
	owner := s.Secret.Operator(s.Deployment)
	closed := root.State == deploy.RootOurs
	if closed {
		key, err := s.target.rootKey(false)
		if err != nil {
			return err
		}
		owner = key.RootCredential()
	}
	return deploy.PublishAgent(ctx, s, owner, closed, program)
}
