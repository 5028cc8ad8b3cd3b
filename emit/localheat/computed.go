package localheat

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Some of stock Heat's resources are nothing but an expression: Heat makes their
// attributes of their own properties, and so does `hotc run`.

// computed is an attribute that Heat makes of what the template says; nil for all else.
func (s *scope) computed(call *hot.Expr, resource, attribute string, path []value.Value) (*hot.Expr, error) {
	r := s.stack.Template.Resource(resource)
	if r == nil || call.Ref().Kind != hot.ToAttribute {
		return nil, nil
	}
	switch s.stack.Type(r) {
	case "OS::Heat::None": // none_resource.py, get_attribute
		return hot.Constant(nil, call.At), nil
	case "OS::Heat::Value":
		if attribute != "value" || r.Property("value") == nil {
			return nil, nil
		}
		v, err := s.value(r)
		if err != nil || !v.IsValue() {
			return v, err
		}
		return hot.Constant(hot.Select(v.Value, path), call.At), nil
	}
	return nil, nil
}

// value is the attribute of an OS::Heat::Value (heat/engine/resources/openstack/heat/value.py):
// what the template says, whatever the type is.
func (s *scope) value(r *hot.Resource) (*hot.Expr, error) {
	v, err := s.property(r, "value")
	if err != nil || !v.IsValue() || r.Property("type") == nil {
		return v, err
	}
	t, err := s.property(r, "type")
	if err != nil || !t.IsValue() {
		return t, err
	}
	if typeName, _ := t.Value.(string); !takes(typeName, v.Value) {
		return nil, &source.Diagnostic{Code: source.BadArgument, At: s.stack.Place(r.Property("value")), Message: fmt.Sprintf("%q is an OS::Heat::Value of type %s, and what it has is none", r.Name, typeName)}
	}
	return v, nil
}

func (s *scope) property(r *hot.Resource, name string) (*hot.Expr, error) {
	return hot.Fold(s.stack.Template.Expr(r.Property(name)), s.answer)
}

// takes says whether a property of one of a parameter's types takes a value (heat/engine/
// properties.py, Property.get_value). The type checks the value and leaves it as it is.
func takes(typeName string, v value.Value) bool {
	if v == nil {
		return true
	}
	ok := true
	switch typeName {
	case "string":
		switch v.(type) {
		case string, bool, int64, *big.Int:
		default:
			ok = false
		}
	case "number":
		_, err := (&hot.Parameter{Type: "number"}).Cast(v)
		ok = err == nil
	case "boolean":
		text, isText := v.(string)
		_, isBool := v.(bool)
		ok = isBool || isText && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false"))
	case "json":
		_, ok = v.(*value.Dict)
	case "comma_delimited_list":
		_, ok = v.([]value.Value)
	}
	return ok
}

// written is the failure of an expression of Heat's that needs what a role writes; nil for
// what no role does. With Heat it would wait for a wait condition.
func (s *scope) written(call *hot.Expr, resource, attribute string) error {
	var output *program.Output
	if server := s.stack.Server(resource); server != nil {
		output = server.Output(attribute)
	}
	if output == nil {
		return nil
	}
	return &source.Diagnostic{Code: source.MissingFact, At: call.At, Message: fmt.Sprintf("Heat would wait for role %s here, and hand on what it writes; `hotc run` must know it before the roles run", output.Role.Key()),
		Hint: fmt.Sprintf("have the role's input read the role's output itself, or say what it is with --fact %s.%s=VALUE", s.stack.PathOf(resource), attribute)}
}
