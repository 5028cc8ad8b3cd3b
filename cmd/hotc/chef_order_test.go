package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	compilerdriver "github.com/hotc-dev/hotc/compiler/driver"
	compilerchef "github.com/hotc-dev/hotc/compiler/driver/chef"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/driver/chef"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// orders are recipes whose reads and writes the compiler puts into an order. The
// inputs are in.a, in.b and in.c, the outputs out.x, out.y and up (log[up]).
var orders = []string{
	"node['in']['a']\nnode.default['out']['x'] = 1\nnode['in']['b']\nlog 'up'\nnode.default['out']['y'] = node['in']['c']",
	"node.default['out']['y'] = [1]\nnode['in']['a']\nlog 'up'\nlog 'x' do\n  message lazy { node['in']['b'] }\nend\nnode.default['out']['x'] = \"of #{node['in']['c']}\"",
	"ruby_block 'x' do\n  block { node.default['out']['x'] = node['in']['a'] }\nend\nlog 'up' do\n  only_if { node['in']['b'] }\nend\nnode['in']['c']\nnode.default['out']['y'] = 'y'",
	"log 'up' do\n  message lazy { \"#{node['in']['a']}\" }\nend\nlog 'z' do\n  message node['in']['b']\nend\nnode.default['out']['x'] = 1 if node['in']['c']\nnode.default['out']['y'] = 1",
	"template ::File.join(Chef::Config[:file_cache_path], 'page') do\n  variables(lazy { { b: node['in']['b'] } })\nend\nlog 'up'\nnode.default['out']['x'] = node['in']['c'] ? 1 : 2\nnode.default['out']['y'] = 'y'",
	"include_recipe 'web::other'\nlog 'up'\nnode.override['out']['y'] = { 'k' => node['in']['a'] }",
	"vars = {}.merge(node['in'])\nnode.default['out']['x'] = vars['a'].to_s\nlog 'up'\nnode.default['out']['y'] = 'y'",
	"node.default['out']['x'] = 'x'\nvars = { 'k' => 1, **node['in'] }\nlog 'up'\nnode.default['out']['y'] = Hash[node['in']]['b'].to_s",
	"%w(a b).each do |key|\n  node['in'][key]\nend\nbegin\n  node.default['out']['x'] = node['in']['c']\nend\nlog 'up' unless node['in']['none']\nruby_block 'y' do\n  block do\n    node.default['out']['y'] = 'y'\n  end\nend",
}

// What the compiler says of the order of reads and writes is what happens, in the
// stand-in of Chef, and in Chef where it is on PATH.
func TestTheOrderOfAChefRun(t *testing.T) {
	t.Run("stand-in", func(t *testing.T) {
		if _, err := exec.LookPath("ruby"); err != nil {
			t.Skip("SKIPPED: no ruby on PATH")
		}
		compareOrders(t, filepath.Join(chefStandIn(t), "chef-solo"))
	})
	t.Run("Chef", func(t *testing.T) {
		solo, err := exec.LookPath("chef-solo")
		if err != nil {
			t.Skip("SKIPPED: no chef-solo on PATH: Debian 12 has no Chef, so that only the stand-in was tried")
		}
		compareOrders(t, solo)
	})
}

func compareOrders(t *testing.T, solo string) {
	for _, recipe := range orders {
		folder := fstest.MapFS{}
		for name, text := range map[string]string{"web/metadata.rb": "name 'web'", "web/recipes/default.rb": recipe,
			"web/recipes/other.rb": "node['in']['b']\nnode.default['out']['x'] = 'x'\nnode['in']['c']", "web/templates/default/page.erb": "<%= @b %> <%= node['in']['a'] %>"} {
			folder[name] = &fstest.MapFile{Data: []byte(text)}
		}
		role := compilerdriver.Role{Name: "web", Source: sourceOf("books"), Locate: func(...string) source.Place { return source.Place{} }, Reader: oneFolder{folder}}
		job := contract.Role{Name: "web"}
		for _, name := range []string{"in.a", "in.b", "in.c"} {
			role.Inputs = append(role.Inputs, &program.Input{Name: name})
			job.Inputs = append(job.Inputs, contract.Input{Name: name})
		}
		for _, o := range []contract.Output{{Name: "out.x"}, {Name: "out.y"}, {Name: "up", Resource: "log[up]"}} {
			role.Outputs = append(role.Outputs, &program.Output{Name: o.Name, Resource: o.Resource})
			job.Outputs = append(job.Outputs, o)
		}
		var diags source.Diagnostics
		meaning := compilerchef.Driver.Lower(role, &diags)
		if meaning == nil || meaning.Sequence == nil {
			t.Errorf("%s: no sequence: %v", recipe, diags.All())
			continue
		}
		job.Source = value.EncodeJSON(meaning.Source)
		happened := runOnce(t, solo, job, meaning.Files[0].Data)
		if wrong := contradiction(meaning.Sequence, happened); wrong != "" {
			t.Errorf("%s\n%s; it happened so: %s", recipe, wrong, strings.Join(happened, ", "))
		}
	}
}

func sourceOf(cookbooks string) *value.Dict {
	d := value.NewDict()
	d.Set("cookbooks", cookbooks)
	return d
}

// oneFolder reads one folder, whatever its name.
type oneFolder struct{ folder fstest.MapFS }

func (oneFolder) File(string) ([]byte, error)    { return nil, fs.ErrNotExist }
func (o oneFolder) Folder(string) (fs.FS, error) { return o.folder, nil }

// history is a role that has every input, and notes when it was asked.
type history struct {
	mu       sync.Mutex
	happened []string
	file     []byte
}

func (h *history) note(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.happened, text) {
		h.happened = append(h.happened, text)
	}
}

func (h *history) Read(_ context.Context, name string) (json.RawMessage, error) {
	h.note("read " + name)
	return json.RawMessage(`"value"`), nil
}

func (h *history) Write(_ context.Context, name string, _ json.RawMessage) error {
	h.note("write " + name)
	return nil
}

func (h *history) WriteText(context.Context, string, []byte) error { return nil }

func (h *history) File(context.Context, string) ([]byte, error) { return h.file, nil }

// runOnce runs a role and returns what it did, in order.
func runOnce(t *testing.T, solo string, role contract.Role, cookbooks []byte) []string {
	t.Helper()
	h := &history{file: cookbooks}
	folder := t.TempDir()
	server, err := socket.Serve(t.Context(), folder, h)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	prints, err := os.Create(filepath.Join(t.TempDir(), "prints"))
	if err != nil {
		t.Fatal(err)
	}
	defer prints.Close()
	job := &driver.Job{Grace: time.Second, Role: role, Folder: folder, Work: t.TempDir(), Values: h, Files: h, Stdout: prints, Stderr: prints, Program: solo,
		Environment: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), socket.Variable + "=" + server.Path()},
		Started:     func(context.Context) error { return nil }}
	d := chef.Driver{}
	if err := d.Prepare(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	exit, err := d.Run(t.Context(), job)
	if err != nil || !exit.OK() {
		text, _ := os.ReadFile(prints.Name())
		t.Fatalf("%v, %v\n%s", exit, err, text)
	}
	server.Close() // no request is under way any more
	return h.happened
}

// contradiction says what of a sequence did not happen as it says: a step happens
// after all steps before it, unless a fork before has it, too.
func contradiction(s *program.Sequence, happened []string) string {
	var before []string // what must have happened
	perhaps := map[string]bool{}
	for _, step := range s.Steps {
		name := stepName(step)
		if step.Op == program.Fork {
			perhaps[stepName(step.Ways[1][0])] = true
			continue
		}
		at := slices.Index(happened, name)
		if at < 0 {
			return "there is no " + name
		}
		for _, earlier := range before {
			if slices.Index(happened, earlier) > at && !perhaps[name] {
				return name + " was to come after " + earlier
			}
		}
		before = append(before, name)
		perhaps[name] = true // a second one may be the first
	}
	for _, name := range happened {
		if !slices.Contains(before, name) && !perhaps[name] {
			return "nothing was said of " + name
		}
	}
	return ""
}

func stepName(s program.Step) string {
	if s.Op == program.WriteOutput {
		return "write " + s.Name
	}
	return "read " + s.Name
}
