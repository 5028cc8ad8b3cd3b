package yaml

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
)

// FlowText formats a value on one line as YAML in flow style, with plain scalars where
// they stay strings. Heat reads the same value in any context.
func FlowText(v value.Value) string {
	var b strings.Builder
	writeFlow(&b, v)
	return b.String()
}

func writeFlow(b *strings.Builder, v value.Value) {
	switch v := v.(type) {
	case string:
		b.WriteString(FlowString(v))
	case []value.Value:
		b.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeFlow(b, x)
		}
		b.WriteByte(']')
	case *value.Dict:
		b.WriteByte('{')
		for i, k := range v.Keys() {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(FlowString(k))
			b.WriteString(": ")
			x, _ := v.Get(k)
			writeFlow(b, x)
		}
		b.WriteByte('}')
	case float64:
		b.WriteString(flowFloat(v))
	default:
		b.Write(value.EncodeJSON(v))
	}
}

func flowFloat(f float64) string {
	text := value.FormatFloat(f)
	switch text {
	case "inf", "-inf", "nan":
		return strings.Replace(text, text[len(text)-3:], "."+text[len(text)-3:], 1)
	}
	// YAML 1.1 requires a point in the mantissa: 1e+16 is a string there
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok && !strings.Contains(mantissa, ".") {
		return mantissa + ".0e" + exponent
	}
	return text
}

// FlowString formats a string plain, in single or in double quotes.
func FlowString(s string) string {
	if isPlainSafe(s) {
		return s
	}
	for _, r := range s {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return doubleQuoted(s)
		}
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// isPlainSafe is stricter than YAML: it accepts only what is obviously a string.
func isPlainSafe(s string) bool {
	if s == "" || s == "-" || strings.HasSuffix(s, " ") {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c == '/'
		if !letter && (i == 0 || strings.IndexByte("-. ", c) < 0) {
			return false
		}
	}
	_, isText, ok := plainMeaning(s)
	return ok && isText
}

// doubleQuoted escapes as JSON does, which YAML understands, and also what YAML does
// not allow unescaped. PyYAML reads surrogate pairs as two characters, so characters
// beyond the first plane are not escaped.
func doubleQuoted(s string) string {
	text := string(value.EncodeJSON(s))
	return strings.NewReplacer("\u0085", `\x85`, "\u007f", `\x7f`, "\ufeff", `\ufeff`, "\u2028", `\u2028`, "\u2029", `\u2029`).Replace(text)
}
