package coordinator

import (
	"fmt"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
)

// A token that is good for one enrolment lets its bearer do one thing: hand the
// server's pass over to an identity of the bearer's own, made of a key that never
// leaves the machine. The pass holds the password of the identity that may do what a
// server may. It is handed over only if nobody has changed who may read it, and not
// twice (Store.HandOver): so a token that others read, before or after, is worth nothing
// once its server is there, and a server whose pass somebody has taken, or only made
// readable, is not let in by it. To a machine that comes later, with another key, the
// token only allows to say so (approval.go), and an operator may let it in (deploy.Admit), by
// sealing the password for its key. See docs/secrets.md, "Tokens".

// Enrolment says how often a token lets a machine become its server.
type Enrolment string

// The enrolments.
const (
	EnrolAlways Enrolment = ""     // each machine that has it
	EnrolOnce   Enrolment = "once" // the first one; later ones an operator lets in
)

// PassRecord is what a machine gets for its token.
type PassRecord struct {
	Password string `json:"password"` // of the server's identity
}

// AdmissionRecord is a server's password, sealed for a machine that was let in.
type AdmissionRecord struct {
	To  string `json:"to,omitempty"` // the ID of its key
	Box string `json:"box,omitempty"`
	Key string `json:"key,omitempty"`
}

// MemberCredential is the identity of a server where tokens are good for one
// enrolment: another one in each deployment of a name. A server's path begins with no
// slash, so this is nobody's token.
func (s Secret) MemberCredential(d Deployment, live DeploymentRecord, server contract.ServerPath) Credential {
	created := live.Created.UTC().Format(time.RFC3339)
	return MemberCredential(server, s.digest(string(d)+":/members/"+created+"/"+string(server)))
}

// MemberCredential is that identity as its machine has it.
func MemberCredential(server contract.ServerPath, password string) Credential {
	return Credential{User: "member-" + Segment(string(server)), Password: password}
}

// AdmissionPlace is what the box of an admission, and its key, belong to.
func (d Deployment) AdmissionPlace(server contract.ServerPath, part string) string {
	return fmt.Sprintf("hotc admission 1\n%s\n%s\n%s", d, server, part)
}
