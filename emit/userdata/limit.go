package userdata

// Base64Limit is what Nova takes of user-data after base64, in bytes
// (nova.api.openstack.compute.schemas.servers, user_data's maxLength).
const Base64Limit = 65535

// Base64Size is the size of a text of so many bytes once Heat has encoded it.
func Base64Size(raw int) int { return (raw + 2) / 3 * 4 }
