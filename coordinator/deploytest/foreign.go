package deploytest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/sign"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// Write writes a node as someone allowed to.
func Write(t *testing.T, s store.Session, path store.Path, data string) {
	t.Helper()
	if err := s.Commit(t.Context(), store.Op{Path: path, Version: store.AnyVersion, Write: true, Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

// Signed is a text as a holder of a server's token can write it: signed, if it is a record.
func (b Bed) Signed(t *testing.T, kind string, server contract.ServerPath, item, text string) string {
	t.Helper()
	var record protocol.IdentityRecord
	var identity protocol.Identity
	node, err := b.Session(t, server).Read(t.Context(), Site.Identity(server))
	if err := errors.Join(err, json.Unmarshal(node.Data, &record), json.Unmarshal(record.Identity, &identity)); err != nil {
		t.Fatal(err)
	}
	key, err := sign.DeriveKey(TokenOf(server)+":", "hotc server signature 1")
	if err != nil {
		t.Fatal(err)
	}
	signed, err := key.Sign(sign.Place{Kind: kind, Stack: string(Site), Deployment: identity.ID, Server: string(server), Item: item}, 0, []byte(text))
	if err != nil {
		return text
	}
	return string(signed)
}

// Deep is JSON nested as deeply as a node has room for.
func Deep(open, inner, end string) string {
	const n = 30_000
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}
