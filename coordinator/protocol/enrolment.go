package protocol

import (
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A token that is valid for one enrolment allows one thing: to transfer the server's pass to an
// identity of the bearer's own, derived from a key that never leaves the machine. The pass holds
// the password of the identity that has a server's rights. It can be transferred only if its rights
// were never changed before, and only once (HandOver): so a token that others read, before or
// after, is worthless once its server is there, and a machine whose pass another user has taken, or
// only made readable, is not admitted by it. With the token, a later machine, with another key, can
// only ask for approval (approval.go), and an operator may admit it (deploy.Admit) by sealing the
// password for its key. See docs/secrets.md, "Tokens".

// Enrolment says how often a token lets a machine enrol as its server.
type Enrolment string

// The enrolments.
const (
	EnrolAlways Enrolment = ""     // each machine that has it
	EnrolOnce   Enrolment = "once" // the first one; an operator admits later ones
)

// PassRecord is what a machine gets for its token.
type PassRecord struct {
	Password string `json:"password"` // of the server's identity
}

// AdmissionRecord is a server's password, sealed for an admitted machine.
type AdmissionRecord struct {
	To  string `json:"to,omitempty"` // the ID of its key
	Box string `json:"box,omitempty"`
	Key string `json:"key,omitempty"`
}

// MemberCredential is the identity of a server where tokens are valid for one enrolment: a
// different one in each deployment of a name. A server's path never begins with a slash, so this is
// not a token.
func (s Secret) MemberCredential(d Deployment, live DeploymentRecord, server contract.ServerPath) store.Credential {
	created := live.Created.UTC().Format(time.RFC3339)
	return MemberCredential(server, s.digest(string(d)+":/members/"+created+"/"+string(server)))
}

// MemberCredential is that identity, from the password that its machine has.
func MemberCredential(server contract.ServerPath, password string) store.Credential {
	return store.Credential{User: "member-" + store.Segment(string(server)), Password: password}
}

// AdmissionPlace binds the box of an admission, and its key, to the server.
func (d Deployment) AdmissionPlace(server contract.ServerPath, part string) string {
	return fmt.Sprintf("hotc admission 1\n%s\n%s\n%s", d, server, part)
}
