package heattest

import (
	"path/filepath"
	"testing"
)

// Input is a template and its arguments, as on the command line of `openstack stack create`.
type Input struct {
	Template     string         // path of the file
	Environments []string       // -e, in order
	Parameters   map[string]any // --parameter
}

func (in Input) arguments() arguments {
	template, environments := absolute(in.Template), make([]string, 0, len(in.Environments))
	for _, path := range in.Environments {
		environments = append(environments, absolute(path))
	}
	parameters := in.Parameters
	if parameters == nil {
		parameters = map[string]any{}
	}
	return arguments{"path": template, "environments": environments, "parameters": parameters}
}

// absolute is a path that the oracle can open from its own working folder.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// Verdict is Heat's verdict on a template before it creates a stack from it.
type Verdict struct {
	Accepted bool
	Error    string // the exception's class and message, if refused
	// Warnings are what Heat logged meanwhile, and each use of a resource type or
	// property that it has deprecated.
	Warnings  []string
	Resources []TypedName // of the root stack
	Bytes     int         // of the client's request
}

// TypedName is a resource's name and type.
type TypedName struct {
	Name string
	Type string
}

// Validate checks everything that Heat checks when a stack is created, up to the point where it
// would start: the client's reading of all files, heat-api's limits, parsing, parameters, and the
// strict validation of every resource and output, nested stacks included.
func (j *Oracle) Validate(t testing.TB, in Input) Verdict {
	t.Helper()
	var v Verdict
	if err := j.ask("validate", in.arguments(), &v); err != nil {
		t.Fatalf("validating %s: %v", in.Template, err)
	}
	return v
}

// Accepts fails the test unless Heat accepts the template without a warning.
func (j *Oracle) Accepts(t testing.TB, in Input) Verdict {
	t.Helper()
	v := j.Validate(t, in)
	if !v.Accepted {
		t.Errorf("stock Heat refuses %s: %s", in.Template, v.Error)
	}
	for _, w := range v.Warnings {
		t.Errorf("stock Heat warns of %s: %s", in.Template, w)
	}
	return v
}

// Outage makes that many of the next requests to heat-api and Keystone fail with 503.
func (j *Oracle) Outage(t testing.TB, heat, keystone int) {
	t.Helper()
	if err := j.ask("outage", arguments{"heat": heat, "keystone": keystone}, nil); err != nil {
		t.Fatal(err)
	}
}

// ExpireTokens invalidates every token issued so far, as at the end of its lifetime. Passwords
// stay.
func (j *Oracle) ExpireTokens(t testing.TB) {
	t.Helper()
	if err := j.ask("expire_tokens", nil, nil); err != nil {
		t.Fatal(err)
	}
}

// ExpirePassword lets the password of a user expire, or be valid again.
func (j *Oracle) ExpirePassword(t testing.TB, user string, expired bool) {
	t.Helper()
	if err := j.ask("expire_password", arguments{"user": user, "expired": expired}, nil); err != nil {
		t.Fatal(err)
	}
}
