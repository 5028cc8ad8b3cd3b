package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

var (
	// ErrEnrolsAlways says that a deployment's tokens let every machine in.
	ErrEnrolsAlways = errors.New("the deployment's tokens let in every machine that has them")
	// ErrNoKey says that a text is no machine's key.
	ErrNoKey = errors.New("this is no machine's key")
)

// ReadKnocks reads which machines ask to be a server and have not been let in.
// ErrEnrolsAlways.
func ReadKnocks(ctx context.Context, s coordinator.Store, d coordinator.Deployment, server contract.ServerPath) ([]coordinator.KnockRecord, error) {
	node, err := s.Read(ctx, d.Knock(server))
	if errors.Is(err, coordinator.ErrNotFound) {
		return nil, ErrEnrolsAlways
	}
	if err != nil {
		return nil, operatorError(err)
	}
	asking := coordinator.ParseKnocks(node.Data).Machines
	if len(asking) == 0 {
		return nil, nil
	}
	admission, err := readOf[coordinator.AdmissionRecord](ctx, s, contract.Operator, "who is let in as server "+string(server), d.Admission(server))
	if err != nil {
		return nil, operatorError(err)
	}
	return slices.DeleteFunc(asking, func(k coordinator.KnockRecord) bool { return seal.ID(k.Key) == admission.To }), nil
}

// Admit lets the machine with a public key in as a server, whether it has asked or will.
// What is known of it is returned. Others that ask have to ask again, and their agents do.
// ErrEnrolsAlways, ErrNoKey.
func Admit(ctx context.Context, s coordinator.Store, d coordinator.Deployment, secret coordinator.Secret, server contract.ServerPath, key string) (coordinator.KnockRecord, error) {
	of := coordinator.KnockRecord{Key: key}
	asking, err := ReadKnocks(ctx, s, d, server)
	if err == nil && seal.CheckPublic(key) != nil {
		err = ErrNoKey
	}
	if err != nil {
		return of, fmt.Errorf("admit a machine as server %s: %w", server, err)
	}
	if at := slices.IndexFunc(asking, func(k coordinator.KnockRecord) bool { return k.Key == key }); at >= 0 {
		of = asking[at]
	}
	admission, err := sealAdmission(ctx, s, d, secret, server, key)
	if err == nil {
		err = s.Commit(ctx, coordinator.Op{Path: d.Admission(server), Version: coordinator.AnyVersion, Write: true, Data: admission},
			coordinator.Op{Path: d.Knock(server), Version: coordinator.AnyVersion, Write: true, Data: []byte("{}")})
	}
	if err != nil {
		return of, fmt.Errorf("admit a machine as server %s: %w", server, operatorError(err))
	}
	return of, nil
}

func sealAdmission(ctx context.Context, s coordinator.Store, d coordinator.Deployment, secret coordinator.Secret, server contract.ServerPath, key string) ([]byte, error) {
	live, err := readRecord(ctx, s, d, secret)
	if err != nil {
		return nil, err
	}
	keys, err := newKeyring(tokens{secret: secret, deployment: d}, live, nil)
	if err != nil {
		return nil, err
	}
	box, content, err := seal.Close([]byte(secret.MemberCredential(d, live, server).Password), d.AdmissionPlace(server, "password"))
	if err != nil {
		return nil, err
	}
	wrapped, err := content.Wrap(key, d.AdmissionPlace(server, "key"))
	if err != nil {
		return nil, err
	}
	return keys.sign(coordinator.KindAdmission, server, coordinator.AdmissionRecord{To: seal.ID(key), Box: box, Key: wrapped})
}
