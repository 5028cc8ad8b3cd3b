//go:build e2e

package bed_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/protocol"
	"github.com/hotc-dev/hotc/coordinator/store"
)

// A password that Heat never has, and tokens that let one machine in: the server
// comes back after a reboot by its key, who has its token is kept out, and the server
// that is built anew waits until the operator has read its key on its console.
func TestSecretsOfAnOperator(t *testing.T) {
	t.Parallel()
	const password = "tell nobody of this"
	digest := sha256.Sum256([]byte(password))
	sum := hex.EncodeToString(digest[:]) + "\n"
	theBed(t)
	w := worldOn(t, place.zk.URL("hotc"), "testdata/sealed.yaml", "--secret-param", "password")
	file := filepath.Join(t.TempDir(), "password")
	do(t, os.WriteFile(file, []byte(password+"\n"), 0o600))
	(&deployment{world: w, name: "sealed"}).on("apply", w.dir, "--enrol", "once", "--secret-param", "password="+file)
	d := w.create("sealed")
	d.stack.Complete(t)
	old := d.server("db")
	expectFile(t, old, "var/lib/sums", sum)

	// the token, as every process of the server can read it
	text := inServer(t, old, "sh", "-c", "cat /etc/hotc/boot.json; cat /var/lib/cloud/instance/user-data.txt | grep -c 'tell nobody' || true")
	boot := contract.Boot{}
	do(t, json.NewDecoder(strings.NewReader(text)).Decode(&boot))
	if strings.Contains(text, password) || !strings.HasSuffix(text, "\n0\n") {
		t.Errorf("the boot file, and how often user-data holds the password:\n%s", text)
	}
	thief, err := dial.Open(t.Context(), w.url, protocol.ServerCredential("db", boot.Token))
	do(t, err)
	defer thief.Close()
	mine := protocol.Deployment(d.name)
	for _, path := range []store.Path{mine.Pass("db"), mine.ServerPlan("db"), mine.SealsFor(contract.Operator, "db"), mine.State("db")} {
		if _, err := thief.Read(t.Context(), path); !errors.Is(err, store.ErrRefused) {
			t.Errorf("the token reads %s: %v", path, err)
		}
	}

	do(t, old.Reboot())
	d.rebooted("db", old, 2)
	expectFile(t, old, "var/lib/sums", sum)

	do(t, old.Cut())
	const id, address = "22222222-2222-4333-8444-555555555555", "10.77.200.2"
	fresh := d.rebuild(old, id, address)
	key := ""
	until(t, "the new db to ask", func() bool {
		console, _ := fresh.Read("var/log/hotc-agent.log")
		if found := regexp.MustCompile(`can admit this one \(hotc admit \S+ db --key (\S+)\)`).FindStringSubmatch(console); found != nil {
			key = found[1]
		}
		return key != ""
	})
	if status := d.on("status"); !strings.Contains(status, "instance "+id+" asks to be db, whose token was used before: hotc admit "+d.name+" db --key "+key) {
		t.Errorf("hotc status says\n%s", status)
	}
	if said := d.on("admit", "db", "--key", key); !strings.Contains(said, "supply password again") {
		t.Errorf("hotc admit says\n%s", said)
	}
	until(t, "the new db to be the server", func() bool { s := d.status()["db"]; return s.Incarnation == 2 && s.Instance == id })
	d.on("apply", w.dir, "--secret-param", "password="+file)
	d.await("db", "keeps", "done")
	expectFile(t, fresh, "var/lib/sums", sum)
	d.returnsFenced(old)
}
