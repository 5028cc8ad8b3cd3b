package hot

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// digest (heat/engine/hot/functions.py: Digest). The algorithms are those of Python's
// hashlib. Some are always available (hashlib.algorithms_guaranteed); the others depend
// on the OpenSSL of the machine that Heat runs on, so they are left to Heat.

var digest = &Function{Name: "digest", Gives: contract.String, Apply: applyDigest, leftToHeat: func(arg *Expr) bool {
	items, _ := arg.list()
	if len(items) == 0 || !items[0].IsValue() {
		return false
	}
	algorithm, _ := items[0].Value.(string)
	_, err := hashOf(algorithm)
	return err == errLeftToHeat
}}

func applyDigest(_ *work, arg value.Value) (value.Value, error) {
	args, ok := arg.([]value.Value)
	if !ok || len(args) != 2 {
		return nil, fmt.Errorf("digest needs a list of the algorithm and the string")
	}
	algorithm, okA := args[0].(string)
	text, okT := args[1].(string)
	if !okA || !okT {
		return nil, fmt.Errorf("digest: algorithm and text must be strings")
	}
	make, err := hashOf(algorithm)
	if err != nil {
		return nil, err
	}
	bytes, err := latin1(text)
	if err != nil {
		return nil, err
	}
	h := make()
	h.Write(bytes)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// algorithms are those that hashlib always has; only some may be written in upper case.
var algorithms = []struct {
	name    string
	anyCase bool
	make    func() hash.Hash
}{
	{"md5", true, md5.New}, {"sha1", true, sha1.New}, {"sha224", true, sha256.New224},
	{"sha256", true, sha256.New}, {"sha384", true, sha512.New384}, {"sha512", true, sha512.New},
	{"sha512_224", false, sha512.New512_224}, {"sha512_256", false, sha512.New512_256},
	{"sha3_224", false, func() hash.Hash { return sha3.New224() }}, {"sha3_256", false, func() hash.Hash { return sha3.New256() }},
	{"sha3_384", false, func() hash.Hash { return sha3.New384() }}, {"sha3_512", false, func() hash.Hash { return sha3.New512() }},
	{"blake2b", false, func() hash.Hash { return unkeyed(blake2b.New512) }}, // Python's own code, not OpenSSL's
	{"blake2s", false, func() hash.Hash { return unkeyed(blake2s.New256) }},
}

// maybeSupported are algorithms, and spellings of them, that an OpenSSL may support.
var maybeSupported = []string{"blake2b", "blake2s", "ripemd160", "sm3", "md5-sha1", "md4", "mdc2", "whirlpool"}

func hashOf(algorithm string) (func() hash.Hash, error) {
	name := strings.ToLower(algorithm)
	for _, a := range algorithms {
		if a.name == algorithm || a.anyCase && a.name == name {
			return a.make, nil
		}
	}
	if slices.Contains(maybeSupported, name) {
		return nil, errLeftToHeat
	}
	return nil, fmt.Errorf("digest: unknown algorithm %s; use md5, sha1, sha224, sha256, sha384, sha512 or another of hashlib's", shown(algorithm))
}

// unkeyed returns a hash without a key, which cannot fail.
func unkeyed(make func(key []byte) (hash.Hash, error)) hash.Hash {
	h, err := make(nil)
	if err != nil {
		panic(err)
	}
	return h
}

// latin1 encodes a string as Heat does for digests.
func latin1(text string) ([]byte, error) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			return nil, fmt.Errorf("digest: Heat encodes the string as ISO 8859-1, which lacks %q", r)
		}
		out = append(out, byte(r))
	}
	return out, nil
}
