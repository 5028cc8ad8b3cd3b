package userdata

// Base64Limit is what Nova takes of user-data after base64, in bytes
// (nova.api.openstack.compute.schemas.servers, user_data's maxLength).
const Base64Limit = 65535

// RawLimit is what that is before base64: every three bytes become four.
const RawLimit = Base64Limit / 4 * 3

// BootReserve is what the compiler should leave, besides the static text, for what
// Heat fills in: token, identifiers and the signal's credentials with long names.
const BootReserve = 2048

// Base64Size is the size of a text of so many bytes once Heat has encoded it.
func Base64Size(raw int) int { return (raw + 2) / 3 * 4 }
