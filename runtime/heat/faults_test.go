package heat_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotc-dev/hotc/runtime/heat"
)

func TestOutagesAndTokensThatExpireAreOvercome(t *testing.T) {
	c := logIn(t)
	j := shared.Oracle(t)
	j.Outage(t, 2, 0)
	if _, err := c.Stacks(t.Context()); err != nil {
		t.Errorf("after two answers of 503: %v", err)
	}
	j.ExpireTokens(t)
	if _, err := c.Stacks(t.Context()); err != nil {
		t.Errorf("with a token that has expired: %v", err)
	}
	j.Outage(t, 1000, 0)
	_, err := c.Stacks(t.Context())
	j.Outage(t, 0, 0)
	expect(t, "a long outage", err, "H710", "is unavailable", "out of order")
	if !errors.Is(err, heat.ErrUnreachable) {
		t.Error("an outage is not ErrUnreachable")
	}
}

// played is a cloud whose Heat answers as a test wants.
func played(t *testing.T, heatAPI http.HandlerFunc) *heat.Client {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v3/auth/tokens" {
			heatAPI(w, r)
			return
		}
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"application_credential": map[string]any{"restricted": true}, "expires_at": "2099-01-01T00:00:00.000000Z", "catalog": []any{map[string]any{
			"type": "orchestration", "name": "heat", "endpoints": []any{map[string]any{"id": "1", "interface": "public", "region": "R", "region_id": "R", "url": server.URL + "/v1/p"}}}}}})
	}))
	t.Cleanup(server.Close)
	clearVariables(t)
	t.Setenv("OS_AUTH_URL", server.URL+"/v3")
	t.Setenv("OS_APPLICATION_CREDENTIAL_ID", "id")
	t.Setenv("OS_APPLICATION_CREDENTIAL_SECRET", "s")
	c, err := heat.Connect(t.Context(), heat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAnswersOfClouds(t *testing.T) {
	empty := template(t, "heat_template_version: 2018-08-31\n")
	for name, x := range map[string]struct {
		status int
		body   string
		want   []string
		is     error
		calls  int32
	}{
		"quota":     {403, `{"code":403,"error":{"type":"Forbidden","message":"You have reached the maximum stacks per tenant, 100. Please delete some stacks.","traceback":null},"explanation":"Access was denied"}`, []string{"H711", "reached the maximum stacks per tenant, 100", "larger quota"}, nil, 1},
		"taken":     {409, `{"code":409,"error":{"type":"StackExists","message":"The Stack (s) already exists."},"explanation":"There was a conflict"}`, []string{"H711", "already exists"}, heat.ErrExists, 1},
		"limits":    {400, `{"code":400,"error":{"type":"RequestLimitExceeded","message":"Request limit exceeded: Template size (600000 bytes) exceeds maximum allowed size (524288 bytes)."}}`, []string{"H711", "524288", "--limit"}, nil, 1},
		"policy":    {403, `{"explanation":"You are not authorized to complete this action."}`, []string{"H711", "not authorized", "POST stacks"}, heat.ErrForbidden, 1},
		"a failure": {500, `{"explanation":"The server has either erred or is incapable of performing the requested operation.","error":{"message":"RPC timed out","type":"MessagingTimeout"}}`, []string{"H710", "RPC timed out", "req-1"}, heat.ErrUnreachable, 1},
		"a proxy":   {502, "<html>\nbad gateway</html>", []string{"H710", "<html> bad gateway</html>"}, heat.ErrUnreachable, 1},
		"nonsense":  {201, "<html>welcome</html>", []string{"H710", "does not answer like Heat"}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			c := played(t, func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				w.Header().Set("X-Openstack-Request-Id", "req-1")
				w.WriteHeader(x.status)
				_, _ = w.Write([]byte(x.body))
			})
			_, err := c.Create(t.Context(), "s", empty, heat.StackOptions{})
			expect(t, name, err, x.want...)
			if x.is != nil && !errors.Is(err, x.is) {
				t.Errorf("%v is not %v", err, x.is)
			}
			if calls.Load() != x.calls {
				t.Errorf("a creation was asked for %d times", calls.Load())
			}
		})
	}
}

func TestARestrictedApplicationCredentialIsKnown(t *testing.T) {
	if !played(t, http.NotFound).Restricted() {
		t.Error("a restricted application credential is not noticed")
	}
	if logIn(t).Restricted() {
		t.Error("a password is taken for a restricted application credential")
	}
}

func TestAnEndlessAnswerIsCutOff(t *testing.T) {
	c := played(t, func(w http.ResponseWriter, _ *http.Request) {
		for line := bytes.Repeat([]byte(" "), 1<<16); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	})
	_, err := c.Stacks(t.Context())
	expect(t, "endless", err, "H710", "the answer is too large")
}

// Heat redirects to a stack's whole address, which behind a proxy may be another's: the token
// goes nowhere but where the catalogue says.
func TestRedirectionsStayWhereHeatIs(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("somebody else was asked, with the token %q", r.Header.Get("X-Auth-Token"))
	}))
	defer elsewhere.Close()
	c := played(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/p/stacks/s":
			http.Redirect(w, r, elsewhere.URL+"/v1/p/stacks/s/id", http.StatusFound)
		case "/v1/p/stacks/s/id":
			_, _ = w.Write([]byte(`{"stack":{"stack_name":"s","id":"id","stack_status":"CREATE_COMPLETE"}}`))
		default:
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}
	})
	if s, err := c.Stack(t.Context(), "s"); err != nil || s.ID != "id" {
		t.Errorf("%+v, %v", s, err)
	}
	_, err := c.Stack(t.Context(), "round")
	expect(t, "a circle", err, "H710", "too many redirections")
}

// A list ends, whatever Heat makes of the marker.
func TestListsOfStacksEnd(t *testing.T) {
	same := played(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"stacks":[{"stack_name":"a","id":"1"},{"stack_name":"b","id":"2"}]}`))
	})
	if all, err := same.Stacks(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("markers that are ignored: %v, %v", all, err)
	}
	page, n := strings.Repeat(`{"id":"1"},`, 20_000), atomic.Int32{}
	more := played(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"stacks":[%s{"id":"%d"}]}`, page, n.Add(1)+1)
	})
	_, err := more.Stacks(t.Context())
	expect(t, "a list without an end", err, "H710", "more than 100000 stacks")
}

func TestACertificateNobodyTrusts(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	clearVariables(t)
	t.Setenv("OS_AUTH_URL", server.URL+"/v3")
	t.Setenv("OS_USERNAME", "u")
	t.Setenv("OS_PASSWORD", "p")
	_, err := heat.Connect(t.Context(), heat.Options{})
	expect(t, "an unknown CA", err, "H710", "not trusted", "OS_CACERT")
}

// A cloud with a CA of its own is trusted by $OS_CACERT, and by clouds.yaml's cacert; one whose
// catalogue has no Heat is told so.
func TestACAOfOnesOwn(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Subject-Token", "token")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":{"expires_at":"2099-01-01T00:00:00.000000Z","catalog":[]}}`))
	}))
	defer server.Close()
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.pem")
	write(t, dir, map[string]string{
		"ca.pem":      string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})),
		"empty.pem":   "",
		"clouds.yaml": "clouds:\n  own:\n    auth: {auth_url: '" + server.URL + "/v3', username: u, password: p, project_id: p, user_domain_name: Default}\n    cacert: " + ca + "\n",
	})
	clearVariables(t)
	for name, value := range map[string]string{"OS_AUTH_URL": server.URL + "/v3", "OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_PROJECT_ID": "p", "OS_CACERT": ca} {
		t.Setenv(name, value)
	}
	_, err := heat.Connect(t.Context(), heat.Options{})
	expect(t, "its own CA", err, "H710", "catalogue has no Heat")
	t.Setenv("OS_CACERT", filepath.Join(dir, "empty.pem"))
	_, err = heat.Connect(t.Context(), heat.Options{})
	expect(t, "no CA", err, "H710", "contains no certificate")
	t.Setenv("OS_CACERT", "")
	t.Setenv("OS_CLIENT_CONFIG_FILE", filepath.Join(dir, "clouds.yaml"))
	_, err = heat.Connect(t.Context(), heat.Options{Cloud: "own"})
	expect(t, "clouds.yaml", err, "H710", "catalogue has no Heat")
}

// theClient prints what python-heatclient sends for a template and environments.
const theClient = `
import sys
from oslo_serialization import jsonutils as json
from heatclient.common import template_utils
files, template = template_utils.get_template_contents(template_file=sys.argv[1])
names = []
more, _ = template_utils.process_multiple_environments_and_files(env_paths=sys.argv[2:], env_list_tracker=names)
files = dict(files); files.update(more)
print(json.dumps({'template': template, 'files': files, 'environment_files': names}))
`

func TestTemplatesAreSentAsTheClientSendsThem(t *testing.T) {
	if out, err := exec.Command("/usr/bin/python3", "-c", "import heatclient").CombinedOutput(); err != nil {
		t.Skipf("NOT COMPARED with python-heatclient: %s", out)
	}
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"top space.yaml": `heat_template_version: 2018-08-31
parameters:
  on: {type: boolean, default: yes}
  n: {type: number, default: 010}
  t: {type: string, default: 12:30:45}
  d: {type: string, default: 2018-08-31}
x: &x {get_file: a.sh}
resources:
  one: {type: in/inner.yaml, properties: {script: *x}}
  two: {type: My::Own}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 1e1, resource_def: {type: in/inner.yaml, properties: {script: {get_file: in/b.sh}, x: {get_file: in/binary}}}}
`,
		"a.sh":                "#!/bin/sh\n# type: in/inner.yaml\n\"quotes\" and é\n",
		"in/inner.yaml":       "heat_template_version: 2015-04-30\nparameters: {script: {type: string}}\nresources:\n  v: {type: OS::Heat::Value, properties: {value: {get_file: b.sh}}}\n",
		"in/b.sh":             "b\n",
		"in/binary":           strings.Repeat("\xff\x00binary", 20),
		"env/e.yaml":          "parameters: {on: off}\nresource_registry:\n  My::Own: own.yaml\n  resources:\n    group: {hooks: pre-delete, My::Other: ../in/inner.yaml}\n",
		"env/own.yaml":        "heat_template_version: 2018-08-31\n",
		"env/second.yaml":     "parameter_defaults: {n: 3}\n",
		"env/based/more.yaml": "resource_registry: {base_url: ../, My::Second: own.yaml}\n",
	})
	top := filepath.Join(folder, "top space.yaml")
	environments := []string{filepath.Join(folder, "env/e.yaml"), filepath.Join(folder, "env/second.yaml")}
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", theClient, top}, environments...)...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(complaint.String())
	}
	var want, got map[string]any
	sent := make(chan []byte, 1)
	c := played(t, func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		sent <- b.Bytes()
		_, _ = w.Write([]byte(`{"stack":{"id":"1"}}`))
	})
	read, err := heat.ReadTemplate(t.Context(), top, environments...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), "s", read, heat.StackOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(<-sent, &got); err != nil {
		t.Fatal(err)
	}
	// Only where the files lie is told otherwise: from the template's folder on.
	text = bytes.ReplaceAll(text, []byte("file://"+folder+"/"), []byte("file:///"))
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	parsed(t, want)
	parsed(t, got)
	for _, key := range []string{"template", "files", "environment_files"} {
		if !reflect.DeepEqual(got[key], want[key]) {
			t.Errorf("%s\n got %v\nwant %v", key, got[key], want[key])
		}
	}
}

// Heat is sent the same bytes wherever the folder of a template is: it compares the names of files,
// and keeps them. A file outside of the folder is not taken for one inside.
func TestAFoldersPlaceIsNotSent(t *testing.T) {
	sent := make(chan string, 2)
	c := played(t, func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		sent <- b.String()
		_, _ = w.Write([]byte(`{"stack":{"id":"1"}}`))
	})
	var digests []string
	for range 2 {
		folder := t.TempDir()
		write(t, folder, map[string]string{
			"made/stack.yaml":     "heat_template_version: 2018-08-31\nresources:\n  g: {type: OS::Heat::AutoScalingGroup, properties: {resource: {type: in/member.yaml}}}\n  outside: {type: ../in/member.yaml}\n",
			"made/in/member.yaml": "heat_template_version: 2018-08-31\nresources: {v: {type: OS::Heat::Value, properties: {value: {get_file: ../a}}}}\n",
			"in/member.yaml":      "heat_template_version: 2018-08-31\ndescription: outside\n",
			"made/a":              "a",
			"made/e.yaml":         "resource_registry: {My::Own: in/member.yaml}\n",
		})
		read, err := heat.ReadTemplate(t.Context(), filepath.Join(folder, "made/stack.yaml"), filepath.Join(folder, "made/e.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := read.Digest([]byte("k"), heat.StackOptions{Kept: map[string]string{folder: "of a member"}})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
		if _, err := c.Create(t.Context(), "s", read, heat.StackOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	first, second := <-sent, <-sent
	if first != second || digests[0] != digests[1] {
		t.Errorf("sent\n%s\nand from another folder\n%s", first, second)
	}
	for _, part := range []string{`"file:///in/member.yaml":"{\"heat_template_version\"`, `"file:///../in/member.yaml"`, `{\"get_file\": \"file:///a\"}`, `"environment_files":["file:///e.yaml"]`} {
		if !strings.Contains(strings.ReplaceAll(first, `\":\"`, `\": \"`), strings.ReplaceAll(part, `\":\"`, `\": \"`)) {
			t.Errorf("%s is not in\n%s", part, first)
		}
	}
}

// parsed takes the JSON of files apart: spaces in it are nobody's concern.
func parsed(t *testing.T, body map[string]any) {
	t.Helper()
	files := body["files"].(map[string]any)
	for name, text := range files {
		var inner any
		if json.Unmarshal([]byte(text.(string)), &inner) == nil {
			files[name] = inner
		}
	}
}
