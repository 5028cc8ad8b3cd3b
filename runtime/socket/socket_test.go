package socket_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/socket"
)

// values is a role with one input that is there, one that never comes, and
// outputs that are kept.
type values struct {
	blocked, released chan struct{}
	written           chan string
}

func (v *values) Read(ctx context.Context, name string) (json.RawMessage, error) {
	switch name {
	case "endpoint":
		return json.RawMessage(`"mysql://db"`), nil
	case "never":
		v.blocked <- struct{}{}
		<-ctx.Done()
		v.released <- struct{}{}
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("no input %s", name)
}

func (v *values) Write(_ context.Context, name string, value json.RawMessage) error {
	if name == "bad" {
		return errors.New("no output bad")
	}
	v.written <- name + "=" + string(value)
	return nil
}

func (v *values) WriteText(_ context.Context, name string, text []byte) error {
	v.written <- fmt.Sprintf("%s=%q", name, text)
	return nil
}

func serve(t *testing.T, folder string) (*socket.Server, *values) {
	t.Helper()
	v := &values{make(chan struct{}, 1), make(chan struct{}, 1), make(chan string, 1)}
	s, err := socket.Serve(t.Context(), folder, v)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); socket.Remove(folder) })
	return s, v
}

func TestValuesGoThroughAsTheyAre(t *testing.T) {
	s, v := serve(t, t.TempDir())
	if value, err := socket.Get(t.Context(), s.Path(), "endpoint"); err != nil || string(value) != `"mysql://db"` {
		t.Errorf("get: %s, %v", value, err)
	}
	if err := socket.PutText(t.Context(), s.Path(), "motd", []byte("<b>☃</b>\n")); err != nil {
		t.Error(err)
	}
	if got := <-v.written; got != `motd="<b>☃</b>\n"` {
		t.Error(got)
	}
	if err := socket.PutJSON(t.Context(), s.Path(), "port", []byte(" [ 1.50,\n null ] ")); err != nil {
		t.Error(err)
	}
	if got := <-v.written; got != "port=[1.50,null]" {
		t.Error(got)
	}
	large := strings.Repeat("x", 2<<20)
	if err := socket.PutText(t.Context(), s.Path(), "large", []byte(large)); err != nil {
		t.Error(err)
	}
	if got := <-v.written; len(got) != len(large)+len(`large=""`) {
		t.Errorf("%d bytes came", len(got))
	}
}

func TestErrorsComeBack(t *testing.T) {
	s, _ := serve(t, t.TempDir())
	for want, err := range map[string]error{
		"no input other": func() error { _, err := socket.Get(t.Context(), s.Path(), "other"); return err }(),
		"no output bad":  socket.PutJSON(t.Context(), s.Path(), "bad", []byte("1")),
		"is not JSON":    socket.PutJSON(t.Context(), s.Path(), "port", []byte("many")),
		"is not UTF-8":   socket.PutText(t.Context(), s.Path(), "motd", []byte("\xff")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAConnectionCarriesSeveralRequests(t *testing.T) {
	s, _ := serve(t, t.TempDir())
	connection, err := net.Dial("unix", s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	answers := bufio.NewReader(connection)
	for _, c := range []struct{ request, answer string }{
		{`{"get":"endpoint"}`, `{"value":"mysql://db"}`},
		{`garbage`, `{"error":"the request is not JSON`},
		{`{"get":"endpoint","put":"port"}`, `{"error":"a request has`},
		{`{"put":"port"}`, `{"error":"a request has`},
		{`{"get":"endpoint"}`, `{"value":"mysql://db"}`},
	} {
		fmt.Fprintln(connection, c.request)
		if got, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(got, c.answer) {
			t.Errorf("%s: %s, %v", c.request, got, err)
		}
	}
}

func TestAReaderThatGoesAwayIsNotWaitedFor(t *testing.T) {
	s, v := serve(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-v.blocked
		cancel()
	}()
	if _, err := socket.Get(ctx, s.Path(), "never"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-v.released
}

func TestTheEndOfTheServerEndsItsReaders(t *testing.T) {
	s, v := serve(t, t.TempDir())
	go func() {
		<-v.blocked
		s.Close()
	}()
	_, err := socket.Get(t.Context(), s.Path(), "never")
	if err == nil {
		t.Error("it got a value")
	}
	<-v.released
}

func TestALongPathIsServedElsewhere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s, _ := serve(t, folder)
	if _, err := socket.Get(t.Context(), s.Path(), "endpoint"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	s.Close()
	socket.Remove(folder)
	if _, err := os.Stat(filepath.Dir(s.Path())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder is still there: %v", err)
	}
}
