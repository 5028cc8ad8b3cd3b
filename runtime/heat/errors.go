package heat

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/hotc-dev/hotc/compiler/source"
)

var (
	// ErrNotFound says that there is no such stack, resource or deployment.
	ErrNotFound = errors.New("not found")
	// ErrExists says that a stack has the name already.
	ErrExists = errors.New("exists")
	// ErrUnreachable says that nobody answered, or nobody who could: the same again later may
	// succeed.
	ErrUnreachable = errors.New("unreachable")
	// ErrForbidden says that who asks may not.
	ErrForbidden = errors.New("forbidden")

	errNoAnswer = errors.New("no answer in time")
)

// Refused says that Heat has looked at a request and does not want it.
func Refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == 400
}

// Error is a request that failed. It is a diagnostic (errors.As), and one of the Err… above
// where that is known (errors.Is).
type Error struct {
	// Status is HTTP's; 0 if there was no answer.
	Status int
	// Kind is Heat's name of the failure, StackValidationFailed.
	Kind string
	// Said is what Heat says.
	Said       string
	diagnostic *source.Diagnostic
	is         error
}

func (e *Error) Error() string { return e.diagnostic.Error() }

// Unwrap gives the diagnostic and what errors.Is asks for.
func (e *Error) Unwrap() []error {
	if e.is == nil {
		return []error{e.diagnostic}
	}
	return []error{e.diagnostic, e.is}
}

// garbledError is an answer that is not what Heat's API says.
type garbledError struct{ error }

// explain makes an *Error of what went wrong.
func (c *Client) explain(ctx context.Context, r request, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	status, is := unexpected(err)
	if !is {
		return noReply("Heat at "+c.name, err)
	}
	e := &Error{Status: status.Actual}
	e.Kind, e.Said = fault(status.Body)
	e.diagnostic, e.is = e.describe(c.name, r, status)
	return e
}

// unexpected is the status that gophercloud did not expect, wherever it has wrapped it.
func unexpected(err error) (gophercloud.ErrUnexpectedResponseCode, bool) {
	if status, is := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); is {
		return status, true
	}
	if again, is := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); is {
		return unexpected(again.ErrReauth)
	}
	if after, is := errors.AsType[*gophercloud.ErrErrorAfterReauthentication](err); is {
		return unexpected(after.ErrOriginal)
	}
	return gophercloud.ErrUnexpectedResponseCode{}, false
}

// quota is what a refusal says that is about how much a project may have, and about no right.
var quota = regexp.MustCompile(`(?i)\bquotas?\b|maximum (number of )?stacks`)

func (e *Error) describe(name string, r request, status gophercloud.ErrUnexpectedResponseCode) (*source.Diagnostic, error) {
	said := cmp.Or(e.Said, fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	refused := func(hint string) *source.Diagnostic {
		return source.Fail(source.HeatRefused, "Heat refuses: "+said, hint)
	}
	switch {
	case e.Status == http.StatusNotFound:
		return refused(""), ErrNotFound
	case e.Status == http.StatusConflict && e.Kind == "StackExists":
		return refused("take another name for the stack"), ErrExists
	case e.Status == http.StatusConflict:
		return refused("another action on the stack has not ended: try again when it has"), nil
	case e.Status == http.StatusUnauthorized:
		return source.Fail(source.NoHeat, "Heat does not accept the credentials: "+said, "a token may have expired, or the credentials been withdrawn: log in again ($OS_CLOUD, or the OS_* variables)"), ErrForbidden
	case e.Status < 500 && quota.MatchString(said):
		return refused("delete what is no longer needed (hotc list), or ask for a larger quota"), nil
	case strings.HasSuffix(e.Kind, "LimitExceeded"): // of a template's size, and of a stack's resources (which is 403)
		return refused("--limit tells hotc the cloud's limits, so that it says where the template goes over them"), nil
	case e.Status == http.StatusForbidden:
		return refused("these credentials may not do that (" + r.method + " " + strings.Join(r.path, "/") + "): the project's administrator can say what they may; an application credential may be restricted"), ErrForbidden
	case e.Status == http.StatusRequestEntityTooLarge:
		return refused("the request is larger than this cloud takes: --limit tells hotc the cloud's limits before it asks"), nil
	case e.Status == http.StatusServiceUnavailable, e.Status == http.StatusTooManyRequests, e.Status == http.StatusBadGateway, e.Status == http.StatusGatewayTimeout:
		return source.Fail(source.NoHeat, fmt.Sprintf("Heat at %s does not serve now: %s", name, said), "try again later"), ErrUnreachable
	case e.Status >= 500:
		id := status.ResponseHeader.Get("X-Openstack-Request-Id")
		hint := "the cloud's operator finds the reason in heat-engine's log"
		if id != "" {
			hint += ", request " + id
		}
		return source.Fail(source.NoHeat, fmt.Sprintf("Heat at %s failed: %s", name, said), hint), ErrUnreachable
	}
	return refused(""), nil
}

// fault reads what Heat, or Keystone, says in the body of a refusal.
func fault(body []byte) (kind, said string) {
	var f struct {
		Explanation string `json:"explanation"`
		Error       struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &f) != nil {
		return "", short(string(body))
	}
	said = cmp.Or(f.Error.Message, f.Explanation)
	return f.Error.Type, short(said)
}

// short is a text of others' in one line of bounded length.
func short(text string) string {
	const most = 2000
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// noReply is an error of the way to a service.
func noReply(who string, err error) error {
	e := &Error{is: ErrUnreachable}
	var garbled *garbledError
	switch message := tlsMessage(err); {
	case message != "":
		e.is = nil
		e.diagnostic = source.Fail(source.NoHeat, who+": "+message, "the CA's file is $OS_CACERT, or cacert in clouds.yaml")
	case errors.As(err, &garbled):
		e.is = nil
		e.diagnostic = source.Fail(source.NoHeat, who+" answers what is not an answer of Heat's: "+short(err.Error()), "is that Heat, or something in between?")
	default:
		e.diagnostic = source.Fail(source.NoHeat, "no answer from "+who+": "+cause(err), "is the address right, does it run, and does a firewall let you through?")
	}
	return e
}

// cause is the last part of a chain, where it is the operating system's.
func cause(err error) string {
	if dns, is := errors.AsType[*net.DNSError](err); is {
		return dns.Error()
	}
	if op, is := errors.AsType[*net.OpError](err); is {
		return op.Err.Error()
	}
	if _, is := errors.AsType[*http.MaxBytesError](err); is {
		return "the answer is larger than hotc reads"
	}
	return short(err.Error())
}

// tlsMessage says what is wrong with a certificate; "" if that is not it.
func tlsMessage(err error) string {
	if unknown, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return "its certificate is not trusted: " + unknown.Error()
	}
	if host, is := errors.AsType[x509.HostnameError](err); is {
		return "its certificate is for another name: " + host.Error()
	}
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is {
		return "its certificate is not good: " + invalid.Error()
	}
	if record, is := errors.AsType[tls.RecordHeaderError](err); is {
		return "it does not speak TLS: " + record.Error()
	}
	if alert, is := errors.AsType[tls.AlertError](err); is {
		return "it refuses TLS: " + alert.Error()
	}
	return ""
}

// loginError says why there is no session with Keystone.
func loginError(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	who := "Keystone at " + hostOf(address)
	status, is := unexpected(err)
	if !is {
		if _, away := errors.AsType[net.Error](err); away || tlsMessage(err) != "" || err == errNoAnswer {
			return noReply(who, err)
		}
		return source.Fail(source.NoHeat, "the credentials cannot be used: "+short(err.Error()), "$OS_CLOUD names one of clouds.yaml's; else the OS_* variables of the cloud's openrc file are taken")
	}
	e := &Error{Status: status.Actual}
	e.Kind, e.Said = fault(status.Body)
	switch status.Actual {
	case http.StatusUnauthorized:
		e.is = ErrForbidden
		e.diagnostic = source.Fail(source.NoHeat, who+" does not accept the credentials: "+e.Said, "are user, password, project and their domains right ($OS_CLOUD, or the OS_* variables)? An application credential may have expired")
	case http.StatusNotFound:
		e.diagnostic = source.Fail(source.NoHeat, who+" has no such address: "+address, "$OS_AUTH_URL, or auth_url in clouds.yaml, usually ends in /v3")
	default:
		if status.Actual >= 500 || status.Actual == http.StatusTooManyRequests {
			e.is = ErrUnreachable
		}
		e.diagnostic = source.Fail(source.NoHeat, fmt.Sprintf("%s does not let us in: %d %s", who, status.Actual, e.Said), "")
	}
	return e
}
