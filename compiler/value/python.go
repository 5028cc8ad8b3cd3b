package value

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Heat is written in Python, and converts values by the rules of Python's types: str,
// repr, int, float, truth.

// ToString formats a value as Python's str does.
func ToString(v Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(pythonRepr.write(v))
}

func writeStringRepr(b *bytes.Buffer, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case escaped(b, r, quote):
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
}

// Truthy is Python's truth value.
func Truthy(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case *big.Int:
		return v.Sign() != 0
	case string:
		return v != ""
	case []Value:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	}
	return false
}

// IsSpace is str.isspace of one character.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// LongestNumber is Python's limit of digits (sys.get_int_max_str_digits).
const LongestNumber = 4300

// Integer converts as Python's int does.
func Integer(v Value) (Value, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	case int64, *big.Int:
		return v, true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		if math.Abs(v) < 1<<62 {
			return int64(v), true
		}
		n, _ := big.NewFloat(v).Int(nil)
		return n, true
	case string:
		return ParseInteger(v)
	}
	return nil, false
}

// ParseInteger converts a string as Python's int does.
func ParseInteger(text string) (Value, bool) {
	digits, ok := ASCIINumber(text)
	body := strings.TrimLeft(digits, "+-")
	if !ok || len(digits)-len(body) > 1 || !separatedDigits(body) {
		return nil, false
	}
	digits = strings.TrimPrefix(strings.ReplaceAll(digits, "_", ""), "+")
	if len(digits) > LongestNumber {
		return nil, false
	}
	return ParseDigits(digits, 10), true
}

// ASCIINumber trims a string and converts the digits of other scripts to 0 to 9.
func ASCIINumber(text string) (string, bool) {
	text = strings.TrimFunc(text, IsSpace)
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case unicode.Is(unicode.Nd, r):
			b.WriteByte('0' + digitOf(r))
		default:
			return "", false
		}
	}
	return b.String(), true
}

// digitOf is the value of a decimal digit: Unicode has them in runs of ten.
func digitOf(r rune) byte {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return byte((r - rune(t.Lo)) % 10)
		}
	}
	return 0
}

// separatedDigits reports whether a string is digits, with single underscores between.
func separatedDigits(s string) bool {
	return !slices.ContainsFunc(strings.Split(s, "_"), func(part string) bool { return !IsDigits(part) })
}

// ParseFloat converts a string as Python's float does.
func ParseFloat(text string) (float64, bool) {
	s, ok := ASCIINumber(text)
	if !ok {
		return 0, false
	}
	body := strings.ToLower(strings.TrimLeft(s, "+-"))
	if len(s)-len(body) > 1 {
		return 0, false
	}
	switch body {
	case "inf", "infinity", "nan":
		f, _ := strconv.ParseFloat(strings.ToLower(s), 64)
		return f, true
	}
	mantissa, exponent, hasExponent := strings.Cut(body, "e")
	if hasExponent && !separatedDigits(strings.TrimPrefix(strings.TrimPrefix(exponent, "-"), "+")) ||
		hasExponent && len(strings.TrimLeft(exponent, "+-")) < len(exponent)-1 {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" && fraction == "" || whole != "" && !separatedDigits(whole) || fraction != "" && !separatedDigits(fraction) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// IsInteger reports whether Python's int accepts a value.
func IsInteger(v Value) bool { _, is := Integer(v); return is }

// IsNumber reports whether Heat's str_to_num accepts a value.
func IsNumber(v Value) bool { _, is := Number(v); return is }

// Number converts as Heat does for a parameter of type number
// (heat/engine/constraints.py, Schema.str_to_num): to an integer if it is one.
func Number(v Value) (Value, bool) {
	switch v := v.(type) {
	case bool, int64, *big.Int, float64:
		return v, true
	case string:
		if n, ok := ParseInteger(v); ok {
			return n, true
		}
		f, ok := ParseFloat(v)
		return f, ok
	}
	return nil, false
}

// Whole is an integral number, whatever its type.
func Whole(v Value) (*big.Int, bool) {
	r, ok := Rational(v)
	if !ok || !r.IsInt() {
		return nil, false
	}
	return r.Num(), true
}

// ParseDigits parses digits that are known to be valid.
func ParseDigits(digits string, base int) Value {
	if n, err := strconv.ParseInt(digits, base, 64); err == nil {
		return n
	}
	n, _ := new(big.Int).SetString(digits, base)
	return n
}

// IsDigits reports whether a string consists of ASCII digits.
func IsDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
