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
	// ErrExists says that a stack already has the name.
	ErrExists = errors.New("exists")
	// ErrUnreachable says that there was no answer, or that the service is unavailable: a later
	// attempt may succeed.
	ErrUnreachable = errors.New("unreachable")
	// ErrForbidden says that the credentials are not sufficient.
	ErrForbidden = errors.New("forbidden")

	errNoAnswer = errors.New("no answer in time")
)

// Refused reports whether Heat has rejected a request as invalid.
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
	// Said is Heat's message.
	Said       string
	diagnostic *source.Diagnostic
	is         error
}

func (e *Error) Error() string { return e.diagnostic.Error() }

// Unwrap returns the diagnostic and the Err… value, if any.
func (e *Error) Unwrap() []error {
	if e.is == nil {
		return []error{e.diagnostic}
	}
	return []error{e.diagnostic, e.is}
}

// garbledError is an answer that is not from Heat's API.
type garbledError struct{ error }

// explain turns a failure into an *Error.
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

// unexpected is the HTTP status error, however gophercloud has wrapped it.
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

// quota matches refusals because of a quota, rather than missing rights.
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
		return refused("another action on the stack is in progress: try again when it has ended"), nil
	case e.Status == http.StatusUnauthorized:
		return source.Fail(source.NoHeat, "Heat does not accept the credentials: "+said, "a token may have expired, or the credentials were revoked: log in again ($OS_CLOUD, or the OS_* variables)"), ErrForbidden
	case e.Status < 500 && quota.MatchString(said):
		return refused("delete what is no longer needed (hotc list), or ask for a larger quota"), nil
	case strings.HasSuffix(e.Kind, "LimitExceeded"): // of a template's size, and of a stack's resources (which is 403)
		return refused("set the cloud's limits with --limit: hotc then reports where the template exceeds them"), nil
	case e.Status == http.StatusForbidden:
		return refused("these credentials may not do that (" + r.method + " " + strings.Join(r.path, "/") + "): ask the project's administrator for the rights; an application credential may be restricted"), ErrForbidden
	case e.Status == http.StatusRequestEntityTooLarge:
		return refused("the request is larger than this cloud accepts: set the cloud's limits with --limit"), nil
	case e.Status == http.StatusServiceUnavailable, e.Status == http.StatusTooManyRequests, e.Status == http.StatusBadGateway, e.Status == http.StatusGatewayTimeout:
		return source.Fail(source.NoHeat, fmt.Sprintf("Heat at %s is unavailable: %s", name, said), "try again later"), ErrUnreachable
	case e.Status >= 500:
		id := status.ResponseHeader.Get("X-Openstack-Request-Id")
		hint := "the cloud's operator can find the reason in heat-engine's log"
		if id != "" {
			hint += ", request " + id
		}
		return source.Fail(source.NoHeat, fmt.Sprintf("Heat at %s failed: %s", name, said), hint), ErrUnreachable
	}
	return refused(""), nil
}

// fault reads Heat's, or Keystone's, message from the body of a refusal.
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

// short is a foreign text in one line of bounded length.
func short(text string) string {
	const most = 2000
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

// noReply is an error on the way to a service.
func noReply(who string, err error) error {
	e := &Error{is: ErrUnreachable}
	var garbled *garbledError
	switch message := tlsMessage(err); {
	case message != "":
		e.is = nil
		e.diagnostic = source.Fail(source.NoHeat, who+": "+message, "the CA's file is $OS_CACERT, or cacert in clouds.yaml")
	case errors.As(err, &garbled):
		e.is = nil
		e.diagnostic = source.Fail(source.NoHeat, who+" does not answer like Heat: "+short(err.Error()), "is that Heat, or a proxy in front of it?")
	default:
		e.diagnostic = source.Fail(source.NoHeat, "no answer from "+who+": "+cause(err), "is the address right, is the service running, and does a firewall block it?")
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
		return "the answer is too large"
	}
	return short(err.Error())
}

// tlsMessage says what is wrong with TLS; "" if the error has another reason.
func tlsMessage(err error) string {
	if unknown, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return "its certificate is not trusted: " + unknown.Error()
	}
	if host, is := errors.AsType[x509.HostnameError](err); is {
		return "its certificate is for another name: " + host.Error()
	}
	if invalid, is := errors.AsType[x509.CertificateInvalidError](err); is {
		return "its certificate is invalid: " + invalid.Error()
	}
	if record, is := errors.AsType[tls.RecordHeaderError](err); is {
		return "it does not speak TLS: " + record.Error()
	}
	if alert, is := errors.AsType[tls.AlertError](err); is {
		return "it refuses TLS: " + alert.Error()
	}
	return ""
}

// loginError explains why the login failed.
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
		return source.Fail(source.NoHeat, "the credentials cannot be used: "+short(err.Error()), "set $OS_CLOUD to a cloud in clouds.yaml, or the OS_* variables from the cloud's openrc file")
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
		e.diagnostic = source.Fail(source.NoHeat, fmt.Sprintf("the login at %s failed: %d %s", who, status.Actual, e.Said), "")
	}
	return e
}
