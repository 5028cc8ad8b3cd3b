package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// machineCredential is a machine's own identity, derived from a key that never leaves it.
func machineCredential(server contract.ServerPath, key seal.Key) (store.Credential, error) {
	text, err := key.Text()
	if err != nil {
		return store.Credential{}, err
	}
	return store.Credential{User: "machine-" + store.Segment(string(server)), Password: protocol.Digest([]byte("hotc machine 1\n" + text))}, nil
}

// Machine describes an agent's machine, for tokens that are valid for one enrolment.
type Machine struct {
	Instance string
	// Key returns the machine's key, which must be on the machine's disk by then.
	Key func() (seal.Key, error)
	Now func() time.Time
	// IfDown is how long the server's agent must be gone until another machine replaces it without
	// Heat's answer; 0 is contract.DefaultIfDown.
	IfDown time.Duration
}

// UseMachine prepares the member for a deployment whose tokens are valid for one enrolment. Call it
// before AwaitDeployment.
func (m *Member) UseMachine(machine Machine) {
	m.machine = machine
}

// enter gives the session the server's identity, where tokens are valid for one enrolment.
// *TokenUsedError, ErrRefused.
func (m *Member) enter(ctx context.Context) error {
	if m.member.Load() != nil {
		return nil
	}
	_, once, err := m.store.Stat(ctx, m.deployment.Pass(m.server))
	if err != nil || !once {
		return err
	}
	if m.machine.Key == nil {
		return fmt.Errorf("server %s: its token is valid for one enrolment, and this agent has no key", m.server)
	}
	key, err := m.machine.Key()
	if err != nil {
		return err
	}
	if m.self == nil {
		own, err := machineCredential(m.server, key)
		if err == nil {
			err = m.store.Authenticate(ctx, own)
		}
		if err != nil {
			return err
		}
		m.self = &own
	}
	password, err := m.password(ctx, *m.self, key)
	if err != nil {
		return err
	}
	member := protocol.MemberCredential(m.server, password)
	if err := m.store.Authenticate(ctx, member); err != nil {
		return err
	}
	m.member.Store(&member)
	return nil
}

// ownGrants are the rights on what only this server's agent reads: those of its identity. Without
// them a node would belong to the token's identity.
func (m *Member) ownGrants(may store.Rights) []store.Grant {
	member := m.member.Load()
	if member == nil {
		return nil
	}
	return []store.Grant{{To: member.Principal(), May: may}}
}

// password reads the server's password from the pass, taking it if this is the first machine, or
// from an admission.
func (m *Member) password(ctx context.Context, own store.Credential, key seal.Key) (string, error) {
	path := m.deployment.Pass(m.server)
	err := store.HandOver(ctx, m.store, path, protocol.ServerCredential(m.server, m.token).Principal(), store.Grant{To: own.Principal(), May: store.MayRead})
	var pass store.Node
	if err == nil {
		pass, err = m.store.Read(ctx, path)
	}
	switch {
	case errors.Is(err, store.ErrRefused):
		return m.admitted(ctx, key)
	case err != nil:
		return "", fmt.Errorf("read the pass of server %s: %w", m.server, m.gone(ctx, err))
	}
	record, err := protocol.Decode[protocol.PassRecord](path, pass.Data)
	return record.Password, err
}

// admitted is the password that an operator has sealed for this machine. If there is none, the
// machine asks for approval.
func (m *Member) admitted(ctx context.Context, key seal.Key) (string, error) {
	path := m.deployment.Admission(m.server)
	node, err := m.store.Read(ctx, path)
	if err != nil {
		return "", fmt.Errorf("the token of server %s is not valid for deployment %s: %w", m.server, m.deployment, m.gone(ctx, err))
	}
	record, _, err := protocol.OpenIfAny[protocol.AdmissionRecord](path, node.Data, m.known().identity.Operator, m.ownPlace(protocol.KindAdmission))
	if err != nil {
		return "", err
	}
	if record.To != seal.ID(key.Public()) {
		return "", errors.Join(&protocol.TokenUsedError{Deployment: m.deployment, Server: m.server, Key: key.Public()}, m.askApproval(ctx, key))
	}
	content, err := key.Unwrap(record.Key, m.deployment.AdmissionPlace(m.server, "key"))
	if err != nil {
		return "", fmt.Errorf("open the admission of server %s: %w", m.server, err)
	}
	password, err := content.Open(record.Box, m.deployment.AdmissionPlace(m.server, "password"))
	if err != nil {
		return "", fmt.Errorf("open the admission of server %s: %w", m.server, err)
	}
	return string(password), nil
}

// takeGiven reseals, for the server's own key, what `hotc apply` has sealed for its token, which
// others may have read.
func (m *Member) takeGiven(ctx context.Context) error {
	if m.member.Load() == nil || !m.sealing.reads {
		return nil
	}
	path := m.deployment.SealsFor(contract.Operator, m.server)
	err := m.amend(ctx, path, func(data []byte) (any, bool, error) {
		keys, err := protocol.Decode[protocol.SealsRecord](path, data)
		if err != nil {
			return nil, false, err
		}
		changed, err := m.ownKeys(keys)
		return keys, changed, err
	})
	if err != nil {
		return fmt.Errorf("read the secrets of server %s: %w", m.server, m.gone(ctx, err))
	}
	return nil
}

// askApproval writes this machine's request for approval.
func (m *Member) askApproval(ctx context.Context, key seal.Key) error {
	m.asks = true
	err := m.amend(ctx, m.deployment.ApprovalRequests(m.server), func(data []byte) (any, bool, error) {
		now := m.machine.Now().UTC()
		own := protocol.ApprovalRequest{Instance: m.machine.Instance, Key: key.Public(), Since: now, Seen: now}
		asking, changed := protocol.ParseApprovalRequests(data).With(own)
		return asking, changed, nil
	})
	if err != nil {
		return fmt.Errorf("ask for approval as server %s: %w", m.server, err)
	}
	return nil
}

// amend applies change to a node's record, and retries after concurrent writes.
func (m *Member) amend(ctx context.Context, path store.Path, change func(data []byte) (record any, changed bool, err error)) error {
	for {
		node, err := m.store.Read(ctx, path)
		if err != nil {
			return err
		}
		record, changed, err := change(node.Data)
		if err != nil || !changed {
			return err
		}
		data, err := protocol.Encode(record)
		if err == nil {
			err = m.store.Commit(ctx, store.Op{Path: path, Version: node.Version, Write: true, Data: data})
		}
		if !errors.Is(err, store.ErrVersion) {
			return err
		}
	}
}

// ownKeys reseals, for the server's own key, those keys that are sealed for its token.
func (m *Member) ownKeys(keys protocol.SealsRecord) (changed bool, err error) {
	token, err := m.sealing.token()
	if err != nil {
		return false, err
	}
	own := m.sealing.ownKey().Public()
	for cell, k := range keys {
		if k.To != seal.ID(token.Public()) {
			continue
		}
		place := m.deployment.KeyPlace(cell, m.server, k.Box)
		content, err := token.Unwrap(k.Key, place)
		if err != nil {
			return false, fmt.Errorf("open the key of %s: %w", cell, err)
		}
		if k.Key, err = content.Wrap(own, place); err != nil {
			return false, err
		}
		k.To = seal.ID(own)
		keys[cell], changed = k, true
	}
	return changed, nil
}
