// Package seal encrypts a value so that only its intended servers can open it.
//
// Each server generates a key pair at its first start; the private half never leaves its disk. A
// value is encrypted once, with a random content key (AES-256-GCM); the content key is wrapped for
// each reader's public key (HPKE, RFC 9180: X25519, HKDF-SHA256, AES-256-GCM). So a reader that
// joins late, or is rebuilt with another key, costs its writer a few bytes, whatever the size of
// the value.
//
// The place of a box or a wrapped key (deployment, cell, reader) is authenticated with it: neither
// opens in another place.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// ErrNotOpened says that a box or a wrapped key is not for this key, or was modified.
var ErrNotOpened = errors.New("it cannot be opened with this server's key")

func suite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.DHKEM(ecdh.X25519()), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// Key is a server's private key. It never prints itself.
type Key struct{ private hpke.PrivateKey }

// NewKey generates a key.
func NewKey() (Key, error) {
	kem, _, _ := suite()
	private, err := kem.GenerateKey()
	if err != nil {
		return Key{}, fmt.Errorf("generate a key: %w", err)
	}
	return Key{private}, nil
}

// DeriveKey derives a key from a high-entropy string, always the same: whoever knows the string can
// open what is sealed with it.
func DeriveKey(text string) (Key, error) {
	kem, _, _ := suite()
	private, err := kem.DeriveKeyPair([]byte(text))
	if err != nil {
		return Key{}, fmt.Errorf("derive a key: %w", err)
	}
	return Key{private}, nil
}

// ParseKey reads what Text wrote.
func ParseKey(text string) (Key, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return Key{}, errors.New("the private key is not base64")
	}
	kem, _, _ := suite()
	private, err := kem.NewPrivateKey(raw)
	if err != nil {
		return Key{}, errors.New("this is not a private key")
	}
	return Key{private}, nil
}

// Text is the private key, for the server's own disk only.
func (k Key) Text() (string, error) {
	raw, err := k.private.Bytes()
	if err != nil {
		return "", fmt.Errorf("encode the key: %w", err)
	}
	return base64.StdEncoding.EncodeToString(raw), nil
}

// Public is the public key, in base64; "" for the zero Key.
func (k Key) Public() string {
	if k.private == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(k.private.PublicKey().Bytes())
}

// String and GoString keep the key out of messages.
func (Key) String() string   { return "(key)" }
func (Key) GoString() string { return "(key)" }

// Content is the key of one box.
type Content struct{ key [32]byte }

// String and GoString keep the key out of messages.
func (Content) String() string   { return "(key)" }
func (Content) GoString() string { return "(key)" }

// Close encrypts a value into a box, in base64, bound to a place.
func Close(value []byte, place string) (box string, content Content, err error) {
	if _, err := rand.Read(content.key[:]); err != nil {
		return "", Content{}, fmt.Errorf("seal a value: %w", err)
	}
	aead, err := content.aead()
	if err != nil {
		return "", Content{}, err
	}
	// The key is used once, so an all-zero nonce is never repeated.
	sealed := aead.Seal(nil, make([]byte, aead.NonceSize()), value, []byte(place))
	return base64.StdEncoding.EncodeToString(sealed), content, nil
}

// Open takes the value out of a box. ErrNotOpened.
func (c Content) Open(box, place string) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(box)
	if err != nil {
		return nil, ErrNotOpened
	}
	aead, err := c.aead()
	if err != nil {
		return nil, err
	}
	value, err := aead.Open(nil, make([]byte, aead.NonceSize()), sealed, []byte(place))
	if err != nil {
		return nil, ErrNotOpened
	}
	return value, nil
}

func (c Content) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(c.key[:])
	if err != nil {
		return nil, fmt.Errorf("seal a value: %w", err)
	}
	return cipher.NewGCM(block)
}

// CheckPublic returns an error if a string is not a public key.
func CheckPublic(text string) error {
	_, err := parsePublic(text)
	return err
}

func parsePublic(text string) (hpke.PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != text { // one key has one text
		return nil, errors.New("the public key is not base64")
	}
	kem, _, _ := suite()
	public, err := kem.NewPublicKey(raw)
	if err != nil {
		return nil, errors.New("this is not a public key")
	}
	return public, nil
}

// Wrap encrypts the content key for the owner of a public key, bound to a place.
func (c Content) Wrap(public, place string) (string, error) {
	to, err := parsePublic(public)
	if err != nil {
		return "", err
	}
	_, kdf, aead := suite()
	wrapped, err := hpke.Seal(to, kdf, aead, []byte(place), c.key[:])
	if err != nil {
		return "", fmt.Errorf("seal a key: %w", err)
	}
	return base64.StdEncoding.EncodeToString(wrapped), nil
}

// Unwrap is the reverse of Wrap. ErrNotOpened.
func (k Key) Unwrap(wrapped, place string) (Content, error) {
	raw, err := base64.StdEncoding.DecodeString(wrapped)
	if err != nil || k.private == nil {
		return Content{}, ErrNotOpened
	}
	_, kdf, aead := suite()
	key, err := hpke.Open(k.private, kdf, aead, []byte(place), raw)
	if err != nil || len(key) != len(Content{}.key) {
		return Content{}, ErrNotOpened
	}
	return Content{[32]byte(key)}, nil
}

// ID is a short digest that identifies a box or a public key.
func ID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
