package driver_test

import (
	"os"
	"os/exec"
	"testing"
)

// Of hidden.py: a secret is hidden by all of a run's threads, and after a failure.
func TestSecretsAreHiddenByEveryThread(t *testing.T) {
	const inputs = `
import sys

class Input:
    secret = True
    def __init__(self, *gets):
        self.gets = list(gets)
    def value(self):
        return self.gets.pop(0)() if self.gets else "hush-hush"

def expect(got, want):
    if got != want:
        sys.exit("printed %r, not %r" % (got, want))
`
	for name, script := range map[string]string{
		"while another one asks for it": `
asked, printed = threading.Event(), threading.Event()
def slow():
    asked.set()
    printed.wait()
    return "hush-hush"
one = Input(slow)
secrets = SharedSecrets([one])
one.has_read()
first = threading.Thread(target=secrets.hide, args=("",))
first.start()
asked.wait()
try:
    expect(secrets.hide("is hush-hush"), "is (secret)")
finally:
    printed.set()
    first.join()
`,
		"after asking for it has failed": `
def fails():
    raise ConnectionError("gone")
one = Input(fails)
secrets = SharedSecrets([one])
one.has_read()
try:
    secrets.hide("is hush-hush")
    sys.exit("it was printed")
except ConnectionError:
    pass
expect(secrets.hide("is hush-hush"), "is (secret)")
`,
		"the longer one first": `
secrets = SharedSecrets([])
for text in ["hush", "hush-hush-hush", "hush-hush"]:
    secrets.add(text)
expect(secrets.hide("hush-hush-hush, hush-hush, hush"), "(secret), (secret), (secret)")
`,
	} {
		module, err := os.ReadFile("hidden.py")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			if out, err := exec.Command("/usr/bin/python3", "-c", string(module)+inputs+script).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
