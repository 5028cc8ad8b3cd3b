// Package heat is a client of Heat's API, with an operator's credentials: for `hotc up`, `down`,
// `relay`, `list` and `gc`, and for what `status` and `why` say of Heat. Agents do not use it; they signal through runtime/signal, which needs
// no library.
//
// gophercloud does the login. Requests and answers are handled here, since hotc sends templates as
// python-heatclient does and not as a YAML library would print them. Answers are bounded,
// repeatable requests are repeated, and every failure is a diagnostic with Heat's own message.
package heat

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/hotc-dev/hotc/compiler/source"
)

// Options select the cloud and the credentials.
type Options struct {
	// Cloud is one of clouds.yaml's; "" is $OS_CLOUD, and without that the OS_* variables.
	Cloud string
}

// Client is a client of one project's Heat. Its methods may be called concurrently.
type Client struct {
	service *gophercloud.ServiceClient
	name    string
	wait    time.Duration // before the first repetition

	restricted bool
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 64 << 20

// Connect logs in and finds Heat in the catalogue.
func Connect(ctx context.Context, o Options) (*Client, error) {
	who, where, secure, err := settings(o)
	if err != nil {
		return nil, err
	}
	who.AllowReauth = true
	if who.ApplicationCredentialID != "" || who.ApplicationCredentialName != "" {
		who.TenantID, who.TenantName, who.Scope = "", "", nil // it has its own project
	}
	within, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	provider, err := config.NewProviderClient(within, who, config.WithHTTPClient(http.Client{Transport: transport(secure), CheckRedirect: stay}))
	if err != nil {
		return nil, loginError(ctx, who.IdentityEndpoint, err)
	}
	service, err := openstack.NewOrchestrationV1(provider, where)
	if err != nil {
		message := "the cloud's catalogue has no Heat (orchestration)"
		if where.Region != "" {
			message += " in the region " + where.Region
		}
		return nil, source.Fail(source.NoHeat, message, "is Heat installed there? The region is $OS_REGION_NAME, or region_name in clouds.yaml")
	}
	return &Client{service: service, name: hostOf(service.Endpoint), wait: firstWait, restricted: restricted(provider)}, nil
}

// Restricted reports whether the credentials are an application credential that may not create
// trusts. Heat creates one for every stack with wait conditions, deployments or scaling groups.
func (c *Client) Restricted() bool { return c.restricted }

func restricted(provider *gophercloud.ProviderClient) bool {
	made, is := provider.GetAuthResult().(tokens.CreateResult)
	if !is {
		return false
	}
	var token struct {
		Credential struct{ Restricted bool } `json:"application_credential"`
	}
	return made.ExtractInto(&token) == nil && token.Credential.Restricted
}

// Host is Heat's host, for messages.
func (c *Client) Host() string { return c.name }

// Selected reports whether the environment names a cloud.
func Selected() bool { return os.Getenv("OS_CLOUD") != "" || os.Getenv("OS_AUTH_URL") != "" }

// settings are the credentials, the region and TLS of options or the environment.
func settings(o Options) (who gophercloud.AuthOptions, where gophercloud.EndpointOpts, secure *tls.Config, err error) {
	cloud := cmp.Or(o.Cloud, os.Getenv("OS_CLOUD"))
	if cloud != "" {
		who, where, secure, err = clouds.Parse(clouds.WithCloudName(cloud))
		if err != nil {
			return who, where, nil, source.Fail(source.NoHeat, "the cloud "+cloud+" cannot be used: "+err.Error(), "clouds.yaml is looked up in this folder, in ~/.config/openstack and /etc/openstack, and at $OS_CLIENT_CONFIG_FILE")
		}
		return who, where, secure, nil
	}
	if !Selected() {
		return who, where, nil, source.Fail(source.NoHeat, "no cloud is selected", "set $OS_CLOUD to one in clouds.yaml, or source the cloud's openrc file, which sets $OS_AUTH_URL and others")
	}
	who = fromVariables(os.Getenv)
	where.Region = os.Getenv("OS_REGION_NAME")
	where.Availability = availability(first(os.Getenv, "OS_INTERFACE", "OS_ENDPOINT_TYPE"))
	secure, err = tlsFromVariables(os.Getenv)
	return who, where, secure, err
}

// fromVariables reads the OS_* variables as the openstack client does.
func fromVariables(get func(string) string) gophercloud.AuthOptions {
	who := gophercloud.AuthOptions{
		IdentityEndpoint:            get("OS_AUTH_URL"),
		Username:                    get("OS_USERNAME"),
		UserID:                      first(get, "OS_USER_ID", "OS_USERID"),
		Password:                    get("OS_PASSWORD"),
		TokenID:                     get("OS_TOKEN"),
		TenantID:                    first(get, "OS_PROJECT_ID", "OS_TENANT_ID"),
		TenantName:                  first(get, "OS_PROJECT_NAME", "OS_TENANT_NAME"),
		ApplicationCredentialID:     get("OS_APPLICATION_CREDENTIAL_ID"),
		ApplicationCredentialName:   get("OS_APPLICATION_CREDENTIAL_NAME"),
		ApplicationCredentialSecret: get("OS_APPLICATION_CREDENTIAL_SECRET"),
	}
	if who.UserID == "" {
		who.DomainID = first(get, "OS_USER_DOMAIN_ID", "OS_DOMAIN_ID", "OS_DEFAULT_DOMAIN_ID")
		if who.DomainID == "" {
			who.DomainName = first(get, "OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME", "OS_DEFAULT_DOMAIN_NAME", "OS_DEFAULT_DOMAIN")
		}
		if who.Username != "" && who.DomainID == "" && who.DomainName == "" {
			who.DomainID = "default"
		}
	} else {
		who.Username = ""
	}
	scope := gophercloud.AuthScope{ProjectID: who.TenantID, ProjectName: who.TenantName}
	if scope.ProjectID != "" {
		scope.ProjectName = ""
	} else if scope.ProjectName != "" {
		scope.DomainID = first(get, "OS_PROJECT_DOMAIN_ID", "OS_DOMAIN_ID", "OS_DEFAULT_DOMAIN_ID")
		if scope.DomainID == "" {
			scope.DomainName = first(get, "OS_PROJECT_DOMAIN_NAME", "OS_DOMAIN_NAME", "OS_DEFAULT_DOMAIN_NAME", "OS_DEFAULT_DOMAIN")
		}
		if scope.DomainID == "" && scope.DomainName == "" {
			scope.DomainID = "default"
		}
	}
	if scope != (gophercloud.AuthScope{}) {
		who.Scope = &scope
	}
	return who
}

func first(get func(string) string, names ...string) string {
	for _, name := range names {
		if value := get(name); value != "" {
			return value
		}
	}
	return ""
}

func availability(name string) gophercloud.Availability {
	switch strings.TrimSuffix(name, "URL") {
	case "internal":
		return gophercloud.AvailabilityInternal
	case "admin":
		return gophercloud.AvailabilityAdmin
	}
	return gophercloud.AvailabilityPublic
}

func tlsFromVariables(get func(string) string) (*tls.Config, error) {
	c := &tls.Config{}
	if path := get("OS_CACERT"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, source.Fail(source.NoHeat, "$OS_CACERT cannot be read: "+err.Error(), "")
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, source.Fail(source.NoHeat, "$OS_CACERT: "+path+" contains no certificate", "use a PEM file")
		}
	}
	if path := get("OS_CERT"); path != "" {
		pair, err := tls.LoadX509KeyPair(path, get("OS_KEY"))
		if err != nil {
			return nil, source.Fail(source.NoHeat, "$OS_CERT and $OS_KEY cannot be used: "+err.Error(), "")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	c.InsecureSkipVerify, _ = strconv.ParseBool(get("OS_INSECURE"))
	return c, nil
}

// transport bounds every answer, including gophercloud's own requests.
func transport(secure *tls.Config) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = secure
	t.DialContext = (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	return bounded{t}
}

// stay keeps a redirection, with which Heat returns a stack's full address, on the catalogue's
// host: behind a proxy Heat may name another one, or one without TLS, and the token must not be
// sent elsewhere.
func stay(r *http.Request, via []*http.Request) error {
	if len(via) >= mostRedirections {
		return errRedirections
	}
	r.URL.Scheme, r.URL.Host, r.Host = via[0].URL.Scheme, via[0].URL.Host, via[0].Host
	return nil
}

const mostRedirections = 5

var errRedirections = errors.New("too many redirections")

type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err
}
