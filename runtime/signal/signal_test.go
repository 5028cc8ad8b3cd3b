package signal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/runtime/signal"
)

// cloud plays Keystone and heat-api. Faults are answered before anything else,
// one a request.
type cloud struct {
	*httptest.Server
	mu      sync.Mutex
	faults  []http.HandlerFunc
	tokens  int
	revoked map[string]bool
	signals []string // path and body
	region  string
}

func newCloud(t *testing.T) *cloud {
	c := &cloud{revoked: map[string]bool{}, region: "RegionOne"}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) > 0 {
		fault := c.faults[0]
		c.faults = c.faults[1:]
		fault(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	switch {
	case r.URL.Path == "/identity/v3/auth/tokens":
		const want = `{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"u","domain":{"id":"d"},"password":"p"}}},"scope":{"project":{"id":"pr"}}}}`
		if string(body) != want {
			http.Error(w, "wrong password", http.StatusUnauthorized)
			return
		}
		c.tokens++
		w.Header().Set("X-Subject-Token", fmt.Sprintf("token-%d", c.tokens))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token":{"catalog":[
			{"type":"compute","endpoints":[{"interface":"public","region":"RegionOne","url":"%[1]s/wrong"}]},
			{"type":"orchestration","endpoints":[
				{"interface":"admin","region":%[2]q,"url":"%[1]s/wrong"},
				{"interface":"public","region":"Elsewhere","url":"%[1]s/wrong"},
				{"interface":"public","region_id":%[2]q,"url":"%[1]s/heat/"}]}]}}`, c.URL, c.region)
	case c.revoked[r.Header.Get("X-Auth-Token")] || !strings.HasPrefix(r.Header.Get("X-Auth-Token"), "token-"):
		http.Error(w, "no such token", http.StatusUnauthorized)
	default:
		c.signals = append(c.signals, r.URL.Path+" "+string(body))
		io.WriteString(w, "null")
	}
}

func (c *cloud) client(t *testing.T) *signal.Client {
	t.Helper()
	text, err := json.Marshal(map[string]string{"auth_url": c.URL + "/identity/v3/", "username": "u", "user_id": "u1",
		"password": "p", "project_id": "pr", "domain_id": "d", "region_name": "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := signal.ParseHandle(string(text), signal.Stack{Name: "blog", ID: "5e7", Resource: "hotc_done_handle"})
	if err != nil {
		t.Fatal(err)
	}
	client := signal.NewClient(h)
	client.Wait, client.MaxWait = time.Millisecond, 2*time.Millisecond
	client.Say = func(err error) {
		t.Log(err)
		if strings.Contains(err.Error(), `"p"`) {
			t.Error("an error tells the password")
		}
	}
	return client
}

var done = signal.Signal{Status: signal.Success, Reason: "all roles are done", ID: "tier/2/db",
	Data: map[string]json.RawMessage{"site": json.RawMessage(`"a <b> \"c\"\n☃"`), "list": json.RawMessage(`[false,null]`)}}

const posted = `/heat/stacks/blog/5e7/resources/hotc_done_handle/signal ` +
	`{"status":"SUCCESS","reason":"all roles are done","id":"tier/2/db","data":{"list":[false,null],"site":"a <b> \"c\"\n☃"}}`

func (c *cloud) want(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Join(c.signals, "\n") != strings.Join(want, "\n") {
		t.Errorf("Heat got\n%s\nwant\n%s", strings.Join(c.signals, "\n"), strings.Join(want, "\n"))
	}
}

func TestASignalArrivesWithItsValuesAsTheyAre(t *testing.T) {
	c := newCloud(t)
	if err := c.client(t).Send(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	c.want(t, posted)
}

func TestATokenThatIsNoLongerGoodIsReplaced(t *testing.T) {
	c := newCloud(t)
	client := c.client(t)
	if err := client.Send(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.revoked["token-1"] = true
	c.mu.Unlock()
	if err := client.Send(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	c.want(t, posted, posted)
}

func TestEveryFailureIsTriedAgain(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", code) }
	}
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	text := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); io.WriteString(w, body) }
	}
	proceed := func(c *cloud) http.HandlerFunc { // answers one request as if there were no fault
		return func(w http.ResponseWriter, r *http.Request) {
			faults := c.faults
			c.faults = nil
			c.mu.Unlock()
			c.ServeHTTP(w, r)
			c.mu.Lock()
			c.faults = faults
		}
	}
	for name, faults := range map[string]func(*cloud) []http.HandlerFunc{
		"Keystone is down":             func(*cloud) []http.HandlerFunc { return []http.HandlerFunc{status(503), hangUp, status(500)} },
		"Keystone answers nonsense":    func(*cloud) []http.HandlerFunc { return []http.HandlerFunc{text(201, "<html>"), text(201, "{}")} },
		"Keystone refuses for a while": func(*cloud) []http.HandlerFunc { return []http.HandlerFunc{status(401), status(403)} },
		"Heat is down": func(c *cloud) []http.HandlerFunc {
			return []http.HandlerFunc{proceed(c), status(503), hangUp, status(500), status(404)}
		},
		"Heat does not know the token yet": func(c *cloud) []http.HandlerFunc { return []http.HandlerFunc{proceed(c), status(401)} },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.faults = faults(c)
			if err := c.client(t).Send(t.Context(), done); err != nil {
				t.Fatal(err)
			}
			c.want(t, posted)
		})
	}
}

func TestNobodyThere(t *testing.T) {
	c := newCloud(t)
	client := c.client(t)
	c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	attempts := 0
	client.Say = func(error) {
		if attempts++; attempts == 3 {
			cancel()
		}
	}
	if err := client.Send(ctx, done); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestASlowAnswerEndsWithTheContext(t *testing.T) {
	c := newCloud(t)
	ctx, cancel := context.WithCancel(t.Context())
	c.faults = []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then a server notices that its client is gone
		cancel()
		<-r.Context().Done()
	}}
	if err := c.client(t).Send(ctx, done); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhatHeatNeverTakesIsNotTriedAgain(t *testing.T) {
	c := newCloud(t)
	large := done
	large.Data = map[string]json.RawMessage{"dump": json.RawMessage(`"` + strings.Repeat("x", signal.MaxBody) + `"`)}
	if err := c.client(t).Send(t.Context(), large); !errors.Is(err, signal.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	c.want(t)
}

func TestAHandleThatIsNone(t *testing.T) {
	at := signal.Stack{Name: "s", ID: "i", Resource: "r"}
	for text, want := range map[string]string{
		`secret`:               "not the JSON text",
		`{"auth_url":"http:"}`: "has no ",
	} {
		_, err := signal.ParseHandle(text, at)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	whole := `{"auth_url":"http://k","user_id":"u","password":"hush","project_id":"p"}`
	if _, err := signal.ParseHandle(whole, signal.Stack{}); err == nil {
		t.Error("a handle without a stack passed")
	}
	h, err := signal.ParseHandle(whole, at)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", h, h, h); strings.Contains(text, "hush") {
		t.Errorf("%s tells the password", text)
	}
}

func TestAReasonSteersNoTerminal(t *testing.T) {
	if got := signal.ShortReason("db.mysql: \x1b]0;title\x07\u009b2J \u202egnol\xff"); got != `db.mysql: \u001b]0;title\u0007\u009b2J \u202egnol?` {
		t.Errorf("%q", got)
	}
}

func TestALongReasonKeepsItsBeginningAndItsEnd(t *testing.T) {
	short := signal.ShortReason("web.app: blocked on db.mysql:endpoint\n  because " + strings.Repeat("☃", 1000) + " db.mysql: exit status 3")
	if len(short) > 1000 || !utf8.ValidString(short) || !strings.HasPrefix(short, "web.app: blocked on db.mysql:endpoint because ☃") ||
		!strings.HasSuffix(short, "☃ db.mysql: exit status 3") {
		t.Errorf("%d bytes: %s", len(short), short)
	}
}
