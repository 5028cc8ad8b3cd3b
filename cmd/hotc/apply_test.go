package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/coordinator/dial"
	"github.com/hotc-dev/hotc/coordinator/zookeeper/zktest"
)

func TestApply(t *testing.T) {
	d := newDesk(t)
	var said strings.Builder
	for _, args := range [][]string{{"--dry-run"}, {}, {}, {"--dry-run"}} {
		out, err := d.on(t, newApplyCommand, append(args, "testdata/site")...)
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString("$ hotc apply " + strings.Join(append(args, "DIR"), " ") + "\n" + out + "\n")
	}
	golden(t, "apply.txt", d.steady(said.String()))
}

func TestApplyJSON(t *testing.T) {
	d := newDesk(t)
	out, err := d.on(t, newApplyCommand, "testdata/site", "--json", "--dry-run")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(d.steady(out), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, `  "created":`) {
			lines[i] = `  "created": "NOW",`
		}
	}
	golden(t, "apply.json", strings.Join(lines, "\n"))
}

// The environment of `hotc secret new` is used where it lies beside the secret,
// and everything is quoted for the shell.
func TestApplyNamesTheNextCommand(t *testing.T) {
	d := newDesk(t)
	dir := filepath.Join(t.TempDir(), "it's here")
	if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.secret+environmentSuffix, []byte("parameters: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := d.on(t, newApplyCommand, dir)
	if err != nil {
		t.Fatal(err)
	}
	quoted := "'" + strings.ReplaceAll(filepath.Join(dir, "stack.yaml"), "'", `'\''`) + "'"
	want := "  openstack stack create -t " + quoted + " -e " + d.secret + ".env.yaml site\n"
	if !strings.Contains(out, want) {
		t.Errorf("it lacks %q:\n%s", want, out)
	}
}

func TestFlagsMayStandInTheEnvironment(t *testing.T) {
	d := newDesk(t)
	t.Setenv(coordinatorVariable, d.url)
	t.Setenv(secretFileVariable, d.secret)
	out, err := call(t, newApplyCommand, "testdata/site", "--stack", "site")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "  hotc status site --watch\n") {
		t.Errorf("the next command repeats what the environment says:\n%s", out)
	}
}

func TestApplyRefuses(t *testing.T) {
	d := newDesk(t)
	d.apply(t)
	folder := func(change func(dir string)) string {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("testdata/site")); err != nil {
			t.Fatal(err)
		}
		change(dir)
		return dir
	}
	edit := func(from, to string) func(string) {
		return func(dir string) {
			path := filepath.Join(dir, "plan.json")
			text, _ := os.ReadFile(path)
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here := []string{"--coordinator", d.url, "--secret-file", d.secret, "--stack", "site"}
	nobodyOverTLS, err := dial.Portable("zk+tls://127.0.0.1:1/hotc?ca="+zktest.NewAuthority(t, "CA").CA, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		args  []string
		code  source.Code
		texts []string
	}{
		{"no folder", append(here, "testdata/none"), source.BadPlan, []string{"there is no testdata/none/plan.json", "hint:"}},
		{"a plan of another format", append(here, folder(edit(`"format": 1`, `"format": 9`))), source.BadPlan, []string{"note: /format: the plan has format 9"}},
		{"a plan that breaks its schema", append(here, folder(edit(`"driver": "script"`, `"driver": 7`))), source.BadPlan, []string{"note: /servers/0/roles/0/driver"}},
		{"a file that is missing", append(here, folder(func(dir string) { os.RemoveAll(filepath.Join(dir, "files")) })), source.BadPlan, []string{"mysql.sh"}},
		{"a file that was edited", append(here, folder(func(dir string) {
			entries, _ := os.ReadDir(filepath.Join(dir, "files"))
			os.WriteFile(filepath.Join(dir, "files", entries[0].Name()), []byte("echo edited\n"), 0o644)
		})), source.BadPlan, []string{"has changed since it was compiled"}},
		{"another plan on a live deployment", append(here, folder(edit(`"signal": "heat"`, `"signal": "none"`))), source.ChangedPlan, []string{"note: signal: heat becomes none", "can be changed in place; these cannot"}},
		{"a wrong secret", append(here, "testdata/site", "--secret-file", file("0a9b8c7d6e5f40312233445566778899aabbccddeeff00112a3b4c5d6e7f8091")), source.BadSecret, []string{"wrong secret"}},
		{"a weak secret", append(here, "testdata/site", "--secret-file", file(strings.Repeat("0123456789abcdef", 4))), source.BadSecret, []string{"weak"}},
		{"a secret with a line end", append(here, "testdata/site", "--secret-file", file(testSecret+"\n")), source.BadSecret, []string{"remove the line end"}},
		{"no secret there", append(here, "testdata/site", "--secret-file", "testdata/none"), source.BadSecret, []string{"there is no file testdata/none", "hotc secret new testdata/none"}},
		{"nobody at the coordinator's address", append(here, "testdata/site", "--timeout", "300ms", "--coordinator", "unix://"+filepath.Join(t.TempDir(), "nobody")), source.NoCoordinator, []string{"no answer from the coordinator unix://", "hint:"}},
		{"a port that is none", append(here, "testdata/site", "--coordinator", "zk://zk1:http/hotc"), source.Usage, []string{`--coordinator zk://zk1:http/hotc: "zk1:http" has no port from 1 to 65535`}},
		{"a password in the URL", append(here, "testdata/site", "--coordinator", "zk://me:hush@zk1/hotc"), source.Usage, []string{`--coordinator zk://…@zk1/hotc: a ZooKeeper URL has no user`}},
		{"a CA without TLS", append(here, "testdata/site", "--coordinator", "zk://zk1/hotc?ca=ca.pem"), source.Usage, []string{`--coordinator zk://zk1/hotc: the parameters after ? are for TLS: use zk+tls://`}},
		{"a CA that is not there", append(here, "testdata/site", "--coordinator", "zk+tls://zk1/hotc?ca=testdata/none.pem"), source.Usage, []string{`--coordinator zk+tls://zk1/hotc: ca: open testdata/none.pem: no such file`}},
		{"another coordinator", append(here, "testdata/site", "--coordinator", "etcd://e/hotc"), source.Usage, []string{`--coordinator "etcd://e/hotc" is not a coordinator URL`}},
		{"nobody at a TLS address", append(here, "testdata/site", "--timeout", "3s", "--coordinator", nobodyOverTLS), source.NoCoordinator, []string{"no answer from the coordinator zk+tls://127.0.0.1:1/hotc: ", "connection refused\n"}},
		{"no stack's name", append(here, "testdata/site", "--stack", "a:b"), source.Usage, []string{`"a:b"`}},
		{"no stack", append(here, "testdata/site", "--stack", ""), source.Usage, []string{"--stack NAME"}},
		{"no coordinator", append(here, "testdata/site", "--coordinator", ""), source.Usage, []string{coordinatorVariable}},
		{"no secret named", append(here, "testdata/site", "--secret-file", ""), source.Usage, []string{secretFileVariable}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := call(t, newApplyCommand, c.args...)
			expectCode(t, err, c.code, c.texts...)
		})
	}
}

// A command that waits for the coordinator says so, before it gives up.
func TestWaitingForTheCoordinatorIsSaid(t *testing.T) {
	var errs bytes.Buffer
	cmd := newStatusCommand(streams{out: io.Discard, err: &errs})
	cmd.SetErr(&errs)
	cmd.SetArgs([]string{"--stack", "site", "--secret-file", newDesk(t).secret, "--timeout", "3s", "--coordinator", "zk://127.0.0.1:1/hotc"})
	expectCode(t, cmd.ExecuteContext(t.Context()), source.NoCoordinator)
	if said := "waiting up to 3s for zk://127.0.0.1:1/hotc to answer\n"; !strings.HasPrefix(errs.String(), said) {
		t.Errorf("%q does not begin with %q", errs.String(), said)
	}
}

// Whatever a command is asked about a deployment, it tells one that is not there
// from one of another secret.
func TestEveryCommandTellsWhatIsWrong(t *testing.T) {
	d := newDesk(t)
	for name, args := range map[string][]string{"status": nil, "why": nil, "logs": {"db.mysql"}, "outputs": nil} {
		_, err := d.on(t, operatorCommands[name], args...)
		expectCode(t, err, source.NoDeployment, "there is no deployment site", "hotc apply DIR site")
	}
	d.apply(t)
	stranger := *d
	stranger.secret = filepath.Join(t.TempDir(), "other")
	os.WriteFile(stranger.secret, []byte("0a9b8c7d6e5f40312233445566778899aabbccddeeff00112a3b4c5d6e7f8091"), 0o600)
	for name, args := range map[string][]string{"status": nil, "why": nil, "logs": {"db.mysql"}, "outputs": nil, "destroy": {"--yes"}} {
		_, err := stranger.on(t, operatorCommands[name], args...)
		expectCode(t, err, source.BadSecret, "wrong secret")
	}
	for name, args := range map[string][]string{"status": {"cache"}, "why": {"cache.redis"}, "logs": {"db.redis"}, "outputs": {"nothing"}} {
		_, err := d.on(t, operatorCommands[name], args...)
		expectCode(t, err, source.UnknownName, "hint: its")
	}
}
