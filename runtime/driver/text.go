package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Parse parses a tool's text as a value of the declared type. A string is the text
// itself, including a final newline, as in Heat's script hook. Other types are JSON.
func Parse(t contract.Type, text []byte) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the value is not UTF-8; encode binary data, for example with base64")
	}
	if t != contract.String && t != "" {
		return Check(t, text)
	}
	return protocol.Encode(string(text))
}

// Check returns the compacted value if it is JSON of the declared type.
func Check(t contract.Type, value json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(value) {
		return nil, errors.New("the value is not UTF-8")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, fmt.Errorf("expected %[2]s, but the value is not valid JSON (%[1]v): %[3]s", err, declared(t), excerpt(value))
	}
	is := contract.TypeOf(b.Bytes())
	if t == contract.JSON || t == "" || is == t {
		return b.Bytes(), nil
	}
	return nil, fmt.Errorf("expected %[2]s, but the value is %[1]s: %[3]s", article(is), declared(t), excerpt(value))
}

// Text returns a value as a tool reads it: a string as is, other types as JSON, with
// nothing added.
func Text(value json.RawMessage) []byte {
	var text string
	if contract.TypeOf(value) == contract.String && json.Unmarshal(value, &text) == nil {
		return []byte(text)
	}
	return value
}

// declared describes a declared type in messages.
func declared(t contract.Type) string {
	if t == contract.JSON || t == "" {
		return "JSON of any type"
	}
	return article(t)
}

// article describes the type of a value in messages.
func article(t contract.Type) string {
	if t == contract.JSON {
		return "a map or null"
	}
	return "a " + string(t)
}

// excerpt returns enough of a value to recognise it.
func excerpt(value []byte) string {
	const enough = 40
	if text := []rune(string(value)); len(text) > enough {
		return fmt.Sprintf("%q…", string(text[:enough]))
	}
	return fmt.Sprintf("%q", value)
}
