package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/seal"
	"github.com/hotc-dev/hotc/coordinator/store"
)

var (
	// ErrEnrolsAlways says that any machine with a token of the deployment can enrol.
	ErrEnrolsAlways = errors.New("the deployment's tokens are valid for every machine that has them")
	// ErrNoKey says that a string is not a machine's public key.
	ErrNoKey = errors.New("this is not a machine's public key")
)

// AwaitingApproval reads which machines ask to become a server and were not admitted. Anyone with
// the server's token may have written the requests; admissions are signed by the operator.
// ErrEnrolsAlways, *RecordError.
func (r *Reader) AwaitingApproval(ctx context.Context, server contract.ServerPath) ([]protocol.ApprovalRequest, error) {
	s, d := r.store, r.keys.deployment
	node, err := s.Read(ctx, d.ApprovalRequests(server))
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrEnrolsAlways
	}
	if err != nil {
		return nil, operatorError(err)
	}
	asking := protocol.ParseApprovalRequests(node.Data).Machines
	if len(asking) == 0 {
		return nil, nil
	}
	if node, err = s.Read(ctx, d.Admission(server)); err != nil {
		return nil, operatorError(err)
	}
	admission, err := recordOf[protocol.AdmissionRecord](r.keys, protocol.KindAdmission, server, contract.Operator, "the admission of server "+string(server), d.Admission(server), node.Data)
	return slices.DeleteFunc(asking, func(k protocol.ApprovalRequest) bool { return err == nil && seal.ID(k.Key) == admission.To }), err
}

// Admit admits the machine with a public key as a server, whether it has asked or will. It returns
// the machine's request. Other requests are cleared; their agents ask again. ErrEnrolsAlways,
// ErrNoKey.
func (r *Reader) Admit(ctx context.Context, server contract.ServerPath, key string) (protocol.ApprovalRequest, error) {
	s, d := r.store, r.keys.deployment
	of := protocol.ApprovalRequest{Key: key}
	asking, err := r.AwaitingApproval(ctx, server)
	if _, bad := unreadable(err); bad {
		err = nil // it is overwritten
	}
	if err == nil && seal.CheckPublic(key) != nil {
		err = ErrNoKey
	}
	if err != nil {
		return of, fmt.Errorf("admit a machine as server %s: %w", server, err)
	}
	if at := slices.IndexFunc(asking, func(k protocol.ApprovalRequest) bool { return k.Key == key }); at >= 0 {
		of = asking[at]
	}
	admission, err := r.keys.admission(server, key)
	if err == nil {
		err = s.Commit(ctx, store.Op{Path: d.Admission(server), Version: store.AnyVersion, Write: true, Data: admission},
			store.Op{Path: d.ApprovalRequests(server), Version: store.AnyVersion, Write: true, Data: []byte("{}")})
	}
	if err != nil {
		return of, fmt.Errorf("admit a machine as server %s: %w", server, operatorError(err))
	}
	return of, nil
}

// admission is a server's password, sealed for a machine's key.
func (k *keyring) admission(server contract.ServerPath, key string) ([]byte, error) {
	d := k.deployment
	box, content, err := seal.Close([]byte(k.secret.MemberCredential(d, k.record, server).Password), d.AdmissionPlace(server, "password"))
	if err != nil {
		return nil, err
	}
	wrapped, err := content.Wrap(key, d.AdmissionPlace(server, "key"))
	if err != nil {
		return nil, err
	}
	return k.sign(protocol.KindAdmission, server, protocol.AdmissionRecord{To: seal.ID(key), Box: box, Key: wrapped})
}
