package yaml

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
)

// resolvePlain returns the value of a plain scalar as Heat reads it: by YAML 1.1
// as PyYAML's SafeLoader implements it (yaml/resolver.py, yaml/constructor.py),
// except timestamps, which Heat keeps as strings (heat/common/template_format.py).
// ok is false for what PyYAML refuses: a lone "=", and "0x_", which it fails to
// convert.
func resolvePlain(text string) (v value.Value, ok bool) {
	v, isText, ok := plainMeaning(text)
	if isText {
		v = text
	}
	return v, ok
}

// plainMeaning is resolvePlain without allocating a value for strings.
func plainMeaning(text string) (v value.Value, isText, ok bool) {
	if text == "" {
		return nil, false, true
	}
	switch text[0] {
	case 'y', 'Y', 'n', 'N', 't', 'T', 'f', 'F', 'o', 'O', '~':
		if v, known := words[text]; known {
			return v, false, true
		}
	case '-', '+', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if v, isNumber := resolveNumber(text); isNumber {
			return v, false, true
		}
		if text[len(text)-1] == '_' && onlyUnderscores.MatchString(text) {
			return nil, true, false
		}
	case '=':
		return nil, true, text != "="
	}
	return nil, true, true
}

var onlyUnderscores = regexp.MustCompile(`^[-+]?0[bx]_+$`)

var words = map[string]value.Value{
	"yes": true, "Yes": true, "YES": true, "no": false, "No": false, "NO": false,
	"true": true, "True": true, "TRUE": true, "false": false, "False": false, "FALSE": false,
	"on": true, "On": true, "ON": true, "off": false, "Off": false, "OFF": false,
	"~": nil, "null": nil, "Null": nil, "NULL": nil,
}

func resolveNumber(text string) (value.Value, bool) {
	body := strings.TrimLeft(text[:1], "+-") + text[1:]
	negative := text[0] == '-'
	switch {
	case body == "":
		return nil, false
	case body == "0b" || body == "0x":
		return nil, false
	case strings.HasPrefix(body, "0b"):
		return radix(body[2:], 2, "01", negative)
	case strings.HasPrefix(body, "0x"):
		return radix(body[2:], 16, "0123456789abcdefABCDEF", negative)
	case body == ".inf" || body == ".Inf" || body == ".INF":
		return math.Inf(map[bool]int{true: -1, false: 1}[negative]), true
	case text == ".nan" || text == ".NaN" || text == ".NAN":
		return math.NaN(), true
	case strings.Contains(body, ":"):
		return sexagesimal(body, negative)
	case strings.Contains(body, "."):
		return decimal(text, body)
	case body == "0":
		return int64(0), true
	case body[0] == '0':
		return radix(body[1:], 8, "01234567", negative)
	}
	return radix(body, 10, "0123456789", negative)
}

// radix parses an integer; underscores are skipped, but not at the start of a decimal.
func radix(digits string, base int, allowed string, negative bool) (value.Value, bool) {
	if digits == "" || strings.Trim(digits, allowed+"_") != "" || base == 10 && digits[0] == '_' {
		return nil, false
	}
	for i := 0; i < len(digits); i++ {
		if strings.IndexByte(allowed+"_", digits[i]) < 0 {
			return nil, false
		}
	}
	digits = strings.ReplaceAll(digits, "_", "")
	if digits == "" {
		if base == 8 {
			return int64(0), true // "0_"
		}
		return nil, false
	}
	if negative {
		digits = "-" + digits
	}
	return value.ParseDigits(digits, base), true
}

// decimal parses a float with a point. An exponent needs a sign, and a point before
// it: "1e3" and "1.0e3" are strings.
func decimal(text, body string) (value.Value, bool) {
	mantissa, exponent := body, ""
	if i := strings.IndexAny(body, "eE"); i >= 0 {
		mantissa, exponent = body[:i], body[i+1:]
		if len(exponent) < 2 || exponent[0] != '+' && exponent[0] != '-' || !value.IsDigits(exponent[1:]) {
			return nil, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole == "" && (text[0] == '+' || text[0] == '-' || fraction == "" || fraction[0] == '_') {
		return nil, false // resolver.py: no sign before a leading point
	}
	if whole != "" && whole[0] == '_' || !value.IsDigits(strings.ReplaceAll(whole+fraction, "_", "")) {
		return nil, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		return nil, false
	}
	return f, true
}

// sexagesimal parses numbers of base 60, such as times of day.
func sexagesimal(body string, negative bool) (value.Value, bool) {
	whole, fraction, isFloat := strings.Cut(body, ".")
	parts := strings.Split(whole, ":")
	head := strings.ReplaceAll(parts[0], "_", "")
	if !value.IsDigits(head) || parts[0][0] == '_' || !isFloat && parts[0][0] == '0' {
		return nil, false
	}
	if isFloat && strings.Trim(fraction, "0123456789_") != "" {
		return nil, false
	}
	total, _ := new(big.Int).SetString(head, 10)
	for _, p := range parts[1:] {
		if !value.IsDigits(p) || len(p) > 2 || len(p) == 2 && p[0] > '5' {
			return nil, false
		}
		n, _ := strconv.ParseInt(p, 10, 64)
		total.Mul(total, big.NewInt(60)).Add(total, big.NewInt(n))
	}
	if !isFloat {
		if negative {
			total.Neg(total)
		}
		return value.ParseDigits(total.String(), 10), true
	}
	f, _ := new(big.Float).SetInt(total).Float64()
	rest, _ := strconv.ParseFloat("0."+strings.ReplaceAll(fraction, "_", "")+"0", 64)
	if f += rest; negative {
		f = -f
	}
	return f, true
}
