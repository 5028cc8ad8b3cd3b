// Package signal signals to Heat how a server's roles ended, through a wait condition handle of the
// kind HEAT_SIGNAL.
//
// The handle's `signal` attribute, which Heat puts into the boot file, holds a
// user with its password but no token, and no URL of Heat: so a signal can be
// sent however long the roles took. The client authenticates with Keystone,
// finds Heat in the catalogue, and posts.
//
// Heat answers before it looks at the body, and drops what it does not understand without an error;
// the stack then waits until its timeout. So the body has exactly the keys that Heat knows, and
// every failure, of the network, of Keystone or of Heat, is retried with backoff until the context
// ends. A signal's id is the server's path: one that arrives twice overwrites itself.
package signal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hotc-dev/hotc/compiler/terminal"
)

// Handle is the address and the credentials of a handle. It never prints its password.
type Handle struct {
	authURL  string
	user     user
	project  string
	region   string
	stack    string
	stackID  string
	resource string
}

// Stack is the place of a handle, which is not in its signal attribute.
type Stack struct{ Name, ID, Resource string }

// ParseHandle reads the handle's `signal` attribute as Heat gives it.
func ParseHandle(text string, at Stack) (Handle, error) {
	var a struct {
		AuthURL  string `json:"auth_url"`
		Username string `json:"username"`
		UserID   string `json:"user_id"`
		Password string `json:"password"`
		Project  string `json:"project_id"`
		Domain   string `json:"domain_id"`
		Region   string `json:"region_name"`
	}
	// The text is not quoted in an error: it holds a password.
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return Handle{}, errors.New("the boot file's signal is not the JSON text of a HEAT_SIGNAL handle")
	}
	for key, value := range map[string]string{"auth_url": a.AuthURL, "password": a.Password, "project_id": a.Project,
		"user_id or username": a.UserID + a.Username} {
		if value == "" {
			return Handle{}, fmt.Errorf("the boot file's signal has no %s", key)
		}
	}
	if at.Name == "" || at.ID == "" || at.Resource == "" {
		return Handle{}, errors.New("the boot file has a signal, but not the stack's name and id and the handle's name")
	}
	h := Handle{authURL: identityURL(a.AuthURL), project: a.Project, region: a.Region,
		stack: at.Name, stackID: at.ID, resource: at.Resource}
	h.user = user{Name: a.Username, Password: a.Password}
	if a.Username == "" || a.Domain == "" {
		h.user = user{ID: a.UserID, Password: a.Password}
	} else {
		h.user.Domain = &domain{ID: a.Domain}
	}
	return h, nil
}

// identityURL is the version 3 URL of a Keystone, whatever its URL ends in.
func identityURL(text string) string {
	text = strings.TrimRight(text, "/")
	text = strings.TrimSuffix(text, "/v2.0")
	if strings.HasSuffix(text, "/v3") {
		return text
	}
	return text + "/v3"
}

// String names the handle without its password.
func (h Handle) String() string {
	return fmt.Sprintf("%s in stack %s/%s", h.resource, h.stack, h.stackID)
}

// GoString keeps the password out of %#v.
func (h Handle) GoString() string { return h.String() }

// Status is the result, in Heat's terms.
type Status string

// The statuses that Heat knows.
const (
	Success Status = "SUCCESS"
	Failure Status = "FAILURE"
)

// Signal is the body of a signal.
type Signal struct {
	Status Status `json:"status"`
	Reason string `json:"reason"`
	ID     string `json:"id"`
	// Data are the values the stack needs, by output.
	Data map[string]json.RawMessage `json:"data,omitempty"`
}

// MaxBody is how many bytes a request to heat-api may have.
const MaxBody = 1 << 20

// maxReason is how many bytes of a reason are sent. Heat keeps a part of it in
// the resource's status reason.
const maxReason = 1000

// ShortReason bounds a reason by omitting its middle: what happened is at its beginning, why at its
// end. It is shown in terminals, so control characters are escaped.
func ShortReason(text string) string {
	text = terminal.Visible(strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "))
	if len(text) <= maxReason {
		return text
	}
	const half = (maxReason - len(" … ")) / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}
