package hot

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotc-dev/hotc/compiler/source"
)

const cfnText = `AWSTemplateFormatVersion: 2010-09-09
Description: a template as CloudFormation has them
Parameters:
  flavor: {Type: String, Default: m1.small, AllowedValues: [m1.small, m1.large]}
  size: {Type: Number, MinValue: 1, MaxValue: 5}
  secret: {Type: String, NoEcho: true, AllowedPattern: "[a-z]+", ConstraintDescription: small letters}
Mappings:
  images: {east: {web: a, db: b}}
Conditions:
  large: {Fn::Equals: [{Ref: flavor}, m1.large]}
Resources:
  db:
    Type: OS::Nova::Server
    Condition: large
    DependsOn: [net]
    Properties: {flavor: {Ref: flavor}}
    Metadata: {a: b}
  net: {Type: OS::Neutron::Net}
Outputs:
  ip: {Value: {Fn::GetAtt: [db, first_address]}, Condition: large}
`

// The sections of a CloudFormation template are read like HOT's.
func TestCloudFormationTemplate(t *testing.T) {
	var diags source.Diagnostics
	template := ParseTemplate(source.NewFile("t.yaml", []byte(cfnText)), &diags)
	if template == nil || len(diags.All()) > 0 {
		t.Fatal(diags.All())
	}
	type parameter struct {
		Type   string
		Hidden bool
		Kinds  string
	}
	got := map[string]parameter{}
	for _, p := range template.Parameters {
		var kinds []string
		for _, c := range p.Constraints {
			kinds = append(kinds, c.Kind)
		}
		got[p.Name] = parameter{p.Type, p.Hidden, strings.Join(kinds, " ")}
	}
	want := map[string]parameter{"flavor": {"string", false, "allowed_values"}, "size": {"number", false, "range"}, "secret": {"string", true, "allowed_pattern"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	db := template.Resource("db")
	if db.Type != "OS::Nova::Server" || db.Condition == nil || db.DependsOn == nil || db.MetadataEntry("a") == nil || db.Property("flavor") == nil {
		t.Errorf("%+v", db)
	}
	for answer, want := range map[string]bool{"m1.large": true, "m1.small": false} {
		enabled, err := Fold(template.Enabled(db.Condition), func(call *Expr) (*Expr, error) { return Constant(answer, call.At), nil })
		if err != nil || enabled.Value != want {
			t.Errorf("with %s: %v %v", answer, enabled.Value, err)
		}
	}
	if f := template.Expr(db.Property("flavor")).Func; f.Meaning() != "get_param" || f.Name != "Ref" {
		t.Errorf("Ref of a parameter means %s", f.Meaning())
	}
}

// Diagnostics about a CloudFormation template use its keywords.
func TestCloudFormationDiagnostics(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an unknown version", "AWSTemplateFormatVersion: 2011-01-01\n", `unknown AWSTemplateFormatVersion 2011-01-01`},
		{"two versions", "AWSTemplateFormatVersion: 2010-09-09\nheat_template_version: 2018-08-31\n", `the template declares two versions, AWSTemplateFormatVersion and heat_template_version`},
		{"a section of HOT", "AWSTemplateFormatVersion: 2010-09-09\nresources: {}\n", `unknown section "resources" in version AWSTemplateFormatVersion 2010-09-09`},
		{"conditions in the older format", "HeatTemplateFormatVersion: 2012-12-12\nConditions: {}\n", `unknown section "Conditions" in version HeatTemplateFormatVersion 2012-12-12`},
		{"a type of HOT's", "HeatTemplateFormatVersion: 2012-12-12\nParameters: {p: {Type: string}}\n", `parameter "p": "string" is not a valid type`},
		{"a key of HOT's", "HeatTemplateFormatVersion: 2012-12-12\nResources: {r: {Type: A, properties: {}}}\n", `"r": Heat ignores the key "properties" of a resource`},
		{"a function of HOT's", "HeatTemplateFormatVersion: 2012-12-12\nResources: {r: {Type: A, Properties: {x: {get_attr: [r, y]}}}}\n",
			`get_attr is a function of HOT; in a CloudFormation template Heat reads it as data`},
		{"a resource without a type", "HeatTemplateFormatVersion: 2012-12-12\nResources: {r: {}}\n", `resource "r" has no type`},
	} {
		var diags source.Diagnostics
		ParseTemplate(source.NewFile("t.yaml", []byte(c.text)), &diags)
		if len(diags.All()) == 0 || diags.All()[0].Message != c.want {
			t.Errorf("%s: %v, want %s", c.name, diags.All(), c.want)
		}
	}
}
