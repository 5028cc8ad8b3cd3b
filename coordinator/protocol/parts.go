package protocol

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"github.com/hotc-dev/hotc/coordinator/store"
	"regexp"
	"strconv"
	"strings"
)

// partSize is how many bytes of a text one node holds. A back end's node takes more, but a request
// also carries paths and rights.
const partSize = 768 << 10

// partsRecord is the content of a node whose text is in its children. A text that replaced another
// has its own names for its parts.
var partsRecord = regexp.MustCompile(`^\{"parts":([1-9][0-9]{0,3})(?:,"of":"([0-9a-f]{16})")?\}$`)

// mostParts bounds what a reader has to hold before it can tell whose text it is. It is more than
// the default limit of a whole deployment.
const mostParts = 256

// InParts returns the nodes of a text: one, or one for each part below a node that counts them. A
// text that looks like such a count is stored as a part.
func InParts(path store.Path, text []byte, grants []store.Grant) []store.NewNode {
	if len(text) <= partSize && !partsRecord.Match(text) {
		return []store.NewNode{{Path: path, Data: text, Grants: grants}}
	}
	head := store.NewNode{Path: path, Data: fmt.Appendf(nil, `{"parts":%d}`, countParts(text)), Grants: grants}
	return append([]store.NewNode{head}, partsOf(path, "", text, grants)...)
}

// mostInCommit bounds a text that is written in one commit with others.
const mostInCommit = 64 << 10

// ReplaceParts creates the parts of a text that replaces another by the n-th change of the plan. It
// returns the node's new content, and a function that deletes the unused parts after that is
// committed. The names of parts are unique to the text and the change: so those of a later change
// are not deleted.
func ReplaceParts(ctx context.Context, s store.Session, path store.Path, n int, text []byte, grants []store.Grant) (head []byte, clean func(context.Context) error, err error) {
	head, of := text, ""
	if len(text) > mostInCommit || partsRecord.Match(text) {
		of = Digest(fmt.Appendf(nil, "%d:%s", n, text))[:16]
		head = fmt.Appendf(nil, `{"parts":%d,"of":"%s"}`, countParts(text), of)
		if err := s.Create(ctx, partsOf(path, of, text, grants)); err != nil {
			return nil, nil, err
		}
	}
	old, err := s.Children(ctx, path)
	return head, func(ctx context.Context) error {
		for _, name := range old {
			if of != "" && strings.HasPrefix(name, of+"-") {
				continue
			}
			if err := s.DeleteTree(ctx, path.Join(name)); err != nil {
				return err
			}
		}
		return nil
	}, err
}

func countParts(text []byte) int { return (len(text) + partSize - 1) / partSize }

func partsOf(path store.Path, of string, text []byte, grants []store.Grant) []store.NewNode {
	nodes := make([]store.NewNode, countParts(text))
	for i := range nodes {
		part := text[i*partSize : min(len(text), (i+1)*partSize)]
		nodes[i] = store.NewNode{Path: partPath(path, of, i), Data: part, Grants: grants}
	}
	return nodes
}

func partPath(path store.Path, of string, i int) store.Path {
	name := fmt.Sprintf("%04d", i+1)
	if of != "" {
		name = of + "-" + name
	}
	return path.Join(name)
}

// ReadParts reads a text that InParts or ReplaceParts stored, and the version of its node.
func ReadParts(ctx context.Context, s store.Session, path store.Path) ([]byte, store.Version, error) {
	var before []byte
	for {
		node, err := s.Read(ctx, path)
		if err != nil {
			return nil, 0, err
		}
		count := partsRecord.FindSubmatch(node.Data)
		if count == nil {
			return node.Data, node.Version, nil
		}
		n, _ := strconv.Atoi(string(count[1]))
		if n > mostParts {
			return nil, 0, Forged("the text in "+string(path), "hotc", fmt.Errorf("it has %d parts, more than %d", n, mostParts))
		}
		text, err := joinParts(ctx, s, path, string(count[2]), n)
		if !errors.Is(err, store.ErrNotFound) || bytes.Equal(node.Data, before) {
			return text, node.Version, err
		}
		before = node.Data // another text may have replaced this one
	}
}

func joinParts(ctx context.Context, s store.Session, path store.Path, of string, n int) ([]byte, error) {
	parts := make([][]byte, n)
	err := store.Each(ctx, n, func(ctx context.Context, i int) error {
		part, err := s.Read(ctx, partPath(path, of, i))
		parts[i] = part.Data
		return err
	})
	if err != nil {
		return nil, err
	}
	return bytes.Join(parts, nil), nil
}

// Digest is the SHA-256 of content, in hex.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// HasDigest reports whether content has this digest.
func HasDigest(content []byte, digest string) bool { return Digest(content) == digest }
