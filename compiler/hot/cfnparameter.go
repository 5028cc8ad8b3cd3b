package hot

import (
	"strings"

	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// cfnParameterKeys are the keys of a declaration in a CloudFormation template
// (heat/engine/parameters.py, PARAMETER_KEYS).
var cfnParameterKeys = map[string]Version{"Type": CFN20121212, "Default": CFN20121212, "NoEcho": CFN20121212,
	"AllowedValues": CFN20121212, "AllowedPattern": CFN20121212, "MaxLength": CFN20121212, "MinLength": CFN20121212,
	"MaxValue": CFN20121212, "MinValue": CFN20121212, "Description": CFN20121212, "ConstraintDescription": CFN20121212,
	"Label": CFN20121212}

// cfnTypes maps CloudFormation's parameter types to HOT's.
var cfnTypes = map[string]string{"String": "string", "Number": "number", "CommaDelimitedList": "comma_delimited_list",
	"Json": "json", "Boolean": "boolean"}

// CFNType is CloudFormation's name of a parameter type.
func CFNType(name string) string {
	for cfn, hot := range cfnTypes {
		if hot == name {
			return cfn
		}
	}
	return name
}

// readCFN reads a declaration (heat/engine/parameters.py, Schema.from_dict).
func (r *parameterReader) readCFN(e *yaml.Entry) {
	n := e.Value
	if h := n.Get("NoEcho"); h != nil {
		r.p.Hidden = strings.ToLower(value.ToString(h.Data())) == "true"
	}
	r.cfnBounds("range", n.Entry("MinValue"), n.Entry("MaxValue"))
	r.cfnBounds("length", n.Entry("MinLength"), n.Entry("MaxLength"))
	r.cfnConstraint("allowed_values", n.Entry("AllowedValues"))
	r.cfnConstraint("allowed_pattern", n.Entry("AllowedPattern"))
}

// cfnBounds reads a constraint from its two keys.
func (r *parameterReader) cfnBounds(kind string, least, most *yaml.Entry) {
	if least == nil && most == nil {
		return
	}
	at := least
	if at == nil {
		at = most
	}
	bounds := value.NewDict()
	if least != nil {
		bounds.Set("min", least.Value.Data())
	}
	if most != nil {
		bounds.Set("max", most.Value.Data())
	}
	r.addCFN(kind, at, bounds)
}

func (r *parameterReader) cfnConstraint(kind string, e *yaml.Entry) {
	if e != nil {
		r.addCFN(kind, e, e.Value.Data())
	}
}

func (r *parameterReader) addCFN(kind string, e *yaml.Entry, v value.Value) {
	c := Constraint{Kind: kind}
	c.Description, _ = r.p.Entry.Value.Get("ConstraintDescription").Text()
	if err := c.read(v); err != nil {
		r.fail(e.Value, "", "%s: %s", e.Name, err)
		return
	}
	r.constrain(c, e.Value, e.Name)
}
