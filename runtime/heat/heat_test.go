package heat_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/emit/heat/heattest"
	"github.com/hotc-dev/hotc/runtime/heat"
)

var shared heattest.Shared

// logIn sets the variables of the oracle's owner and connects.
func logIn(t *testing.T) *heat.Client {
	t.Helper()
	e := shared.Oracle(t).Endpoints
	clearVariables(t)
	for name, value := range map[string]string{"OS_AUTH_URL": e.AuthURL, "OS_USERNAME": e.Username, "OS_PASSWORD": e.Password, "OS_PROJECT_ID": e.Project, "OS_USER_DOMAIN_NAME": "Default", "OS_REGION_NAME": "RegionOne"} {
		t.Setenv(name, value)
	}
	c, err := heat.Connect(t.Context(), heat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func clearVariables(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") {
			t.Setenv(name, "")
		}
	}
}

func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func template(t *testing.T, text string) *heat.Template {
	t.Helper()
	folder := t.TempDir()
	write(t, folder, map[string]string{"t.yaml": text})
	read, err := heat.ReadTemplate(t.Context(), filepath.Join(folder, "t.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// ended waits for the end of a stack's action.
func ended(t *testing.T, c *heat.Client, name, id string) *heat.Stack {
	t.Helper()
	for {
		s, err := c.StackAt(t.Context(), name, id)
		if err != nil {
			t.Fatal(err)
		}
		if !s.State.InProgress() {
			return s
		}
		time.Sleep(50 * time.Millisecond)
	}
}

const waiting = `
heat_template_version: 2018-08-31
parameters:
  v: {type: string, default: one}
  secret: {type: string, hidden: true}
resources:
  config:
    type: OS::Heat::SoftwareConfig
    properties: {group: Heat::Ungrouped, config: "", outputs: [{name: failure, type: String, error_output: true}]}
  waits:
    type: OS::Heat::SoftwareDeployment
    properties:
      server: {get_param: 'OS::stack_id'}
      config: {get_resource: config}
      signal_transport: HEAT_SIGNAL
      input_values: {servers: {db: a}, v: {get_param: v}}
outputs:
  v: {value: {get_param: v}}
`

func TestStacksLife(t *testing.T) {
	c := logIn(t)
	made := template(t, waiting)
	secret := heat.StackOptions{Parameters: map[string]json.RawMessage{"secret": []byte(`"unseen"`)}}
	if _, err := c.Stack(t.Context(), "life"); !errors.Is(err, heat.ErrNotFound) {
		t.Fatalf("no stack: %v", err)
	}
	id, err := c.Create(t.Context(), "life", made, secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), "life", made, secret); !errors.Is(err, heat.ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	signal := func(want string, data map[string]any) heat.Deployment {
		t.Helper()
		for {
			all, err := c.Deployments(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) == 1 && all[0].Status == "IN_PROGRESS" && string(all[0].Inputs["v"]) == want {
				if err := c.Signal(t.Context(), "life", id, "waits", data); err != nil {
					t.Fatal(err)
				}
				return all[0]
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	if d := signal(`"one"`, map[string]any{"deploy_status_code": 0}); string(d.Inputs["servers"]) != `{"db":"a"}` && string(d.Inputs["servers"]) != `{"db": "a"}` || d.Config == "" || d.Server != id {
		t.Errorf("deployment %+v", d)
	}
	if s := ended(t, c, "life", id); s.State != "CREATE_COMPLETE" || s.ID != id || s.Parameters["secret"] != "******" || s.Parameters["v"] != "one" || s.Created.IsZero() || !s.DisableRollback {
		t.Errorf("stack %+v", s)
	}
	s, err := c.StackWithOutputs(t.Context(), "life")
	if err != nil || len(s.Outputs) != 1 || s.Outputs[0].Name != "v" || string(s.Outputs[0].Value) != `"one"` {
		t.Errorf("outputs %+v (%v)", s, err)
	}
	secret.Given = map[string]json.RawMessage{"v": []byte(`"two"`)}
	changes, err := c.Preview(t.Context(), s, made, secret, true)
	if err != nil || !slices.ContainsFunc(changes.Updated, func(x heat.Change) bool { return x.Name == "waits" }) && !slices.ContainsFunc(changes.Replaced, func(x heat.Change) bool { return x.Name == "waits" }) {
		t.Errorf("preview %+v (%v)", changes, err)
	}
	if err := c.Update(t.Context(), s, made, secret); err != nil {
		t.Fatal(err)
	}
	signal(`"two"`, map[string]any{"deploy_status_code": 0, "failure": "web.app: exit status 3"})
	if s := ended(t, c, "life", id); s.State != "UPDATE_FAILED" || !strings.Contains(s.Reason, "web.app: exit status 3") || s.Updated.IsZero() {
		t.Errorf("stack %+v", s)
	}
	events, err := c.Events(t.Context(), "life", id, "", heat.MaxDepth)
	if err != nil || len(events) < 6 || !events[0].OfStack() || events[0].State != "CREATE_IN_PROGRESS" || events[0].StackName != "life" || events[0].StackID != id {
		t.Fatalf("events %+v (%v)", events, err)
	}
	later, err := c.Events(t.Context(), "life", id, events[2].ID, heat.MaxDepth)
	if err != nil || len(later) != len(events)-3 || later[0].ID != events[3].ID {
		t.Errorf("%d events after the third of %d (%v)", len(later), len(events), err)
	}
	resources, err := c.Resources(t.Context(), "life", id, heat.MaxDepth)
	if err != nil || len(resources) != 2 || resources[0].StackName != "life" || resources[0].StackID != id || resources[0].ID == "" {
		t.Errorf("resources %+v (%v)", resources, err)
	}
	stacks, err := c.Stacks(t.Context())
	if err != nil || !slices.ContainsFunc(stacks, func(s heat.Stack) bool { return s.Name == "life" && s.ID == id }) {
		t.Errorf("stacks %+v (%v)", stacks, err)
	}
	if err := c.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if s := ended(t, c, "life", id); s.State != "DELETE_COMPLETE" {
		t.Errorf("deleted: %+v", s)
	}
	if err := c.Delete(t.Context(), s); err != nil && !errors.Is(err, heat.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

func TestNestedStacksAreLookedInto(t *testing.T) {
	c := logIn(t)
	folder := t.TempDir()
	write(t, folder, map[string]string{
		"top.yaml":      "heat_template_version: 2018-08-31\nresources:\n  group:\n    type: OS::Heat::ResourceGroup\n    properties: {count: 2, resource_def: {type: in/inner.yaml}}\n",
		"in/inner.yaml": "heat_template_version: 2018-08-31\nresources:\n  value: {type: OS::Heat::Value, properties: {value: {get_file: text}}}\n",
		"in/text":       "inner",
	})
	read, err := heat.ReadTemplate(t.Context(), filepath.Join(folder, "top.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	name := "nested-" + rand.Text() // another one in each run
	id, err := c.Create(t.Context(), name, read, heat.StackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := ended(t, c, name, id); !s.State.Complete() {
		t.Fatalf("%+v", s)
	}
	resources, err := c.Resources(t.Context(), name, id, heat.MaxDepth)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]heat.Resource{}
	for _, r := range resources {
		names[r.Parent+"/"+r.Name] = r
	}
	group, member, value := names["/group"], names["group/1"], names["1/value"]
	if group.NestedID == "" || member.StackID != group.NestedID || value.StackID != member.NestedID || value.StackName != member.NestedName || value.NestedID != "" {
		t.Errorf("the group %+v\nmember %+v\nvalue %+v", group, member, value)
	}
}

// diagnosis is the diagnostic of an error, as text.
func diagnosis(t *testing.T, err error) string {
	t.Helper()
	d, is := source.AsDiagnostic(err)
	if !is {
		t.Fatalf("%v is not a diagnostic", err)
	}
	return string(d.Code) + ": " + d.Message + " | " + d.Hint
}

func expect(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	text := diagnosis(t, err)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %s\n lacks %q", what, text, part)
		}
	}
}

func TestHeatRefusesInItsOwnWords(t *testing.T) {
	c := logIn(t)
	_, err := c.Create(t.Context(), "refused", template(t, "heat_template_version: 2018-08-31\nresources:\n  db: {type: OS::Nova::Server, properties: {wrong: 1}}\n"), heat.StackOptions{})
	expect(t, "an unknown property", err, "H711", "resources.db", "wrong")
	_, err = c.Create(t.Context(), "a b", template(t, "heat_template_version: 2018-08-31\n"), heat.StackOptions{})
	expect(t, "a name that Heat does not take", err, "H711", "a b")
	t.Setenv("OS_PASSWORD", "wrong")
	_, err = heat.Connect(t.Context(), heat.Options{})
	expect(t, "a wrong password", err, "H710", "Keystone", "requires authentication")
	if !errors.Is(err, heat.ErrForbidden) {
		t.Error("a wrong password is not ErrForbidden")
	}
	t.Setenv("OS_REGION_NAME", "elsewhere")
	t.Setenv("OS_PASSWORD", shared.Oracle(t).Endpoints.Password)
	_, err = heat.Connect(t.Context(), heat.Options{})
	expect(t, "another region", err, "H710", "elsewhere")
}

func TestNobodyAnswers(t *testing.T) {
	clearVariables(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	_, err := heat.Connect(t.Context(), heat.Options{})
	expect(t, "no settings", err, "H710", "no cloud is selected", "OS_CLOUD")
	t.Chdir(t.TempDir())
	_, err = heat.Connect(t.Context(), heat.Options{Cloud: "nowhere"})
	expect(t, "no clouds.yaml", err, "H710", "nowhere", "clouds.yaml")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	t.Setenv("OS_AUTH_URL", "http://"+l.Addr().String()+"/v3")
	t.Setenv("OS_USERNAME", "u")
	t.Setenv("OS_PASSWORD", "p")
	_, err = heat.Connect(t.Context(), heat.Options{})
	expect(t, "nobody there", err, "H710", "no answer from Keystone", "refused")
	if !errors.Is(err, heat.ErrUnreachable) {
		t.Error("nobody there is not ErrUnreachable")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err = heat.Connect(ctx, heat.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended: %v", err)
	}
}

func TestCloudsYAML(t *testing.T) {
	logIn(t)
	e := shared.Oracle(t).Endpoints
	clearVariables(t)
	folder := t.TempDir()
	write(t, folder, map[string]string{"clouds.yaml": "clouds:\n  mine:\n    auth: {auth_url: '" + e.AuthURL + "', username: " + e.Username + ", project_id: " + e.Project + ", user_domain_name: Default}\n    region_name: RegionOne\n",
		"secure.yaml": "clouds: {mine: {auth: {password: '" + e.Password + "'}}}\n"})
	t.Chdir(folder)
	t.Setenv("OS_CLOUD", "mine")
	c, err := heat.Connect(t.Context(), heat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Stacks(t.Context()); err != nil {
		t.Error(err)
	}
}
