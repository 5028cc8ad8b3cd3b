package trace

import "slices"

// Reference stands for what get_resource gives, among a resource's attributes.
const Reference = ""

// secrets are what Heat gives of resources that is secret, by type and attribute (heat:
// engine/resources, each type's attributes_schema, _resolve_attribute and get_reference_id).
var secrets = map[string][]string{
	"AWS::IAM::AccessKey":              {"SecretAccessKey"},
	"OS::Barbican::Order":              {"private_key"},
	"OS::Barbican::Secret":             {"decrypted_payload"},
	"OS::Heat::RandomString":           {Reference, "value"},
	"OS::Neutron::IPsecSiteConnection": {"psk"},
	"OS::Nova::KeyPair":                {"private_key"},
}

// GivesSecrets says that something of a type of resource is a secret.
func GivesSecrets(resourceType string) bool { return secrets[resourceType] != nil }

// GivesSecret says that what Heat gives as an attribute of a type of resource is a secret.
func GivesSecret(resourceType, attribute string) bool {
	return slices.Contains(secrets[resourceType], attribute)
}
