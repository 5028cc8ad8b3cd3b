package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// A template may be JSON, which Heat tries first: there 1e3 is a number and
// "\ud83d\ude00" one character (heat/common/template_format.py, simple_parse).
// This accepts what Python's json module accepts, including NaN and Infinity, and
// keeps positions.

// looksLikeJSON reports whether a text can be a JSON template.
func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

// parseJSON reads one JSON value.
func parseJSON(text []byte) (*Node, error) {
	p := jsonParser{text: text}
	n, err := p.value(0)
	if err != nil {
		return nil, fmt.Errorf("%w at byte %d", err, p.at)
	}
	if p.space(); p.at < len(text) {
		return nil, fmt.Errorf("more than one JSON value, at byte %d", p.at)
	}
	return n, nil
}

// NotJSON is the offset of the first error of a text that starts like JSON; false if it is
// valid, or starts otherwise. Heat's client reads such a template only as JSON
// (heatclient/common/template_format.py, parse).
func NotJSON(text []byte) (at int, is bool) {
	if !looksLikeJSON(text) {
		return 0, false
	}
	p := jsonParser{text: text}
	_, err := p.value(0)
	if err == nil {
		p.space()
		return p.at, p.at < len(text)
	}
	return p.at, errors.Is(err, errJSON)
}

type jsonParser struct {
	text []byte
	at   int
	slab []Node
}

var (
	errJSON      = errors.New("invalid JSON")
	errDepth     = errors.New("nested too deep")
	errSurrogate = errors.New("half of a surrogate pair")
)

func (p *jsonParser) space() {
	for p.at < len(p.text) && isWhite(p.text[p.at]) {
		p.at++
	}
}

// next skips white space and returns the next byte; 0 at the end.
func (p *jsonParser) next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *jsonParser) newNode() *Node {
	if len(p.slab) == 0 {
		p.slab = make([]Node, 64)
	}
	n := &p.slab[0]
	p.slab = p.slab[1:]
	return n
}

func (p *jsonParser) value(depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	c := p.next()
	n := p.newNode()
	n.Span.Start = uint32(p.at)
	var err error
	switch {
	case c == '{':
		err = p.object(n, depth)
	case c == '[':
		err = p.array(n, depth)
	case c == '"':
		n.Style = DoubleQuoted
		n.Value, err = p.string()
	default:
		n.Value, err = p.scalar()
	}
	n.Span.End = uint32(p.at)
	return n, err
}

func (p *jsonParser) array(n *Node, depth int) error {
	n.Kind, n.Style = List, Flow
	p.at++
	if p.next() == ']' {
		p.at++
		return nil
	}
	for {
		x, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, x)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return nil
		default:
			return errJSON
		}
	}
}

func (p *jsonParser) object(n *Node, depth int) error {
	n.Kind, n.Style = Map, Flow
	p.at++
	if p.next() == '}' {
		p.at++
		return nil
	}
	for {
		if p.next() != '"' {
			return errJSON
		}
		key := Key{source.Span{Start: uint32(p.at)}}
		name, err := p.string()
		if err != nil {
			return err
		}
		key.End = uint32(p.at)
		if p.next() != ':' {
			return errJSON
		}
		p.at++
		x, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Entries = append(n.Entries, Entry{Key: key, Name: name, Value: x})
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return nil
		default:
			return errJSON
		}
	}
}

func (p *jsonParser) scalar() (value.Value, error) {
	rest := p.text[p.at:]
	for _, w := range jsonWords {
		if bytes.HasPrefix(rest, []byte(w.word)) {
			p.at += len(w.word)
			return w.value, nil
		}
	}
	return p.number()
}

var jsonWords = []struct {
	word  string
	value value.Value
}{{"true", true}, {"false", false}, {"null", nil}, {"NaN", math.NaN()}, {"Infinity", math.Inf(1)}, {"-Infinity", math.Inf(-1)}}

func (p *jsonParser) number() (value.Value, error) {
	start := p.at
	p.accept("-")
	if !p.accept("0") && p.digits() == 0 {
		return nil, errJSON
	}
	isFloat := false
	if mark := p.at; p.accept(".") {
		if isFloat = p.digits() > 0; !isFloat {
			p.at = mark
		}
	}
	if mark := p.at; p.accept("eE") {
		if p.accept("+-"); p.digits() > 0 {
			isFloat = true
		} else {
			p.at = mark
		}
	}
	text := string(p.text[start:p.at])
	if !isFloat {
		if len(text) > value.LongestNumber {
			return nil, fmt.Errorf("a number of more than %d digits", value.LongestNumber)
		}
		return value.ParseDigits(text, 10), nil
	}
	f, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
	return f, nil
}

func (p *jsonParser) accept(any string) bool {
	if p.at < len(p.text) && bytes.IndexByte([]byte(any), p.text[p.at]) >= 0 {
		p.at++
		return true
	}
	return false
}

func (p *jsonParser) digits() (n int) {
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
		n++
	}
	return n
}

func (p *jsonParser) string() (string, error) {
	p.at++
	start := p.at
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.at = i + 1
			return p.checked(string(p.text[start:i]))
		case c == '\\':
			return p.escaped(start, i)
		case c < ' ':
			p.at = i
			return "", errJSON
		}
	}
	return "", errJSON
}

func (p *jsonParser) checked(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errJSON
	}
	return s, nil
}

// escaped continues a string at its first backslash.
func (p *jsonParser) escaped(start, i int) (string, error) {
	out := append([]byte(nil), p.text[start:i]...)
	for p.at = i; p.at < len(p.text); {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			return p.checked(string(out))
		case c < ' ':
			return "", errJSON
		case c != '\\':
			out = append(out, c)
			continue
		}
		r, err := p.escape()
		if err != nil {
			return "", err
		}
		out = utf8.AppendRune(out, r)
	}
	return "", errJSON
}

func (p *jsonParser) escape() (rune, error) {
	if p.at >= len(p.text) {
		return 0, errJSON
	}
	c := p.text[p.at]
	p.at++
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, errJSON
	}
	r, err := p.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if bytes.HasPrefix(p.text[p.at:], []byte(`\u`)) {
		p.at += 2
		low, err := p.hex4()
		if err != nil {
			return 0, err
		}
		if joined := utf16.DecodeRune(r, low); joined != utf8.RuneError {
			return joined, nil
		}
	}
	return 0, errSurrogate
}

func (p *jsonParser) hex4() (rune, error) {
	if p.at+4 > len(p.text) {
		return 0, errJSON
	}
	var r rune
	for _, c := range p.text[p.at : p.at+4] {
		i := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if i < 0 || c < '0' {
			return 0, errJSON
		}
		r = r<<4 | rune(i)
	}
	p.at += 4
	return r, nil
}

// DecodeJSON decodes one JSON value as Python's json module does: it keeps the order
// of keys, and integers of any size.
func DecodeJSON(data []byte) (value.Value, error) {
	n, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	return n.Data(), nil
}
