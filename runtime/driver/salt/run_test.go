package salt_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/runtime/driver/salt"
	"github.com/hotc-dev/hotc/runtime/process"
)

// States do all that they can before they wait: a file's template waits when its state
// runs, and what stands before it is done and told of.
func TestAReadThatIsNotNeededYetDoesNotBlock(t *testing.T) {
	everySalt(t, func(t *testing.T, program string) {
		r := role{
			agent:  &agent{values: map[string]string{"db:url": `"mysql://db"`}, asking: make(chan string)},
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
		d := salt.Driver{Grace: process.Grace}
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
		case name := <-r.agent.asking:
			if name != "license" {
				t.Errorf("it waits for %s", name)
			}
		case err := <-ended:
			t.Fatalf("it ended without waiting: %v\n%s%s", err, printed().stdout, printed().stderr)
		}
		lines := strings.Join(r.agent.lines(), "; ")
		if want := `get db:url; put up true; put site "http://web/no replica"; put server.changes.stdout "ready"; get license`; lines != want {
			t.Errorf("got %s\nwant %s\n%s", lines, want, printed().stdout)
		}
		cancel()
		<-ended
	})
}
