package deploy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A ROOT holds each hotc-agent program once for all deployments, compressed, under its digest.
// Servers whose image has no agent fetch it without credentials: their user-data has the digest, so
// it does not matter who put it there.
const agents store.Path = ":agents" // no stack's name

// MaxAgent bounds the size of an agent.
const MaxAgent = 64 << 20

// HasAgent reports whether a ROOT has the agent with a digest.
func HasAgent(ctx context.Context, s store.Session, digest string) (bool, error) {
	text, err := readAgent(ctx, s, digest)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrRefused) || errors.Is(err, protocol.ErrForged) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the agent %s: %w", digest, err)
	}
	return protocol.HasDigest(text, digest), nil
}

// putting is how long another hotc may take to upload a part of an agent.
const putting = 2 * time.Second

// AgentComes waits for an agent that another hotc is uploading, as long as the upload makes
// progress; false means that what is there is not the agent.
func AgentComes(ctx context.Context, s store.Session, digest string) (bool, error) {
	for before := 0; ; {
		parts, err := s.Children(ctx, agents.Join(digest))
		if err != nil {
			return false, err
		}
		if there, err := HasAgent(ctx, s, digest); there || err != nil || len(parts) <= before {
			return there, err
		}
		before = len(parts)
		if err := store.Pause(ctx, putting); err != nil {
			return false, err
		}
	}
}

func readAgent(ctx context.Context, s store.Session, digest string) ([]byte, error) {
	text, _, err := protocol.ReadParts(ctx, s, agents.Join(digest))
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, nil // not an agent: anyone may create nodes here
	}
	program, err := io.ReadAll(io.LimitReader(r, MaxAgent))
	if err != nil {
		return nil, nil
	}
	return program, nil
}

// PublishAgent uploads an agent to a ROOT, as a node that everyone may read and owner may delete;
// in a closed ROOT the owner is the holder of its key. ErrExists, ErrRights: another user's node
// has its name.
func PublishAgent(ctx context.Context, s store.Session, owner store.Credential, closed bool, program []byte) error {
	if len(program) > MaxAgent {
		return fmt.Errorf("the agent's size is %d bytes: %w", len(program), store.ErrTooLarge)
	}
	var text bytes.Buffer
	w := gzip.NewWriter(&text) // the best compression takes six times as long, for half a percent
	_, err := w.Write(program)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	folder := []store.Grant{{May: store.MayRead | store.MayCreateChildren}}
	owned := []store.Grant{{To: owner.Principal(), May: store.MayAll}, {May: store.MayRead}}
	if closed {
		folder = owned
	}
	if err := s.Authenticate(ctx, owner); err != nil {
		return err
	}
	nodes := append([]store.NewNode{{Path: agents, Grants: folder}}, protocol.InParts(agents.Join(protocol.Digest(program)), text.Bytes(), owned)...)
	if err := s.Create(ctx, nodes); err != nil {
		return fmt.Errorf("upload the agent to the ROOT: %w", err)
	}
	return nil
}
