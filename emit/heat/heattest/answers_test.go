package heattest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Every request has its answer, even when answers are larger than a pipe and many wait to be
// written at once.
func TestManyLargeAnswers(t *testing.T) {
	text := "heat_template_version: 2018-08-31\nresources:\n"
	for i := range 8 {
		text += fmt.Sprintf("  s%d: {type: 'OS::Nova::Server', properties: {image: i, flavor: f, user_data_format: RAW, user_data: '%s'}}\n",
			i, strings.Repeat("x", 20_000))
	}
	template := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(template, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	st := shared.Oracle(t).Create(t, "large", Input{Template: template})
	st.Complete(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 5 {
				if n := len(st.Booted(t)); n != 8 {
					t.Errorf("%d servers, not 8", n)
				}
			}
		})
		all.Go(func() {
			for range 20 {
				if s := st.Status(t); s.String() != "CREATE_COMPLETE" {
					t.Errorf("the stack is %s", s)
				}
			}
		})
	}
	all.Wait()
}

// A caller that waits for an answer in vain learns what the oracle was doing.
func TestNoAnswer(t *testing.T) {
	skipShort(t)
	j, err := New()
	if err != nil {
		refuse(t, err)
	}
	defer j.Close() //nolint:errcheck // it is killed
	st := j.Create(t, "site", Input{Template: "testdata/signals.yaml"})
	reply, err := j.send("wait", arguments{"ident": st.identity, "seconds": 3600})
	if err != nil {
		t.Fatal(err)
	}
	st.Status(t) // by now it waits
	if err = j.receive(reply, "wait", time.Second, nil); err == nil {
		t.Fatal("a stack that nobody signals has ended")
	}
	for _, part := range []string{`has not answered "wait" for 1s`, "Green thread", "in wait", "most recent call first"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q:\n%v", part, err)
		}
	}
	if err := j.ask("status", arguments{"ident": st.identity}, nil); err == nil {
		t.Error("an oracle that was given up goes on")
	}
}
