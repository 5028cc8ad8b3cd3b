package hot

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// checkKeyTypes checks the types of a resource's keys as Heat does (heat/engine/
// template_common.py, _rsrc_defn_args).
func (t *Template) checkKeyTypes(r *Resource, diags *source.Diagnostics) {
	w := t.Keywords()
	for i := range r.Entry.Value.Entries {
		e := &r.Entry.Value.Entries[i]
		wrong := func(what string) {
			diags.Error(source.BadSection, t.Place(e.Key), fmt.Sprintf("%q: %s must be %s, not %s", r.Name, e.Name, what, kindOf(e.Value)), "")
		}
		_, isText := e.Value.Text()
		switch e.Name {
		case w.Properties, w.Metadata, w.UpdatePolicy:
			if e.Value.Kind != yaml.Map {
				wrong("a map")
			}
		case w.DependsOn:
			if !isText && (e.Value.Kind != yaml.List || slices.ContainsFunc(e.Value.Items, func(x *yaml.Node) bool { _, is := x.Text(); return !is })) {
				wrong("a name or a list of names")
			}
		case w.DeletionPolicy:
			if !t.IsCall(e.Value) {
				t.checkDeletionPolicy(r, e, diags)
			}
		case "description", "Description":
			if !isText {
				wrong("a string")
			}
		}
	}
}

// deletionPolicies are those of every version; since 2016-10-14 also in lower case
// (heat/engine/hot/template.py).
var deletionPolicies = []string{"Delete", "Retain", "Snapshot"}

func (t *Template) checkDeletionPolicy(r *Resource, e *yaml.Entry, diags *source.Diagnostics) {
	known := deletionPolicies
	if !t.Version.CFN() && t.Version >= V20161014 {
		known = append([]string{"delete", "retain", "snapshot"}, known...)
	}
	text, isText := e.Value.Text()
	if isText && slices.Contains(known, text) {
		return
	}
	hint := DidYouMean(text, deletionPolicies, "use one of "+strings.Join(deletionPolicies, ", "))
	diags.Error(source.BadSection, t.Place(e.Value), fmt.Sprintf("%q: %s is not a valid %s", r.Name, shown(e.Value.Data()), e.Name), hint)
}

// kindOf names the kind of a node, for a message.
func kindOf(n *yaml.Node) string {
	if n.IsNull() {
		return "null"
	}
	if n.Kind == yaml.Scalar {
		return value.TypeName(n.Value)
	}
	return n.Kind.String()
}
