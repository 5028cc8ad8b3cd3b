package salt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/drivertest"
	"github.com/hotc-dev/hotc/runtime/driver/salt"
)

// States do all that they can before they wait: a file's template waits when its state
// runs, and what stands before it is done and told of.
func TestAReadThatIsNotNeededYetDoesNotBlock(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{
			agent:  &drivertest.Values{Arrived: map[string]string{"db:url": `"mysql://db"`}, Asking: make(chan string)},
			source: map[string]any{"sls": []string{"web"}, "pillar": map[string]any{"db": map[string]any{"name": "blog"}}},
			inputs: []string{"db:url", "db:replica", "license"}, outputs: []string{"up=cmd: the server", "server.changes.stdout", "site", "late"},
			files: map[string]string{
				"states/web/init.sls": `{% set db = pillar.get('db', {}) %}
the server:
  cmd.run:
    - name: echo {{ db.url }}/{{ db['name'] }}
site:
  grains.present:
    - value: http://web/{{ 'no replica' if 'mysql' in db.url else db.replica }}
server:
  cmd.run:
    - name: echo ready
the licence:
  file.managed:
    - name: {{ salt['environ.get']('WORK') }}/licence
    - source: salt://web/licence.j2
    - template: jinja
last:
  grains.present:
    - name: late
    - value: 1
`,
				"states/web/licence.j2": "{{ pillar['license'] }}\n",
			},
		}
		r.environment = []string{"WORK=" + t.TempDir()}
		job, printed := r.job(t, program)
		d := salt.Driver{}
		if err := d.Prepare(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
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
		case err := <-ended:
			t.Fatalf("it ended without waiting: %v\n%s%s", err, printed().Stdout, printed().Stderr)
		}
		lines := strings.Join(r.agent.Lines(), "; ")
		if want := `get db:url; put up true; put site "http://web/no replica"; put server.changes.stdout "ready"; get license`; lines != want {
			t.Errorf("got %s\nwant %s\n%s", lines, want, printed().Stdout)
		}
		cancel()
		<-ended
	})
}

// What a role's failure is called, by what went wrong.
func TestReasonsOfFailure(t *testing.T) {
	for name, c := range map[string]struct{ states, want string }{
		"a command":          {"make it: {cmd.run: [{name: 'echo no space left >&2; exit 3'}]}", `cmd.run "make it" (web) failed: Command "echo no space left >&2; exit 3" run: no space left`},
		"a requisite":        {"b: {test.nop: [{require: [{test: c}]}]}\nc: {test.fail_without_changes: [{comment: it is not so}]}", `test.fail_without_changes "c" (web) failed: it is not so`},
		"no such SLS":        {"include: [nothing]", `Specified SLS nothing in saltenv base is not available`},
		"undefined":          {"a: {test.nop: [{text: '{{ pillar.none }}'}]}", `Rendering SLS 'base:web' failed: Jinja variable`},
		"no YAML":            {"a: [", `Rendering SLS 'base:web' failed:`},
		"a failed producer":  {"a: {test.nop: [{text: \"{{ pillar['broken'] }}\"}]}", `hotc: db.mysql failed: exit status 1`},
		"one in a template":  {"a: {file.managed: [{name: /nonexistent}, {contents_pillar: broken}]}", `hotc: db.mysql failed: exit status 1`},
		"an output":          {"refused: {grains.present: [{value: 1}]}", `hotc: output refused: no`},
		"the last of states": {"a: {test.nop: []}\nb: {test.fail_without_changes: []}\nc: {test.nop: []}", `test.fail_without_changes "b" (web) failed: Failure!`},
	} {
		t.Run(name, func(t *testing.T) {
			everySalt(t, func(t *testing.T, program string) {
				r := role{agent: &drivertest.Values{Broken: map[string]string{"broken": "db.mysql failed: exit status 1"}}, inputs: []string{"broken"}, outputs: []string{"refused"},
					source: map[string]any{"sls": []string{"web"}}, files: map[string]string{"states/web.sls": c.states + "\n"}}
				end := r.run(t, program)
				if last := lastLine(end); end.Exit.OK() || !strings.HasPrefix(last, c.want) {
					t.Errorf("%v: %s\nwant %s\n%s", end.Exit, last, c.want, end.Stdout)
				}
			})
		})
	}
}

// A secret that has been read is printed nowhere, and stays in no file but those that
// the states write.
func TestSecretsAreNotPrinted(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{agent: &drivertest.Values{Arrived: map[string]string{"db:password": `"hunter22\nsecond line"`, "key": `"tree-of-keys"`}}, inputs: []string{"!db:password", "!key"}, outputs: []string{"!made.changes.stdout"},
			source: map[string]any{"sls": []string{"web"}}, files: map[string]string{
				"states/web.sls": `show:
  cmd.run:
    - name: |
        echo "{{ pillar['db']['password'] | indent(8) }}"
made:
  cmd.run:
    - name: echo new-secret-made
again:
  cmd.run:
    - name: echo new-secret-made; echo {{ pillar['key'] }} >&2; exit 1
`}}
		end := r.run(t, program)
		if end.Exit.OK() {
			t.Error("the failed command was not noticed")
		}
		for _, secret := range []string{"hunter22", "second line", "new-secret-made", "tree-of-keys"} {
			if strings.Contains(end.Stdout+end.Stderr, secret) {
				t.Errorf("%q is printed:\n%s\n%s", secret, end.Stdout, end.Stderr)
			}
		}
		if !strings.Contains(end.Stdout, "(secret)") || !strings.HasSuffix(lastLine(end), "run: (secret)") {
			t.Errorf("nothing is hidden:\n%s\n%s", end.Stdout, end.Stderr)
		}
	})
}

// A state that runs in a process of its own may be the first to read a secret: what it
// found is printed by Salt itself, which has not read it.
func TestSecretsOfParallelStatesAreNotPrinted(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{agent: &drivertest.Values{Arrived: map[string]string{"key": `"tree-of-kéys"`, "command": `"true hunter-grüße-22; exit 1"`, "never": `"unread"`}},
			inputs: []string{"!key", "!command", "!never"}, source: map[string]any{"sls": []string{"web"}},
			files: map[string]string{"states/web.sls": `before:
  cmd.run:
    - name: echo old > {{ salt['environ.get']('WORK') }}/file
file:
  file.managed:
    - name: {{ salt['environ.get']('WORK') }}/file
    - contents_pillar: key
    - parallel: true
    - require: [{cmd: before}]
command:
  cmd.run:
    - name: __slot__:salt:pillar.get(command)
    - parallel: true
`}}
		r.environment = []string{"WORK=" + t.TempDir()}
		end := r.run(t, program)
		if end.Exit.OK() {
			t.Error("the failed command was not noticed")
		}
		printed := end.Stdout + end.Stderr
		for _, secret := range []string{"tree-of-k", "hunter-gr", "he-22", "ys\n"} {
			if strings.Contains(printed, secret) {
				t.Errorf("%q is printed:\n%s", secret, printed)
			}
		}
		if strings.Count(printed, "(secret)") < 3 {
			t.Errorf("nothing is hidden:\n%s", printed)
		}
		if got := strings.Join(r.agent.Lines(), "; "); strings.Contains(got, "get never") {
			t.Errorf("what no state reads was asked for: %s", got)
		}
	})
}

// What comes without a folder, and what a program that is not a Salt does.
func TestATextAlone(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{agent: &drivertest.Values{Arrived: map[string]string{"who": `"you"`}}, inputs: []string{"who"}, outputs: []string{"greet.changes.stdout"},
			source: map[string]any{"file_roots": nil, "sls": []string{"site"}, "text": map[string]any{"file": "x", "name": "site"}}}
		job, printed := r.job(t, program)
		job.Files = drivertest.File("greet: {cmd.run: [{name: echo {{ pillar['who'] }}}]}\n")
		d := salt.Driver{}
		if err := d.Prepare(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		exit, err := d.Run(t.Context(), job)
		if err != nil || !exit.OK() {
			t.Fatalf("%v %v\n%s", exit, err, printed().Stderr)
		}
		if got := strings.Join(r.agent.Lines(), "; "); got != `get who; put greet.changes.stdout "you"` {
			t.Error(got)
		}
	})
}

func TestAProgramThatAppliesNothing(t *testing.T) {
	r := role{agent: &drivertest.Values{}, files: map[string]string{"states/top.sls": "{}"}}
	job, _ := r.job(t, "/bin/true")
	d := salt.Driver{}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(t.Context(), job); err == nil || err.Error() != "salt-call ended without applying any states" {
		t.Error(err)
	}
}
