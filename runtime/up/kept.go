package up

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/nesting"
	"github.com/hotc-dev/hotc/runtime/heat"
)

// keep adds to the request the templates by which the members of groups are defined now, if this
// one names others: after an update by the openstack client, or by an earlier hotc, they lie in
// another folder. Heat keeps the definition of each member until the update comes to it, but after
// a failure only the files of the update that failed (heat/common/grouputils.py,
// get_child_template_files).
func (u *Up) keep(ctx context.Context) error {
	all, err := u.Cloud.Resources(ctx, u.stack.Name, u.stack.ID, heat.MaxDepth)
	if err != nil {
		return err
	}
	u.Options.Kept = map[string]string{}
	for _, group := range all {
		member := func(r heat.Resource) bool { return r.StackID == group.NestedID && environment.IsTemplate(r.Type) }
		if !nesting.IsGroup(group.Type) || group.NestedID == "" || !slices.ContainsFunc(all, member) {
			continue
		}
		if err := u.keepMembers(ctx, &heat.Stack{Name: group.NestedName, ID: group.NestedID}); err != nil && !errors.Is(err, heat.ErrNotFound) {
			return err
		}
	}
	return nil
}

// keepMembers adds those of one group's members, and what they refer to.
func (u *Up) keepMembers(ctx context.Context, group *heat.Stack) error {
	definition, err := u.Cloud.Definition(ctx, group)
	if err != nil {
		return err
	}
	var has template
	if err := json.Unmarshal(definition, &has); err != nil {
		return err
	}
	var wanted []string
	for _, member := range has.Resources {
		if of, _ := member["type"].(string); environment.IsTemplate(of) && !u.Template.Has(of) {
			wanted = append(wanted, of)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	files, err := u.Cloud.Files(ctx, group)
	if err != nil {
		return err
	}
	for ; len(wanted) > 0; wanted = wanted[1:] {
		text, there := files[wanted[0]]
		if _, has := u.Options.Kept[wanted[0]]; has || !there {
			continue
		}
		u.Options.Kept[wanted[0]] = text
		for name := range files {
			if !u.Template.Has(name) && strings.Contains(text, `"`+name+`"`) {
				wanted = append(wanted, name)
			}
		}
	}
	return nil
}
