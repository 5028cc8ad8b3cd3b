package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator"
)

// Parse reads a text that a tool wrote as a value of the declared type. A string
// is the text itself, byte for byte, a newline at its end included, as Heat's own
// script hook keeps it. Every other type is JSON.
func Parse(t contract.Type, text []byte) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the value is not UTF-8; encode binary data, for example with base64")
	}
	if t != contract.String && t != "" {
		return Check(t, text)
	}
	return coordinator.Encode(string(text))
}

// Check returns the value without needless spaces if it is JSON of the declared
// type.
func Check(t contract.Type, value json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(value) {
		return nil, errors.New("the value is not UTF-8")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return nil, fmt.Errorf("the value is not valid JSON (%v), and %s was declared: it is %s", err, declared(t), excerpt(value))
	}
	is := TypeOf(b.Bytes())
	if t == contract.JSON || t == "" || is == t {
		return b.Bytes(), nil
	}
	return nil, fmt.Errorf("the value is %s, and %s was declared: it is %s", article(is), declared(t), excerpt(value))
}

// TypeOf is the type that a JSON value has by itself: JSON for maps and null.
func TypeOf(value json.RawMessage) contract.Type {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
		return contract.JSON
	case value[0] == '"':
		return contract.String
	case value[0] == '[':
		return contract.List
	case value[0] == 't', value[0] == 'f':
		return contract.Boolean
	case value[0] == '{', value[0] == 'n':
		return contract.JSON
	}
	return contract.Number
}

// Text is a value as a tool reads it: a string as it is, another type as JSON.
// Nothing is added.
func Text(value json.RawMessage) []byte {
	var text string
	if TypeOf(value) == contract.String && json.Unmarshal(value, &text) == nil {
		return []byte(text)
	}
	return value
}

// declared is a declared type in a sentence.
func declared(t contract.Type) string {
	if t == contract.JSON || t == "" {
		return "JSON of any type"
	}
	return article(t)
}

// article is the type of a value in a sentence.
func article(t contract.Type) string {
	if t == contract.JSON {
		return "a map or null"
	}
	return "a " + string(t)
}

// excerpt is enough of a value to recognise it by.
func excerpt(value []byte) string {
	const enough = 40
	if text := []rune(string(value)); len(text) > enough {
		return fmt.Sprintf("%q…", string(text[:enough]))
	}
	return fmt.Sprintf("%q", value)
}
