package role

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/coordinator/protocol"
)

func TestMask(t *testing.T) {
	for _, c := range []struct{ secret, text, want string }{
		{`"hush-hush"`, "the password is hush-hush, hush-hush!", "the password is (secret), (secret)!"},
		{`"a\"quoted\" one"`, `{"p": "a\"quoted\" one"}`, `{"p": "(secret)"}`},
		{`["first","second"]`, "first and second", "(secret) and (secret)"},
		{`{"key":{"pin":123456}}`, "pin 123456 of key", "pin (secret) of key"},
		{`"-----BEGIN KEY-----\nabcdefgh\nijklmnop\n"`, "it says ijklmnop", "it says (secret)"},
		{`"hush"`, "nothing of the kind", "nothing of the kind"},
		{`"1"`, "1 of 11", "1 of 11"}, // too short to be taken out
		{`null`, "null", "null"},
	} {
		var m mask
		m.add(json.RawMessage(c.secret))
		if got := string(m.hide([]byte(c.text))); got != c.want {
			t.Errorf("%s without %s is %s, want %s", c.text, c.secret, got, c.want)
		}
	}
}

// A long secret hides a shorter one that is a part of it.
func TestMaskTakesTheLongestFirst(t *testing.T) {
	var m mask
	m.add(json.RawMessage(`"pass"`))
	m.add(json.RawMessage(`"password1"`))
	if got := string(m.hide([]byte("password1 pass"))); got != "(secret) (secret)" {
		t.Error(got)
	}
}

// Neither the tail nor the last lines hold a secret, not where the tail is cut off
// in the middle of one, either.
func TestPrintsWithoutSecrets(t *testing.T) {
	p, err := openPrints(filepath.Join(t.TempDir(), "role"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.mask = &mask{}
	p.mask.add(json.RawMessage(`"hush-hush"`))
	write := func(f *os.File, text string) {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(p.stderr, "hush-")
	p.look()
	write(p.stderr, "hush\n")
	p.look()
	for n := range 20 {
		write(p.stdout, "hush-hush"+strings.Repeat("x", protocol.LogSize-n)+"\n")
		p.look()
		if tail := string(p.tailNow()); strings.Contains(tail, "hush") || strings.HasPrefix(tail, "-") {
			t.Fatalf("%d: the tail begins with %q", n, tail[:20])
		}
	}
	if text := p.lastLine() + p.lastLines(); strings.Contains(text, "hush") {
		t.Errorf("the last lines are %q", text)
	}
}
