package hot

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

// The functions of text: str_replace, list_join, digest
// (heat/engine/hot/functions.py: ReplaceJson, JoinMultiple, Digest).

var strReplace = &Function{Name: "str_replace", Apply: applyReplace}

func applyReplace(arg Value) (Value, error) {
	args, ok := arg.(*Dict)
	if !ok {
		return nil, fmt.Errorf("str_replace needs a map with template and params, not %s", TypeName(arg))
	}
	t, hasTemplate := args.Get("template")
	p, hasParams := args.Get("params")
	if !hasTemplate || !hasParams {
		return nil, fmt.Errorf("str_replace needs the keys template and params")
	}
	template, ok := t.(string)
	if !ok {
		return nil, fmt.Errorf("str_replace: template must be a string, not %s", TypeName(t))
	}
	params, ok := p.(*Dict)
	if !ok {
		return nil, fmt.Errorf("str_replace: params must be a map, not %s", TypeName(p))
	}
	return replaceAll(template, placeholders(params), params)
}

// placeholders are the keys in Heat's order: the longer first, else by code point.
func placeholders(params *Dict) []string {
	keys := append([]string(nil), params.Keys()...)
	sort.Slice(keys, func(i, j int) bool {
		if n, m := len([]rune(keys[i])), len([]rune(keys[j])); n != m {
			return n > m
		}
		return keys[i] < keys[j]
	})
	return keys
}

// replaceAll splits the text at the first key and goes on with the other keys in
// the pieces, so that what was put in is not looked at again.
func replaceAll(text string, keys []string, params *Dict) (string, error) {
	if len(keys) == 0 {
		return text, nil
	}
	v, _ := params.Get(keys[0])
	with, err := replacement(v)
	if err != nil {
		return "", fmt.Errorf("str_replace: param %s: %w", keys[0], err)
	}
	if keys[0] == "" {
		return "", fmt.Errorf("str_replace: a placeholder is empty")
	}
	pieces := strings.Split(text, keys[0])
	for i, piece := range pieces {
		if pieces[i], err = replaceAll(piece, keys[1:], params); err != nil {
			return "", err
		}
	}
	return strings.Join(pieces, with), nil
}

// replacement is a value as text: maps and lists as JSON, null as nothing.
func replacement(v Value) (string, error) {
	switch v.(type) {
	case nil:
		return "", nil
	case []Value, *Dict:
		return pythonJSON(v)
	}
	return ToString(v), nil
}

// ToString writes a scalar as Python's str does.
func ToString(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case *big.Int:
		return v.String()
	case float64:
		return FormatFloat(v)
	case string:
		return v
	}
	return string(EncodeJSON(v))
}

var listJoin = &Function{Name: "list_join", Apply: applyJoin}

func applyJoin(arg Value) (Value, error) {
	args, ok := arg.([]Value)
	if !ok || len(args) < 2 {
		return nil, fmt.Errorf("list_join needs a list: the delimiter, then one or more lists")
	}
	delimiter, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("list_join: the delimiter must be a string, not %s", TypeName(args[0]))
	}
	var items []string
	for _, a := range args[1:] {
		list, ok := a.([]Value)
		if !ok && truthy(a) {
			return nil, fmt.Errorf("list_join joins lists, not %s", TypeName(a))
		}
		for _, x := range list {
			s, err := joinItem(x)
			if err != nil {
				return nil, err
			}
			items = append(items, s)
		}
	}
	return strings.Join(items, delimiter), nil
}

func joinItem(v Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []Value, *Dict:
		return pythonJSON(v)
	}
	return "", fmt.Errorf("list_join joins strings, maps and lists, not %s", TypeName(v))
}

// truthy is Python's idea of true.
func truthy(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []Value:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	}
	return !Equal(v, int64(0))
}

var digest = &Function{Name: "digest", Apply: applyDigest}

func applyDigest(arg Value) (Value, error) {
	args, ok := arg.([]Value)
	if !ok || len(args) != 2 {
		return nil, fmt.Errorf("digest needs a list of the algorithm and the value")
	}
	algorithm, okA := args[0].(string)
	text, okV := args[1].(string)
	if !okA || !okV {
		return nil, fmt.Errorf("digest: algorithm and value must be strings")
	}
	makers := map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224,
		"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}
	make, ok := makers[strings.ToLower(algorithm)]
	if !ok {
		return nil, fmt.Errorf("digest: unknown algorithm %q", algorithm)
	}
	h := make()
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)), nil
}
