package hot

// Keywords are the names of the sections in a template format, and of the keys in them.
type Keywords struct {
	Description, Parameters, Conditions, Resources, Outputs string // sections

	Type, Properties, Metadata, DependsOn, DeletionPolicy, UpdatePolicy, Condition string // of a resource

	Default, Hidden string // of a parameter
	Value           string // of an output

	If string // the function
}

var hotKeywords = Keywords{
	Description: "description", Parameters: "parameters", Conditions: "conditions", Resources: "resources", Outputs: "outputs",
	Type: "type", Properties: "properties", Metadata: "metadata", DependsOn: "depends_on", DeletionPolicy: "deletion_policy",
	UpdatePolicy: "update_policy", Condition: "condition", Default: "default", Hidden: "hidden", Value: "value",
	If: "if",
}

var cfnKeywords = Keywords{
	Description: "Description", Parameters: "Parameters", Conditions: "Conditions", Resources: "Resources", Outputs: "Outputs",
	Type: "Type", Properties: "Properties", Metadata: "Metadata", DependsOn: "DependsOn", DeletionPolicy: "DeletionPolicy",
	UpdatePolicy: "UpdatePolicy", Condition: "Condition", Default: "Default", Hidden: "NoEcho", Value: "Value",
	If: "Fn::If",
}

// Keywords are those of the version's format.
func (v Version) Keywords() *Keywords {
	if v.CFN() {
		return &cfnKeywords
	}
	return &hotKeywords
}

// The pseudo parameters of every stack; CloudFormation's contain the stack's id only
// as part of an ARN (heat/engine/cfn/parameters.py).
const (
	StackName    = "OS::stack_name"
	StackID      = "OS::stack_id"
	CFNStackName = "AWS::StackName"
	CFNStackID   = "AWS::StackId"
	CFNRegion    = "AWS::Region"
)

// PseudoParameters are the pseudo parameters of every stack, without OS::region: Heat
// knows the name but sets no value.
func (v Version) PseudoParameters() []string {
	if v.CFN() {
		return []string{CFNStackID, CFNStackName, CFNRegion}
	}
	return []string{StackID, StackName, "OS::project_id"}
}
