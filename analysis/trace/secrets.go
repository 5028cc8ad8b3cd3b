package trace

import "slices"

// Reference represents the value of get_resource among a resource's attributes.
const Reference = ""

// secrets are the secret attributes of resources, by type (heat: engine/resources, each
// type's attributes_schema, _resolve_attribute and get_reference_id).
var secrets = map[string][]string{
	"AWS::IAM::AccessKey":              {"SecretAccessKey"},
	"OS::Barbican::Order":              {"private_key"},
	"OS::Barbican::Secret":             {"decrypted_payload"},
	"OS::Heat::RandomString":           {Reference, "value"},
	"OS::Neutron::IPsecSiteConnection": {"psk"},
	"OS::Nova::KeyPair":                {"private_key"},
}

// GivesSecrets says whether any attribute of a resource type is a secret.
func GivesSecrets(resourceType string) bool { return secrets[resourceType] != nil }

// GivesSecret says whether an attribute of a resource type is a secret.
func GivesSecret(resourceType, attribute string) bool {
	return slices.Contains(secrets[resourceType], attribute)
}
