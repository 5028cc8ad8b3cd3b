package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

var oneOf = Rule{Code: source.OneOf, Category: Resources, Severity: source.Warning, Truth: HeatRefuses, Template: findOneOf}

// alsoOneOf are what the types say by themselves, beyond what their tables' generator can
// ask them.
var alsoOneOf = map[string][][]string{
	"OS::Cinder::Volume":                    {{"size", "backup_id", "source_volid", "snapshot_id"}},
	"OS::Nova::KeyPair":                     {{"public_key"}},
	"AWS::AutoScaling::AutoScalingGroup":    {{"InstanceId", "LaunchConfigurationName"}},
	"AWS::AutoScaling::LaunchConfiguration": {{"InstanceId", "ImageId"}, {"InstanceId", "InstanceType"}},
	"AWS::EC2::EIPAssociation":              {{"EIP", "AllocationId"}},
}

// why says of what is not plain why it is needed.
var why = map[string]string{"OS::Nova::KeyPair": "Nova makes no keys from its version 2.92 on"}

func findOneOf(l *Look) {
	for _, b := range l.Blocks() {
		if b.Path != "" {
			continue
		}
		for _, names := range slices.Concat(b.Type.OneOf, alsoOneOf[b.Type.Name]) {
			if !slices.ContainsFunc(names, b.Has) && !l.elsewhere(b) {
				what := fmt.Sprintf("one of the properties %s", strings.Join(names, ", "))
				if len(names) == 1 {
					what = fmt.Sprintf("the property %q", names[0])
				}
				l.Found(b.within(), fmt.Sprintf("%s needs %s", b.Of, what), why[b.Type.Name])
			}
		}
		if zone := b.Type.Name == "OS::Designate::Zone"; zone && !b.Has("email") && l.isText(b.Get("type"), "PRIMARY") {
			l.Found(b.within(), b.Of+` needs the property "email", unless its type is SECONDARY`, "")
		}
	}
}

// isText says whether a property surely has a text, which it has, too, if it is not there.
func (l *Look) isText(n *yaml.Node, text string) bool {
	if n == nil {
		return true
	}
	v, known := l.Value(n)
	return known && v.Value == text
}
