// Package socket is how a role's processes reach its values: a unix socket in
// the role's run folder, and a protocol so small that an interceptor in any
// language can speak it.
//
// A request is a line of JSON, its answer another; a connection may carry any
// number of them, one after the other:
//
//	{"get":"endpoint"}                    → {"value":"mysql://db"}   once it is there
//	{"put":"port","value":3306}           → {}                       once it is published
//	{"put":"motd","text":"as printed\n"}  → {}                       read by the output's type
//	anything that went wrong              → {"error":"…"}
//
// Closing the connection cancels a waiting read. Only the role's own declared names are served,
// whoever asks; the socket's mode is 0600, its folder's 0700.
package socket

import "encoding/json"

// MaxRequest bounds a request, in bytes. The coordinator's limit on values is smaller.
const MaxRequest = 16 << 20

// Variable is the environment variable that names the socket.
const Variable = "HOTC_SOCKET"

type request struct {
	Get   *string         `json:"get,omitempty"`
	Put   *string         `json:"put,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Text  *string         `json:"text,omitempty"`
}

type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}
