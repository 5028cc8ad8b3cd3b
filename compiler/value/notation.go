package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// notation is a text format of values.
type notation struct {
	null, no, yes string
	comma, colon  string
	sorted        bool // keys by code point, as by UTF-8 bytes
	float         func(float64) string
	text          func(*bytes.Buffer, string)
}

var (
	plainJSON = notation{null: "null", no: "false", yes: "true", comma: ",", colon: ":", float: JSONFloat, text: WriteJSONString}

	// insertedJSON is how Heat inserts values into a string: jsonutils.dumps(v,
	// sort_keys=True), which escapes all but ASCII.
	insertedJSON = notation{null: "null", no: "false", yes: "true", comma: ", ", colon: ": ", sorted: true, float: JSONFloat, text: writeASCIIString}

	// pythonRepr is Python's repr.
	pythonRepr = notation{null: "None", no: "False", yes: "True", comma: ", ", colon: ": ", float: FormatFloat, text: writeStringRepr}
)

// EncodeJSON encodes a value as JSON on one line, without escaping <, > and &.
func EncodeJSON(v Value) []byte { return plainJSON.write(v) }

// WriteJSON is EncodeJSON to a buffer.
func WriteJSON(b *bytes.Buffer, v Value) { plainJSON.value(b, v) }

// InsertedJSON encodes a value as Heat inserts it into a string.
func InsertedJSON(v Value) string { return string(insertedJSON.write(v)) }

func (n *notation) write(v Value) []byte {
	var b bytes.Buffer
	n.value(&b, v)
	return b.Bytes()
}

func (n *notation) value(b *bytes.Buffer, v Value) {
	switch v := v.(type) {
	case nil:
		b.WriteString(n.null)
	case bool:
		if v {
			b.WriteString(n.yes)
		} else {
			b.WriteString(n.no)
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(n.float(v))
	case string:
		n.text(b, v)
	case []Value:
		n.list(b, v)
	case *Dict:
		n.dict(b, v)
	default:
		panic(fmt.Sprintf("cannot encode %T", v)) // a bug, not an error of the input
	}
}

func (n *notation) list(b *bytes.Buffer, list []Value) {
	b.WriteByte('[')
	for i, x := range list {
		if i > 0 {
			b.WriteString(n.comma)
		}
		n.value(b, x)
	}
	b.WriteByte(']')
}

func (n *notation) dict(b *bytes.Buffer, d *Dict) {
	keys := d.keys
	if n.sorted {
		keys = slices.Sorted(slices.Values(keys))
	}
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteString(n.comma)
		}
		n.text(b, k)
		b.WriteString(n.colon)
		n.value(b, d.At(k))
	}
	b.WriteByte('}')
}

func writeASCIIString(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case escaped(b, r, '"'):
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}

// escaped writes a character that JSON and Python escape alike in quotes, if it is one.
func escaped(b *bytes.Buffer, r, quote rune) bool {
	switch r {
	case quote, '\\':
		b.WriteByte('\\')
		b.WriteRune(r)
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		return false
	}
	return true
}

// WriteJSONString writes a string as JSON.
func WriteJSONString(b *bytes.Buffer, s string) {
	if isPlainASCII(s) {
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.Truncate(b.Len() - 1)
}

// isPlainASCII reports whether a string needs no escapes in JSON.
func isPlainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// JSONFloat formats infinities and NaN as Python's json does: they are not valid JSON,
// and readers refuse them.
func JSONFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case math.IsNaN(f):
		return "NaN"
	}
	return FormatFloat(f)
}
