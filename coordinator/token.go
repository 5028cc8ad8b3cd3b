package coordinator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/seal"
)

// Secret is a deployment's one secret: 64 hex digits, made by `hotc secret new`.
// It never prints itself.
type Secret struct{ hex string }

// NewSecret makes a secret of 32 bytes of randomness.
func NewSecret(random io.Reader) (Secret, error) {
	var raw [32]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Secret{}, fmt.Errorf("read randomness: %w", err)
	}
	return Secret{hex.EncodeToString(raw[:])}, nil
}

// ParseSecret reads a secret: exactly 64 lower-case hex digits. One that is
// obviously made by hand (fewer than 8 different digits, or a short text
// repeated) is refused as weak.
func ParseSecret(text string) (Secret, error) {
	if len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return Secret{}, errors.New("a secret is 64 hex digits (0-9, a-f) and nothing else, no line end either")
	}
	digits := map[rune]bool{}
	for _, c := range text {
		digits[c] = true
	}
	if len(digits) < 8 || repeats(text) {
		return Secret{}, errors.New("this secret is weak: it is not random")
	}
	return Secret{text}, nil
}

// repeats reports whether text is a part of itself several times over.
func repeats(text string) bool {
	return strings.Contains((text + text)[1:2*len(text)-1], text)
}

// Hex is the secret itself, for the file of `hotc secret new` and for Heat's
// hidden parameter.
func (s Secret) Hex() string { return s.hex }

// String and GoString keep the secret out of messages.
func (Secret) String() string   { return "(secret)" }
func (Secret) GoString() string { return "(secret)" }

// ServerToken is the password of a server's agent, as Heat computes it in the
// emitted template: hex(sha256(SECRET ":" STACK ":" SERVER)). A stack's name has
// no colon, so that no two servers share a token (docs/coordination.md, "Tokens").
func (s Secret) ServerToken(d Deployment, server contract.ServerPath) string {
	return s.digest(string(d) + ":" + string(server))
}

// SlotToken is the token of a server in a slot: hex(sha256("slot:" N ":" SHARED)), where
// SHARED is the token that Heat computes for the server in all members of its group.
func SlotToken(shared string, number int) string {
	return Digest(fmt.Appendf(nil, "slot:%d:%s", number, shared))
}

// Operator is the identity that creates, reads and destroys a deployment.
func (s Secret) Operator(d Deployment) Credential {
	return Credential{User: "operator", Password: s.digest(string(d))}
}

// ServerCredential is the identity of a server's agent. The coordinator sees the
// password, and never the token: what is sealed for the token stays closed to it.
func ServerCredential(server contract.ServerPath, token string) Credential {
	return Credential{User: "server-" + Segment(string(server)), Password: Digest([]byte("password:" + token))}
}

// TokenKey is the key with which a value can be sealed for a server before the server
// has one of its own.
func TokenKey(token string) (seal.Key, error) { return seal.DeriveKey("hotc token key 1\n" + token) }

// ReaderSet is the identity of a set of servers that read the same cells. Each
// of them finds its password in its own KeysRecord. A server's path never starts
// with a slash, so this is not a server's token.
func (s Secret) ReaderSet(d Deployment, id string) Credential {
	return Credential{User: "readers-" + id, Password: s.digest(string(d) + ":/readers/" + id)}
}

func (s Secret) digest(rest string) string { return Digest([]byte(s.hex + ":" + rest)) }

// Fingerprint is that of a value of something that is named: who has the secret knows the value
// again by it, and nobody learns anything else.
func (s Secret) Fingerprint(d Deployment, of string, value []byte) string {
	h := hmac.New(sha256.New, []byte(s.digest(string(d)+":/value/"+of)))
	h.Write(value)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ReaderCredential is the identity of a readers' set as its members have it.
func ReaderCredential(id, password string) Credential {
	return Credential{User: "readers-" + id, Password: password}
}

// RootCredential is the identity of who has a ROOT's key. No stack's name begins with a
// slash: it is nobody else's, even if the same text was a deployment's secret.
func (s Secret) RootCredential() Credential {
	return Credential{User: "root", Password: s.digest("/root")}
}
