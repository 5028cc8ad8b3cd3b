package hot

import (
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
)

// pythonJSON writes a value as Heat inserts it into a text: jsonutils.dumps(v,
// sort_keys=True), that is with ", " and ": " between parts, keys sorted by code
// point and only ASCII.
func pythonJSON(v Value) string {
	var b strings.Builder
	writePythonJSON(&b, v)
	return b.String()
}

func writePythonJSON(b *strings.Builder, v Value) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(jsonFloat(v))
	case string:
		writePythonString(b, v)
	case []Value:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writePythonJSON(b, x)
		}
		b.WriteByte(']')
	case *Dict:
		writePythonDict(b, v)
	}
}

func writePythonDict(b *strings.Builder, d *Dict) {
	keys := append([]string(nil), d.Keys()...)
	sort.Strings(keys) // by bytes of UTF-8, which is by code points
	b.WriteByte('{')
	for i, k := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		writePythonString(b, k)
		b.WriteString(": ")
		v, _ := d.Get(k)
		writePythonJSON(b, v)
	}
	b.WriteByte('}')
}

func writePythonString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
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
