package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/hotc-dev/hotc/coordinator/store"
	"io"
	"reflect"
)

// Encode writes a record as JSON, with every character of a value as it is:
// the standard Marshal would escape <, > and &, and a value near the limit would
// grow over it.
func Encode(record any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(record); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode reads a record; an empty node is a zero record.
func Decode[T any](path store.Path, data []byte) (T, error) {
	var record T
	if len(data) == 0 {
		return record, nil
	}
	if err := json.Unmarshal(data, &record); err != nil {
		return record, fmt.Errorf("the node %s does not hold a record of its kind: %w", path, err)
	}
	return record, nil
}

// SameValue reports whether two JSON texts are the same value: the order of keys, white
// space and escapes do not count. Numbers are the same when their digits are:
// 1 and 1.0 differ to the tools that read them.
func SameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := decodeExact(a)
	y, errY := decodeExact(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func decodeExact(text json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}
