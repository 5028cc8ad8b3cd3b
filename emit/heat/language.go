package heat

import (
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/emit/edit"
)

// HOT fragments that hotc adds: CloudFormation templates have no roles.

func parameter(name string) tree { return dict("get_param", name) }

// id is a resource's reference id.
func id(resource string) tree { return dict("get_resource", resource) }

// attribute is an attribute of a resource, or the value at a path in it.
func attribute(resource, name string, path ...value.Value) tree {
	return storedAt(append([]value.Value{resource, name}, path...))
}

// storedAt is the value at a path that begins with a resource and its attribute.
func storedAt(path []value.Value) tree { return dict("get_attr", path) }

func join(delimiter string, items ...value.Value) tree {
	return dict("list_join", []value.Value{delimiter, items})
}

// filled is a template with its placeholders replaced.
func filled(template tree, params *value.Dict) tree {
	return section{Dict: dict("str_replace", section{Dict: dict("template", template, "params", section{Dict: params})})}
}

func resource(typeName string, properties tree, dependsOn ...value.Value) section {
	d := dict("type", typeName)
	if len(dependsOn) > 0 {
		d.Set("depends_on", dependsOn)
	}
	d.Set("properties", properties)
	return section{Dict: d}
}

// Short names for what is written.
type (
	tree    = edit.Tree
	section = edit.Section
)

func dict(pairs ...any) *value.Dict { return edit.Dict(pairs...) }
