package yaml

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Explicit tags, as PyYAML's SafeLoader constructs them (yaml/constructor.py).
// They accept more than the same text without a tag: `!!float 1e3` is 1000.0.

// tagged applies a scalar's tag. Tags other than YAML's own are refused, as by Heat,
// and so are those whose values JSON cannot express.
func (p *parser) tagged(y *yaml.Node, n *Node) {
	v, ok := construct(y.Tag, y.Value)
	if !ok {
		p.fail(y, source.BadTag, "Heat refuses the tag "+y.Tag+" here", "remove the tag")
		return
	}
	n.Value = v
}

func construct(tag, text string) (value.Value, bool) {
	switch tag {
	case "!!str", "!!timestamp":
		return text, true
	case "!!null":
		return nil, true
	case "!!bool":
		switch strings.ToLower(text) {
		case "yes", "true", "on":
			return true, true
		case "no", "false", "off":
			return false, true
		}
	case "!!int":
		return constructInt(strings.ReplaceAll(text, "_", ""))
	case "!!float":
		return constructFloat(strings.ToLower(strings.ReplaceAll(text, "_", "")))
	}
	return nil, false
}

// signed splits off a number's sign.
func signed(text string) (body string, negative, ok bool) {
	if text == "" {
		return "", false, false
	}
	if text[0] == '+' || text[0] == '-' {
		return text[1:], text[0] == '-', len(text) > 1
	}
	return text, false, true
}

func constructInt(text string) (value.Value, bool) {
	body, negative, ok := signed(text)
	if !ok {
		return nil, false
	}
	var n value.Value
	switch {
	case body == "0":
		n = int64(0)
	case strings.HasPrefix(body, "0b"):
		n, ok = digitsOf(body[2:], 2, "0b")
	case strings.HasPrefix(body, "0x"):
		n, ok = digitsOf(body[2:], 16, "0x")
	case body[0] == '0':
		n, ok = digitsOf(body, 8, "0o")
	case strings.Contains(body, ":"):
		n, ok = sixties(body)
	default:
		n, ok = value.ParseInteger(body)
	}
	if !ok || !negative {
		return n, ok
	}
	return negated(n), true
}

func negated(n value.Value) value.Value {
	if i, ok := n.(int64); ok && i != math.MinInt64 {
		return -i
	}
	b, _ := value.Whole(n)
	return value.ParseDigits(new(big.Int).Neg(b).String(), 10)
}

// digitsOf is Python's int with a base, whose prefix may be repeated.
func digitsOf(text string, base int, prefix string) (value.Value, bool) {
	text, ok := value.ASCIINumber(text)
	body, negative, okSign := signed(text)
	if !ok || !okSign {
		return nil, false
	}
	if lower := strings.ToLower(body); strings.HasPrefix(lower, prefix) && len(body) > 2 {
		body = body[2:]
	}
	n, ok := new(big.Int).SetString(body, base)
	if !ok || body[0] == '+' || body[0] == '-' {
		return nil, false
	}
	if negative {
		n.Neg(n)
	}
	return value.ParseDigits(n.String(), 10), true
}

// sixties parses numbers of base 60, whose parts may be any integers.
func sixties(text string) (value.Value, bool) {
	total := new(big.Int)
	for _, part := range strings.Split(text, ":") {
		v, ok := value.ParseInteger(part)
		if !ok {
			return nil, false
		}
		n, _ := value.Whole(v)
		total.Mul(total, big.NewInt(60)).Add(total, n)
	}
	return value.ParseDigits(total.String(), 10), true
}

func constructFloat(text string) (value.Value, bool) {
	body, negative, ok := signed(text)
	if !ok {
		return nil, false
	}
	var f float64
	switch {
	case body == ".inf":
		f = math.Inf(1)
	case body == ".nan":
		return math.NaN(), true
	case strings.Contains(body, ":"):
		base := 1.0
		parts := strings.Split(body, ":")
		for i := len(parts) - 1; i >= 0; i-- {
			part, ok := value.ParseFloat(parts[i])
			if !ok {
				return nil, false
			}
			f += part * base
			base *= 60
		}
	default:
		if f, ok = value.ParseFloat(body); !ok {
			return nil, false
		}
	}
	if negative {
		f = -f
	}
	return f, true
}

// tooLong reports whether an integer has more digits than Python's limit.
func tooLong(v value.Value) bool {
	n, ok := v.(*big.Int)
	return ok && (n.BitLen() > 15_000 || len(strconv.Quote(n.String()))-2-max(0, -n.Sign()) > value.LongestNumber)
}
