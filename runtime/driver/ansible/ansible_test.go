package ansible_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/ansible"
	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
)

// A playbook does all that it can before it waits: another input has not arrived, and
// a service that needs the one which has is up and told of.
func TestAReadThatIsNotNeededYetDoesNotBlock(t *testing.T) {
	port, folder := freePort(t), t.TempDir()
	r := role{
		agent:  &drivertest.Values{Arrived: map[string]string{"db.url": `"mysql://db"`}, Asking: make(chan string)},
		source: map[string]any{"vars": map[string]any{"port": port, "folder": folder}},
		inputs: []string{"db.url", "db.replica", "license"}, outputs: []string{"up: the server answers", "site", "late"},
		files: map[string]string{
			"site.yml": `- hosts: all
  gather_facts: false
  roles: [web]
  post_tasks:
    - set_fact: {site: "http://{{ inventory_hostname }}/"}
    - template: {src: replica.j2, dest: "{{ folder }}/replica.conf"}
      when: db.replica is defined
    - set_fact: {late: "{{ license }}"}
`,
			"templates/replica.j2":        "{{ 'no replica' if db.url is match('mysql') else db.replica }}\n",
			"roles/web/defaults/main.yml": "db: {url: none, replica: none, name: blog}\nport: 8080\n",
			"roles/web/tasks/main.yml": `- copy: {content: "{{ db.url }}/{{ db.name }}", dest: "{{ folder }}/index.html"}
  notify: start the server
`,
			"roles/web/handlers/main.yml": `- name: run the server
  listen: start the server
  shell: "python3 -m http.server --bind 127.0.0.1 {{ port }} > server.log 2>&1 & echo $! > server.pid"
  args: {chdir: "{{ folder }}"}
- name: the server answers
  listen: start the server
  wait_for: {host: 127.0.0.1, port: "{{ port }}"}
`,
		},
	}
	job, printed := r.job(t)
	d := ansible.Driver{}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := d.Run(ctx, job)
		ended <- err
	}()
	select {
	case name := <-r.agent.Asking:
		if name != "license" {
			t.Errorf("it waits for %s", name)
		}
	case <-ended:
		t.Fatalf("it ended without waiting:\n%s", printed().Stdout)
	}
	defer endServer(t, folder)
	lines := strings.Join(r.agent.Lines(), "; ")
	if want := `get db.url; put up true; put site "http://localhost/"; get db.url; get license`; lines != want {
		t.Errorf("got %s\nwant %s\n%s", lines, want, printed().Stdout)
	}
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if page, _ := io.ReadAll(answer.Body); string(page) != "mysql://db/blog" {
		t.Errorf("the server gives %q", page)
	}
	cancel()
	<-ended
}

// freePort is below those that the kernel gives to outgoing connections and to who asks for
// any (Linux: from 32768): so none of these takes it before the playbook's server does.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 12000 + rand.N(20000)
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// endServer ends what a playbook has left running, if it has not ended with the playbook.
func endServer(t *testing.T, work string) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(drivertest.Text(filepath.Join(work, "server.pid"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// What a role's failure is called, by what went wrong.
func TestReasonsOfFailure(t *testing.T) {
	const start = "- hosts: all\n  gather_facts: false\n  tasks:\n"
	for name, c := range map[string]struct {
		tasks, want string
		source      map[string]any
	}{
		"a command":         {tasks: start + "    - name: make it\n      shell: 'echo no space left >&2; exit 3'\n", want: `task "make it" (site.yml:4) failed: non-zero return code: no space left`},
		"a message":         {tasks: start + "    - fail: {msg: it is not so}\n", want: `task "fail" (site.yml:4) failed: it is not so`},
		"an item":           {tasks: start + "    - {name: each, fail: {msg: 'not {{ item }}'}, when: item > 1, loop: [1, 2]}\n", want: `task "each" (site.yml:4) failed: not 2`},
		"in a role":         {tasks: start + "    - import_role: {name: web}\n", want: `task "web : serve" (roles/web/tasks/main.yml:1) failed: it is not so`},
		"no_log":            {tasks: start + "    - {name: quiet, fail: {msg: hush}, no_log: true}\n", want: `task "quiet" (site.yml:4) failed: output hidden (no_log)`},
		"undefined":         {tasks: start + "    - debug: {msg: '{{ nothing }}'}\n", want: `task "debug" (site.yml:4) failed: The task includes an option with an undefined variable`},
		"no YAML":           {tasks: "- hosts: all\n  tasks: [\n", want: `site.yml:`},
		"no such module":    {tasks: start + "    - nosuchmodule: {}\n", want: `site.yml:4: couldn't resolve module/action 'nosuchmodule'.`},
		"a failed producer": {tasks: start + "    - {debug: {msg: '{{ broken }}'}}\n", want: `task "debug" (site.yml:4) failed:`},
		"not this server":   {tasks: "- hosts: db\n  tasks: []\n", want: `no play targets this server, host "localhost" in no group: ` + "set `groups:` in the role's source"},
		"rescued":           {tasks: start + "    - block: [{fail: {msg: first}}]\n      rescue: [{name: then, fail: {msg: second}}]\n", want: `task "then" (site.yml:5) failed: second`},
		"an output":         {tasks: start + "    - set_fact: {refused: 1}\n", want: "hotc: output refused: no"},
	} {
		t.Run(name, func(t *testing.T) {
			r := role{agent: &drivertest.Values{Arrived: map[string]string{}, Broken: map[string]string{"broken": "db.mysql failed: exit status 1"}}, inputs: []string{"broken"}, outputs: []string{"refused"},
				files: map[string]string{"site.yml": c.tasks, "roles/web/tasks/main.yml": "- {name: serve, fail: {msg: it is not so}}\n"}}
			end := r.run(t)
			lines := strings.Split(strings.TrimSpace(end.Stderr), "\n")
			if last := lines[len(lines)-1]; end.Exit.OK() || !strings.HasPrefix(last, c.want) {
				t.Errorf("%v: %s\nwant %s\n%s", end.Exit, last, c.want, end.Stdout)
			}
		})
	}
}

// A secret is nowhere in what Ansible prints, whatever a playbook does with it.
func TestSecretsAreNotPrinted(t *testing.T) {
	r := role{
		agent:  &drivertest.Values{Arrived: map[string]string{"password": `"s3cr\"et-word"`, "db.key": `"line one\nline two"`}},
		inputs: []string{"!password", "!db.key"}, outputs: []string{"!made"},
		source:      map[string]any{"vars": map[string]any{"folder": t.TempDir()}},
		environment: []string{"ANSIBLE_VERBOSITY=4", "ANSIBLE_LOG_PATH=" + filepath.Join(t.TempDir(), "log")},
		files: map[string]string{"site.yml": `- hosts: all
  gather_facts: false
  vars: {db: {key: none}}
  tasks:
    - debug: {msg: "the password is {{ password }}"}
    - debug: {var: db.key}
    - command: {argv: [echo, "{{ password }}"]}
    - copy: {content: "{{ db.key }}", dest: "{{ folder }}/key"}
      diff: true
    - set_fact: {made: "generated-value"}
    - debug: {var: made}
    - fail: {msg: "no {{ password }}"}
`},
	}
	end := r.run(t)
	if end.Exit.OK() || !strings.Contains(end.Stderr, "failed: no (secret)") {
		t.Errorf("%v\n%s", end.Exit, end.Stderr)
	}
	log := drivertest.Text(strings.TrimPrefix(r.environment[1], "ANSIBLE_LOG_PATH="))
	if !strings.Contains(log, "PLAY") {
		t.Fatalf("no log: %s", log)
	}
	for _, secret := range []string{"et-word", "line one", "line two"} {
		for _, printed := range []string{end.Stdout, end.Stderr, log} {
			if i := strings.Index(printed, secret); i >= 0 {
				t.Errorf("%q was printed: …%s…", secret, printed[max(0, i-200):i+20])
			}
		}
	}
}

// What another server sent is data: no template in it is evaluated.
func TestValuesAreNotTemplates(t *testing.T) {
	r := role{
		agent:  &drivertest.Values{Arrived: map[string]string{"evil": `"{{ lookup('pipe', 'echo owned') }}"`, "a.b": `["{{ 1 + 1 }}"]`}},
		inputs: []string{"evil", "a.b"}, outputs: []string{"got", "nested", "joined"},
		files: map[string]string{"site.yml": `- hosts: all
  gather_facts: false
  vars: {around: "{{ evil }}"}
  tasks:
    - set_fact: {got: "{{ around }}", nested: "{{ a.b }}", joined: "{{ a.b[0] ~ evil }}"}
`},
	}
	r.run(t).MustSucceed(t)
	for name, want := range map[string]string{"got": `"{{ lookup('pipe', 'echo owned') }}"`, "nested": `["{{ 1 + 1 }}"]`, "joined": `"{{ 1 + 1 }}{{ lookup('pipe', 'echo owned') }}"`} {
		if got := r.agent.Published(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// Settings, groups, roles from elsewhere, tags, a playbook below the top, and optional
// inputs that did not come.
func TestHowPlaybooksAreRun(t *testing.T) {
	r := role{
		agent:  &drivertest.Values{Arrived: map[string]string{"optional.gone": "null", "whole": "null", "optional.there": `"new"`}},
		inputs: []string{"?optional.gone", "?whole", "?optional.there"}, outputs: []string{"of_group", "of_role", "gone", "there", "whole_one", "given"},
		source: map[string]any{"playbook": []string{"plays/site.yml", "plays/more.yml"}, "groups": []string{"db"}, "host": "db1", "skip_tags": []string{"never_here"},
			"vars": map[string]any{"given": map[string]any{"a": 1}}},
		environment: []string{"LC_ALL=C", "LANG="},
		files: map[string]string{
			"ansible.cfg":                  "[defaults]\nroles_path = elsewhere\n",
			"elsewhere/one/tasks/main.yml": "- set_fact: {of_role: '{{ inventory_hostname }}'}\n",
			"plays/group_vars/db.yml":      "of_group: 5\noptional: {gone: own, there: own}\nwhole: own\n",
			"plays/site.yml":               "- hosts: web\n  tasks: [{fail: {}}]\n- hosts: db\n  roles: [one]\n",
			"plays/more.yml": `- hosts: db
  gather_facts: false
  tasks:
    - {fail: {msg: skipped}, tags: never_here}
    - set_fact: {gone: "{{ optional.gone }}", there: "{{ optional.there }}", whole_one: "{{ whole }}"}
`,
		},
	}
	r.run(t).MustSucceed(t)
	for name, want := range map[string]string{"of_group": "5", "of_role": `"db1"`, "gone": `"own"`, "whole_one": `"own"`, "there": `"new"`, "given": `{"a": 1}`} {
		if got := r.agent.Published(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// What cannot be run is said before anything is.
func TestWhatCannotBeRun(t *testing.T) {
	playbook := map[string]string{"site.yml": "- hosts: all\n"}
	for want, r := range map[string]role{
		"the fetched tree has no playbook other.yml":         {files: playbook, source: map[string]any{"playbook": []string{"other.yml"}}},
		`the playbook "../site.yml" is outside its folder`:   {files: playbook, source: map[string]any{"playbook": []string{"../site.yml"}}},
		"db.url is a part of db, which is also an input":     {files: playbook, inputs: []string{"db", "db.url"}}, // an action's argument
		`"no-variable" is not a valid Ansible variable name`: {files: playbook, inputs: []string{"no-variable"}},
		"the role's source in the plan has no playbook":      {files: playbook, source: map[string]any{"host": ""}},
		"read the role's source in the plan: json":           {files: playbook, source: map[string]any{"unknown": 1}},
	} {
		r.agent = &drivertest.Values{}
		job, _ := r.job(t)
		if err := (ansible.Driver{}).Prepare(t.Context(), job); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	job, _ := role{files: playbook, agent: &drivertest.Values{}}.job(t)
	if err := (ansible.Driver{}).Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	job.Program = write(t, t.TempDir(), "ansible-playbook", "#!/bin/sh\nexec other\n")
	if _, err := (ansible.Driver{}).Run(t.Context(), job); err == nil || !strings.Contains(err.Error(), "its first line names no Python") {
		t.Error(err)
	}
}

// An Ansible whose insides are not known is left alone.
func TestAnAnsibleOfAnotherRelease(t *testing.T) {
	for _, version := range []string{"2.12.10", "2.19.0b1", "2.20"} {
		folder := t.TempDir()
		write(t, folder, "ansible/__init__.py", "")
		write(t, folder, "ansible/constants.py", "")
		write(t, folder, "ansible/release.py", "__version__ = '"+version+"'\n")
		end := role{agent: &drivertest.Values{}, files: map[string]string{"site.yml": "- hosts: all\n"}, environment: []string{"PYTHONPATH=" + folder}}.run(t)
		if want := "Ansible core " + version + " is not supported: this hotc-agent supports 2.13 to 2.18\n"; end.Exit.OK() || end.Stderr != want {
			t.Errorf("%v, %q", end.Exit, end.Stderr)
		}
	}
}
