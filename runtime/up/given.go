package up

import (
	"encoding/json"
	"fmt"
	"slices"
)

// given are the parameters that get another value by the update, and the resources that read
// them. Of hidden ones Heat does not say what they have, and lists and maps it writes in ways
// of its own: these are others if they are declared otherwise.
func (u *Up) given() (parameters, derived []string, err error) {
	var is struct {
		Parameters map[string]struct {
			Type    string `json:"type"`
			Hidden  any    `json:"hidden"`
			Default any    `json:"default"`
		} `json:"parameters"`
		Resources map[string]map[string]any `json:"resources"`
	}
	if err := json.Unmarshal(u.Template.JSON(), &is); err != nil {
		return nil, nil, err
	}
	changed := map[string]bool{}
	for name, p := range is.Parameters {
		before, known := u.stack.Parameters[name]
		if !known || p.Hidden != nil || p.Type != "string" && p.Type != "number" && p.Type != "boolean" {
			continue
		}
		value := p.Default
		if text, given := u.Options.Given[name]; given && json.Unmarshal(text, &value) != nil || value == nil {
			continue
		}
		if now := fmt.Sprint(value); now != before && !(p.Type == "boolean" && sameBoolean(now, before)) {
			changed[name] = true
			parameters = append(parameters, name)
		}
	}
	for name, r := range is.Resources {
		if reads(r["properties"], changed) {
			derived = append(derived, name)
		}
	}
	slices.Sort(parameters)
	slices.Sort(derived)
	return parameters, derived, nil
}

// sameBoolean says that two of the words that Heat knows mean the same.
func sameBoolean(a, b string) bool {
	yes := []string{"t", "true", "on", "y", "yes", "1", "True"}
	return slices.Contains(yes, a) == slices.Contains(yes, b)
}
