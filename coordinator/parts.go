package coordinator

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// partSize is how many bytes of a text lie in one node. A back end's node takes
// more, but a request also carries paths and rights.
const partSize = 768 << 10

// partsRecord is what a node holds whose text lies in its children.
var partsRecord = regexp.MustCompile(`^\{"parts":([1-9][0-9]{0,3})\}$`)

// inParts makes the nodes of a text: one, or one for each part below one that
// counts them. A text that looks like such a count goes into a part of its own.
func inParts(path Path, text []byte, grants []Grant) []NewNode {
	if len(text) <= partSize && !partsRecord.Match(text) {
		return []NewNode{{Path: path, Data: text, Grants: grants}}
	}
	n := (len(text) + partSize - 1) / partSize
	nodes := []NewNode{{Path: path, Data: fmt.Appendf(nil, `{"parts":%d}`, n), Grants: grants}}
	for i := range n {
		part := text[i*partSize : min(len(text), (i+1)*partSize)]
		nodes = append(nodes, NewNode{Path: partPath(path, i), Data: part, Grants: grants})
	}
	return nodes
}

func partPath(path Path, i int) Path { return path.Join(fmt.Sprintf("%04d", i+1)) }

// readParts reads a text that inParts laid down.
func readParts(ctx context.Context, s Store, path Path) ([]byte, error) {
	node, err := s.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	count := partsRecord.FindSubmatch(node.Data)
	if count == nil {
		return node.Data, nil
	}
	n, _ := strconv.Atoi(string(count[1]))
	parts := make([][]byte, n)
	err = each(ctx, n, func(ctx context.Context, i int) error {
		part, err := s.Read(ctx, partPath(path, i))
		parts[i] = part.Data
		return err
	})
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, part := range parts {
		text = append(text, part...)
	}
	return text, nil
}
