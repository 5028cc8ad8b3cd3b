package heattest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

var shared Shared

func TestAcceptsWithoutWarning(t *testing.T) {
	v := shared.Oracle(t).Accepts(t, Input{Template: "testdata/signals.yaml"})
	if len(v.Resources) != 4 {
		t.Errorf("resources %v, not the template's four", v.Resources)
	}
}

func TestRefuses(t *testing.T) {
	j := shared.Oracle(t)
	big := t.TempDir() + "/big.yaml"
	text := "heat_template_version: 2018-08-31\nresources: {}\n" + `description: "` + strings.Repeat("x", 530_000) + `"` + "\n"
	if err := os.WriteFile(big, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ template, want string }{
		{"testdata/refused.yaml", "Circular Dependency"},
		{"testdata/group.yaml", "(size) was not provided"},
		{"testdata/nowhere.yaml", "No such file"},
		{big, "exceeds maximum allowed size"},
	} {
		v := j.Validate(t, Input{Template: c.template})
		if v.Accepted || !strings.Contains(v.Error, c.want) {
			t.Errorf("%s: accepted %v, error %q, want %q", c.template, v.Accepted, v.Error, c.want)
		}
	}
	if _, err := j.TryCreate("circle", Input{Template: "testdata/refused.yaml"}); !IsRefusal(err) {
		t.Errorf("creating it: %v, want a refusal", err)
	}
}

func TestWarnsOfDeprecations(t *testing.T) {
	v := shared.Oracle(t).Validate(t, Input{Template: "testdata/deprecated.yaml"})
	if !v.Accepted || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "address: OS::Nova::FloatingIP is HIDDEN") {
		t.Errorf("%+v", v)
	}
}

// Old names of properties have their meaning, and what depends on what without being told is as in
// a cloud: a server waits for the subnets of its network, a floating IP for the router.
func TestImpliedDependencies(t *testing.T) {
	st := shared.Oracle(t).Create(t, "network", Input{Template: "testdata/network.yaml"})
	st.Complete(t)
	got := map[string]string{}
	for _, r := range st.Resources(t) {
		got[r.Name] = strings.Join(r.RequiredBy, " ")
	}
	want := map[string]string{"net": "beside inside plain port subnet", "subnet": "beside inside plain plugged port", "plain": "", "port": "address", "router": "address plugged",
		"plugged": "address", "address": "", "inside": "", "beside": ""}
	if !maps.Equal(got, want) {
		t.Errorf("required by:\n%v, want\n%v", got, want)
	}
	for _, server := range st.Booted(t) {
		for _, addresses := range server.Addresses {
			if !strings.HasPrefix(addresses[0], "10.9.0.") {
				t.Errorf("%s has %v, no address of the subnet", server.Name, addresses)
			}
		}
	}
}

// values are what servers may signal; they have to arrive byte for byte.
var values = []any{
	"plain", "", `"quoted" \ back`, "line one\nline two\r\n\ttab", "žluťoučký 🐎 \u2028", "null", "12",
	false, nil, 17.5, []any{"a", []any{}, map[string]any{}}, map[string]any{"k é": []any{true, nil}},
	strings.Repeat("long ", 40_000),
}

// A value that a server signals with HEAT_SIGNAL comes out of the stack unchanged, even when the
// APIs are out of order for a while and the first token has expired.
func TestSignalledValues(t *testing.T) {
	j := shared.Oracle(t)
	stacks := make([]*Stack, len(values))
	for i := range values {
		stacks[i] = j.Create(t, "site", Input{Template: "testdata/signals.yaml"})
	}
	for i, value := range values {
		boot := bootOf(t, stacks[i].Server(t, "db"))
		if i == 0 {
			j.ExpireTokens(t)
			j.Outage(t, 1, 1)
		}
		boot.signal(t, map[string]any{"id": "db", "status": "SUCCESS", "reason": "done", "data": value})
	}
	for i, value := range values {
		stacks[i].Complete(t)
		outputs := stacks[i].Outputs(t)
		want, _ := json.Marshal(value)
		if got := outputs["typed"].Value; !sameJSON(t, got, want) {
			t.Errorf("signalled %.60s, got %.60s (%s)", want, got, outputs["typed"].Error)
		}
		var raw string
		if err := json.Unmarshal(outputs["raw"].Value, &raw); err != nil {
			t.Errorf("the wait condition's own data is not a text: %.60s", outputs["raw"].Value)
		}
	}
}

func TestSignalledFailure(t *testing.T) {
	st := shared.Oracle(t).Create(t, "site", Input{Template: "testdata/signals.yaml"})
	boot := bootOf(t, st.Server(t, "db"))
	boot.signal(t, map[string]any{"id": "db", "status": "FAILURE", "reason": "mysql: exit status 3"})
	if s := st.Wait(t); s.String() != "CREATE_FAILED" || !strings.Contains(s.Reason, "mysql: exit status 3") {
		t.Errorf("%s: %s", s, s.Reason)
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	boot := bootOf(t, shared.Oracle(t).Create(t, "site", Input{Template: "testdata/signals.yaml"}).Server(t, "db"))
	boot.Signal["password"] = "guessed"
	if _, status := boot.token(t); status != http.StatusUnauthorized {
		t.Errorf("status %d", status)
	}
}

// Keystone gives no token for a project that is not the user's, nor for a password that has expired.
func TestCredentialsThatAreNotValid(t *testing.T) {
	j := shared.Oracle(t)
	boot := bootOf(t, j.Create(t, "site", Input{Template: "testdata/signals.yaml"}).Server(t, "db"))
	expect := func(what string, want int) {
		t.Helper()
		if _, status := boot.token(t); status != want {
			t.Errorf("%s: status %d, want %d", what, status, want)
		}
	}
	expect("its own project", http.StatusCreated)
	own := boot.Signal["project_id"]
	boot.Signal["project_id"] = "4d7d2c0f5a3b4b0e9a54f6f2f3e4d5c6"
	expect("a project that does not exist", http.StatusUnauthorized)
	boot.Signal["project_id"] = j.Endpoints.Project
	expect("another user's project", http.StatusUnauthorized)
	boot.Signal["project_id"] = own
	j.ExpirePassword(t, boot.Signal["username"], true)
	expect("a password that has expired", http.StatusUnauthorized)
	j.ExpirePassword(t, boot.Signal["username"], false)
	tok, _ := boot.token(t)
	if life := time.Until(tok.expires); life < 50*time.Minute || life > time.Hour {
		t.Errorf("a token is valid for %v", life)
	}
	j.ExpireTokens(t)
	if _, _, status := post(t, tok.heat+"/stacks", tok.id, map[string]any{}); status != http.StatusUnauthorized {
		t.Errorf("a token that has expired: status %d", status)
	}
}

// A change of user_data under IGNORE replaces no server, in the preview and in reality.
func TestUpdate(t *testing.T) {
	st := shared.Oracle(t).Create(t, "site", Input{Template: "testdata/signals.yaml"})
	server := st.Server(t, "db")
	bootOf(t, server).signal(t, map[string]any{"id": "db", "status": "SUCCESS", "data": 1})
	st.Complete(t)
	changed := Input{Template: "testdata/signals.yaml", Parameters: map[string]any{"note": "two"}}
	changes := st.Preview(t, changed)
	if strings.Join(changes.Updated, " ") != "db values" || len(changes.Added)+len(changes.Deleted) != 0 {
		t.Errorf("preview %+v", changes)
	}
	st.Update(t, changed)
	st.Complete(t)
	if s := st.Status(t); s.String() != "UPDATE_COMPLETE" {
		t.Errorf("%s: %s", s, s.Reason)
	}
	if again := st.Server(t, "db"); again.ID != server.ID {
		t.Error("the server was replaced")
	}
	st.Delete(t)
	if left := st.Booted(t); len(left) != 0 {
		t.Errorf("left after delete: %v", left)
	}
}

func TestServersOfNestedStacks(t *testing.T) {
	j := shared.Oracle(t)
	in := Input{Template: "testdata/group.yaml", Environments: []string{"testdata/group.env.yaml"}}
	j.Accepts(t, in)
	st := j.Create(t, "tiers", in)
	servers := st.Servers(t, 2)
	st.Complete(t)
	for i, s := range servers {
		if want := fmt.Sprintf("tier/%d/server", i); s.Path != want {
			t.Errorf("path %s, want %s", s.Path, want)
		}
		if want := fmt.Sprintf("#!/bin/sh\necho member %d\n", i); s.UserData != want || s.NovaUserData != want {
			t.Errorf("user-data %q, to Nova %q, want %q", s.UserData, s.NovaUserData, want)
		}
		for _, ips := range s.Addresses {
			if !strings.HasPrefix(ips[0], "10.1.2.") {
				t.Errorf("address %v is not of the template's subnet", ips)
			}
		}
	}
	if warned := st.Warnings(t); len(warned) != 0 {
		t.Logf("logged meanwhile: %q", warned)
	}
}

func TestMissingHeatIsNamed(t *testing.T) {
	err := &MissingError{Packages: []string{"python3-heat"}}
	if text := err.Error(); !strings.Contains(text, "apt-get install python3-heat") || !strings.Contains(text, SkipVariable) {
		t.Error(text)
	}
}

// boot is the server's configuration in the test's user-data.
type boot struct {
	StackID string `json:"stack_id"`
	Stack   string
	Note    string
	Signal  map[string]string
}

func bootOf(t *testing.T, s Server) boot {
	t.Helper()
	var resolved struct {
		boot
		Signal string
	}
	if err := json.Unmarshal([]byte(s.UserData), &resolved); err != nil {
		t.Fatalf("user-data %q: %v", s.UserData, err)
	}
	if err := json.Unmarshal([]byte(resolved.Signal), &resolved.boot.Signal); err != nil {
		t.Fatalf("signal %q: %v", resolved.Signal, err)
	}
	return resolved.boot
}

type token struct {
	id      string
	heat    string
	expires time.Time
}

// token authenticates with the handle's password, and finds heat-api in the
// catalogue.
func (b boot) token(t *testing.T) (token, int) {
	t.Helper()
	request := map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": map[string]any{
			"name": b.Signal["username"], "password": b.Signal["password"], "domain": map[string]any{"id": b.Signal["domain_id"]}}}},
		"scope": map[string]any{"project": map[string]any{"id": b.Signal["project_id"]}}}}
	answer, header, status := post(t, b.Signal["auth_url"]+"/auth/tokens", "", request)
	var body struct {
		Token struct {
			Expires time.Time `json:"expires_at"`
			Catalog []struct {
				Type      string
				Endpoints []struct{ Interface, URL string }
			}
		}
	}
	if status == http.StatusCreated {
		if err := json.Unmarshal(answer, &body); err != nil {
			t.Fatal(err)
		}
	}
	tok := token{id: header.Get("X-Subject-Token"), expires: body.Token.Expires}
	for _, service := range body.Token.Catalog {
		for _, endpoint := range service.Endpoints {
			if service.Type == "orchestration" && endpoint.Interface == "public" {
				tok.heat = endpoint.URL
			}
		}
	}
	return tok, status
}

// signal sends until it is accepted.
func (b boot) signal(t *testing.T, body map[string]any) {
	t.Helper()
	for {
		tok, status := b.token(t)
		if status == http.StatusServiceUnavailable {
			continue
		}
		url := fmt.Sprintf("%s/stacks/%s/%s/resources/handle/signal", tok.heat, b.Stack, b.StackID)
		answer, _, status := post(t, url, tok.id, body)
		switch status {
		case http.StatusServiceUnavailable:
		case http.StatusOK:
			return
		default:
			t.Fatalf("signal: %d %s", status, answer)
		}
	}
}

func post(t *testing.T, url, token string, body any) ([]byte, http.Header, int) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, response.Header, response.StatusCode
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var texts [2]string
	for i, text := range [][]byte{a, b} {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Errorf("%q: %v", text, err)
			return false
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(again)
	}
	return texts[0] == texts[1]
}
