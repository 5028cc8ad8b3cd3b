package up

import (
	"context"
	"github.com/hotc-dev/hotc/runtime/heat"
	"path"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/deploy"
	"github.com/hotc-dev/hotc/coordinator/protocol"
)

// Changes are what an update would do, as far as is certain.
type Changes struct {
	// Heat says that Heat receives another template or other parameters.
	Heat bool
	// Added, Deleted and Replaced are resources by path: db, web/1.
	Added, Deleted, Replaced []string
	// Rebuilt are servers that keep their ids and lose their disks, Resized those that boot again.
	Rebuilt, Resized []string
	machines         map[string]bool // Nova's ids of the rebuilt
	// First are roles whose delete hooks run before the update, and Lost those whose do not run, with
	// the reason. For others of what is deleted, Heat waits.
	First []contract.RoleKey
	Lost  map[contract.RoleKey]string
	// Perhaps are resources that Heat may replace because they refer to a replaced one.
	Perhaps []string
	// Bare are servers new in the plan that Heat keeps: they never get an agent.
	Bare map[string]heat.Resource
	// Within says that Heat cannot preview what it would do in groups and nested stacks.
	Within bool
	// Given are the stack's parameters whose value changes, and Derived the resources computed from
	// them: what Heat supplies to roles changes with these.
	Given, Derived []string
	// Values are those of the given ones that are not hidden.
	Values map[string]Value
	// Unknown are hidden parameters whose previous value is not known.
	Unknown []string
	// Roles are those that the plan changes, Again failed ones that run again.
	Roles []deploy.RoleChange
	Again []contract.RoleKey
}

// Value is a parameter's value before and after an update.
type Value struct {
	Before, After string
	// Default says that the parameter is left to its default now.
	Default bool
}

// foresee works out what an update would do.
func (u *Up) foresee(ctx context.Context) (c Changes, err error) {
	c.Roles = u.changes
	if u.now != nil {
		for r := range u.now.Roles() {
			if r.Status == protocol.RoleFailed {
				c.Again = append(c.Again, r.Key())
			}
		}
	}
	c.Heat = !u.asked() || u.stack.State.Failed() || u.stack.State.Action() == "ROLLBACK"
	if !c.Heat {
		return c, nil
	}
	seen, err := u.Cloud.Preview(ctx, u.stack, u.Template, u.Options, true)
	if heat.Refused(err) {
		c.Within = true
		seen, err = u.Cloud.Preview(ctx, u.stack, u.Template, u.Options, false)
	}
	if err != nil {
		return c, err
	}
	return c, c.sure(ctx, u, seen)
}

// definition is what decides about a replacement: the type and the properties, without folders of
// files and without what hotc never lets replace a server.
func definition(r map[string]any) any {
	kept, all := map[string]any{}, properties(r)
	for name, value := range all {
		if name == "user_data" && all["user_data_update_policy"] == "IGNORE" {
			continue
		}
		kept[name] = value
	}
	return unplaced([]any{r["type"], kept})
}

// unplaced leaves out the folders that contain files.
func unplaced(v any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "file://") {
			return path.Base(v)
		}
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = unplaced(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = unplaced(x)
		}
		return out
	}
	return v
}

// reads reports whether a value reads any of some parameters.
func reads(v any, parameters map[string]bool) bool {
	return calls(v, func(name, of string) bool { return name == "get_param" && parameters[of] })
}

// calls reports whether a value contains a matching call, by function and the first name in it.
func calls(v any, is func(name, of string) bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(x any) bool { return calls(x, is) })
	case map[string]any:
		for name, x := range v {
			if name == "user_data" && v["user_data_update_policy"] == "IGNORE" {
				continue
			}
			of := x
			if list, several := x.([]any); several && len(list) > 0 {
				of = list[0]
			}
			if text, one := of.(string); one && is(name, text) || calls(x, is) {
				return true
			}
		}
	}
	return false
}
