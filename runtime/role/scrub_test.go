package role

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is kept of a role's output holds no secret, in no place; what stood there before the
// run, and what somebody else appends meanwhile, stays.
func TestSecretsAreTakenOutOfTheFiles(t *testing.T) {
	work := filepath.Join(t.TempDir(), "role")
	before := "hunter22 of an earlier run\n"
	if err := os.WriteFile(work+".stdout", []byte(before), 0o640); err != nil {
		t.Fatal(err)
	}
	p, err := openPrints(work)
	if err != nil {
		t.Fatal(err)
	}
	p.mask = &mask{}
	// in the middle of a part, across two parts, within a longer one, and over lines
	fill := strings.Repeat("x", 1<<20-len("a hunter22 b\n")-4)
	text := "a hunter22 b\n" + fill + "hunter22 hunter22hunter22hunter22-long\nfirst line\nsecond line\n"
	if _, err := p.stdout.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if _, err := p.stderr.WriteString("hunter22"); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter22", "hunter22-long", "first line\nsecond line", "1"} {
		value, _ := json.Marshal(secret)
		p.mask.add(value)
	}
	if err := p.scrub(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.stdout.WriteString("1 after"); err != nil {
		t.Fatal(err)
	}
	p.close()
	got, err := os.ReadFile(work + ".stdout")
	if err != nil {
		t.Fatal(err)
	}
	want := before + "a ******** b\n" + fill + "******** ****************" + "*************\n" + "**********************\n1 after"
	if !bytes.Equal(got, []byte(want)) {
		t.Errorf("%q\n and not %q", bytes.ReplaceAll(got, []byte("xxxxxxxx"), nil), strings.ReplaceAll(want, "xxxxxxxx", ""))
	}
	if got, _ := os.ReadFile(work + ".stderr"); string(got) != "********" {
		t.Errorf("%q", got)
	}
}
