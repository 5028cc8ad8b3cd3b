// Package sign signs records.
//
// A record is a JSON object. A signed one has the signature as its first member, before its own
// members, which stay as they were, byte for byte:
//
//	{"state":"value","value":1}
//	{"signed":{"counter":7,"signature":"<base64>"},"state":"value","value":1}
//
// The signature (Ed25519) covers not only the record, but also its place and its counter: a signed
// record is invalid in another place. The caller of Open says which key, kind and place it expects;
// none of that is taken from the record itself.
//
// Keys are derived (HKDF-SHA256, RFC 5869) from secrets of high entropy, so they are not stored.
// Which secret signs what: docs/security.md.
package sign

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrNotSigned says that a record has no signature.
	ErrNotSigned = errors.New("it is not signed")
	// ErrForged says that a signature is not valid for this key, record and place.
	ErrForged = errors.New("its signature is invalid")
)

// Derive derives 32 bytes from a high-entropy secret, for one use.
func Derive(secret, use string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, use, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return key, nil
}

// Key signs. It never prints itself.
type Key struct{ private ed25519.PrivateKey }

// DeriveKey derives a key from a secret for one use, always the same.
func DeriveKey(secret, use string) (Key, error) {
	seed, err := Derive(secret, use)
	if err != nil {
		return Key{}, err
	}
	return FromSeed(seed)
}

// FromSeed makes a key from the result of Derive.
func FromSeed(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, fmt.Errorf("a key must have %d bytes, not %d", ed25519.SeedSize, len(seed))
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// String and GoString keep the key out of messages.
func (Key) String() string   { return "(key)" }
func (Key) GoString() string { return "(key)" }

// Public is a public key, in base64.
type Public string

// Public is the public key; "" for the zero Key.
func (k Key) Public() Public {
	if k.private == nil {
		return ""
	}
	return Public(base64.RawStdEncoding.EncodeToString(k.private[ed25519.SeedSize:]))
}

// Place is what a signature is bound to besides the record.
type Place struct {
	Kind       string // of record
	Stack      string // the deployment's name
	Deployment string // its id
	Server     string
	Item       string // of several records of one kind and server
}

// message is what is signed: every part is quoted, so that none can run into the next.
func (p Place) message(counter int64, record []byte) []byte {
	sum := sha256.Sum256(record)
	return fmt.Appendf(nil, "hotc signature 1\n%q\n%q\n%q\n%q\n%q\n%d\n%x\n", p.Kind, p.Stack, p.Deployment, p.Server, p.Item, counter, sum)
}

// seal is the first member of a signed record.
type seal struct {
	Counter   int64  `json:"counter,omitempty"`
	Signature []byte `json:"signature"`
}

const opening = `{"signed":`

// Sign signs a JSON object.
func (k Key) Sign(p Place, counter int64, record []byte) ([]byte, error) {
	if len(record) < 2 || record[0] != '{' || k.private == nil {
		return nil, errors.New("sign: not a record, or no key")
	}
	head, err := json.Marshal(seal{counter, ed25519.Sign(k.private, p.message(counter, record))})
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, len(opening)+len(head)+1+len(record))
	text = append(append(text, opening...), head...)
	if record[1] != '}' {
		text = append(text, ',')
	}
	return append(text, record[1:]...), nil
}

// split separates the seal from a signed record, without verifying it.
func split(text []byte) (s seal, record []byte, err error) {
	rest, ok := bytes.CutPrefix(text, []byte(opening))
	end := bytes.IndexByte(rest, '}') // no brace is in a number or base64
	if !ok || end < 0 || json.Unmarshal(rest[:end+1], &s) != nil || len(rest) < end+2 {
		return seal{}, nil, ErrNotSigned
	}
	if again, err := json.Marshal(s); err != nil || !bytes.Equal(again, rest[:end+1]) {
		return seal{}, nil, ErrNotSigned // a signed record has one text
	}
	rest = rest[end+1:]
	if rest[0] == ',' {
		rest = rest[1:]
	}
	return s, append([]byte{'{'}, rest...), nil
}

// Open verifies a record that was signed for a place, and returns it with its counter.
// ErrNotSigned, ErrForged.
func (public Public) Open(p Place, text []byte) (record []byte, counter int64, err error) {
	s, record, err := split(text)
	if err != nil {
		return nil, 0, err
	}
	key, err := base64.RawStdEncoding.DecodeString(string(public))
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, p.message(s.Counter, record), s.Signature) {
		return nil, 0, ErrForged
	}
	return record, s.Counter, nil
}

// Bare is a record without its signature, if any, which is not verified.
func Bare(text []byte) []byte {
	if _, record, err := split(text); err == nil {
		return record
	}
	return text
}

// MAC authenticates a text to holders of the same key.
func MAC(key, text []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// CheckMAC reports whether a text has this MAC.
func CheckMAC(key, text []byte, mac string) bool {
	return hmac.Equal([]byte(MAC(key, text)), []byte(mac))
}
