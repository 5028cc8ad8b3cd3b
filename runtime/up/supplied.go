package up

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// declaration is a parameter of the new template.
type declaration struct {
	Type    string          `json:"type"`
	Hidden  any             `json:"hidden"`
	Default json.RawMessage `json:"default"`
}

func (d declaration) hidden() bool {
	return d.Hidden != nil && d.Hidden != false && d.Hidden != "false"
}

// supplied are the parameters whose value the update changes, those of which that is unknown, and
// the resources that read the former. Heat never shows hidden values: those are compared by
// fingerprints in the stack's tags.
func (u *Up) supplied() (parameters, unknown, derived []string, err error) {
	var is struct {
		Resources map[string]map[string]any `json:"resources"`
	}
	if err := json.Unmarshal(u.Template.JSON(), &is); err != nil {
		return nil, nil, nil, err
	}
	declared, err := u.declared()
	if err != nil {
		return nil, nil, nil, err
	}
	changed := map[string]bool{}
	marked := slices.ContainsFunc(u.stack.Tags, func(tag string) bool { return strings.HasPrefix(tag, valueTag) })
	for name, p := range declared {
		before, known := u.stack.Parameters[name]
		value := u.becomes(name, p)
		switch {
		case !known || value == nil:
		case !p.hidden():
			changed[name] = differs(p.Type, before, value)
		case slices.Contains(u.stack.Tags, u.fingerprint(name, value)):
		case marked:
			changed[name] = true
		default:
			unknown = append(unknown, name)
		}
		if changed[name] {
			parameters = append(parameters, name)
		}
	}
	for name, r := range is.Resources {
		if reads(r["properties"], changed) {
			derived = append(derived, name)
		}
	}
	slices.Sort(parameters)
	slices.Sort(unknown)
	slices.Sort(derived)
	return parameters, unknown, derived, nil
}

// declared are the template's parameters, without hotc's own secret ones.
func (u *Up) declared() (map[string]declaration, error) {
	var is struct {
		Parameters map[string]declaration `json:"parameters"`
	}
	if err := json.Unmarshal(u.Template.JSON(), &is); err != nil {
		return nil, err
	}
	for name, p := range is.Parameters {
		if strings.HasPrefix(name, "hotc_") && p.hidden() {
			delete(is.Parameters, name)
		}
	}
	return is.Parameters, nil
}

// becomes is the new value of a parameter; nil where it has none, or Heat does not receive it.
func (u *Up) becomes(name string, p declaration) json.RawMessage {
	if value, given := u.given(name); given {
		return value
	}
	return p.Default
}

// given is the value that a parameter gets from the command or its environments.
func (u *Up) given(name string) (value json.RawMessage, is bool) {
	for _, from := range []map[string]json.RawMessage{u.Options.Given, u.Values, u.Options.Parameters, u.Options.Defaults} {
		if value, is = from[name]; is {
			return value, true
		}
	}
	return nil, false
}

// values are those of parameters that are not hidden, before and after the update.
func (u *Up) values(names []string) (map[string]Value, error) {
	declared, err := u.declared()
	if err != nil {
		return nil, err
	}
	values := map[string]Value{}
	for _, name := range names {
		if p := declared[name]; !p.hidden() {
			_, given := u.given(name)
			values[name] = Value{u.stack.Parameters[name], plain(u.becomes(name, p)), !given}
		}
	}
	return values, nil
}

// valueTag begins the stack's tags that are fingerprints of hidden parameters.
const valueTag = tagPrefix + "p-"

// fingerprint is the tag of a hidden parameter's value: it reveals nothing without the key.
func (u *Up) fingerprint(name string, value json.RawMessage) string {
	h := hmac.New(sha256.New, u.Key)
	fmt.Fprintf(h, "hotc parameter 1\n%s\n%s", name, plain(value))
	return valueTag + hex.EncodeToString(h.Sum(nil)[:12])
}

// fingerprints are those of all hidden parameters with a value.
func (u *Up) fingerprints() (tags []string) {
	declared, err := u.declared()
	if err != nil {
		return nil
	}
	for name, p := range declared {
		if value := u.becomes(name, p); p.hidden() && value != nil {
			tags = append(tags, u.fingerprint(name, value))
		}
	}
	slices.Sort(tags)
	return tags
}

// plain is a value as Heat writes a string, a number or a boolean: without quotes.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// differs reports whether a value differs from what Heat shows, which writes all types as strings.
func differs(kind, before string, value json.RawMessage) bool {
	now := plain(value)
	switch strings.ReplaceAll(strings.ToLower(kind), "_", "") {
	case "boolean":
		return now != before && !sameBoolean(now, before)
	case "number":
		x, isX := new(big.Rat).SetString(before)
		y, isY := new(big.Rat).SetString(now)
		return now != before && !(isX && isY && x.Cmp(y) == 0)
	case "json":
		now = cmp.Or(now, "{}")
		return !protocol.SameValue(json.RawMessage(before), json.RawMessage(now))
	case "commadelimitedlist":
		return items(value) != before
	}
	return now != before
}

// items writes a list as Heat does.
func items(value json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		var trimmed []string
		for x := range strings.SplitSeq(plain(value), ",") {
			trimmed = append(trimmed, strings.TrimSpace(x))
		}
		return strings.Join(trimmed, ",")
	}
	var texts []string
	for _, x := range list {
		texts = append(texts, plain(x))
	}
	return strings.Join(texts, ",")
}

// sameBoolean reports whether two of Heat's words for booleans mean the same.
func sameBoolean(a, b string) bool {
	yes := []string{"t", "true", "on", "y", "yes", "1"}
	return slices.Contains(yes, strings.ToLower(a)) == slices.Contains(yes, strings.ToLower(b))
}
