//go:build e2e

package bed_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const examples = "../../../testdata/"

// The whole way with the client that a user has.
func TestThreeTierSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, examples+"three-tier/site.yaml")
	d := &deployment{world: w, name: "site"}
	d.apply()
	openstack(t, w, "stack", "create", "-t", w.dir+"/stack.yaml", "-e", w.secret+".env.yaml", "--wait", "site")
	d.stack = w.bed.Oracle.Find(t, "site")
	t.Cleanup(func() {
		if t.Failed() {
			d.tell()
		}
		d.stack.Delete(t)
	})
	if s := d.stack.Status(t); s.String() != "CREATE_COMPLETE" {
		t.Fatalf("%s: %s", s, s.Reason)
	}
	db, app, balancer := d.server("db"), d.server("app1"), d.server("balancer")
	var shown struct {
		Value string `json:"output_value"`
	}
	text := openstack(t, w, "stack", "output", "show", "site", "site", "-f", "json")
	if err := json.Unmarshal([]byte(text), &shown); err != nil || shown.Value != "http://"+balancer.Address+"/" {
		t.Errorf("openstack says of the output: %s", text)
	}
	if got := strings.TrimSpace(d.on("outputs", "site")); got != shown.Value {
		t.Errorf("hotc says %q, Heat %q", got, shown.Value)
	}
	expectFile(t, app, "var/lib/hotc/roles/application/etc/application.conf", "database = mysql://"+db.Address+":3306/blog\n")
	config, err := balancer.Read("var/lib/hotc/roles/haproxy/etc/haproxy.cfg")
	if err != nil || !strings.Contains(config, "server app1 "+app.Address+":8080 check") {
		t.Errorf("the balancer's configuration: %v\n%s", err, config)
	}
	if got := inServer(t, app, "hostname"); strings.TrimSpace(got) != app.HostName {
		t.Errorf("the server's name is %q, not %q", got, app.HostName)
	}
	for path, s := range d.status() {
		if s.Phase != "done" || !s.Alive || s.Incarnation != 1 {
			t.Errorf("%s: %+v", path, s)
		}
	}
	if lines := d.stack.Warnings(t); len(lines) > 0 {
		t.Logf("Heat has warned, perhaps of another test's stack: %v", lines)
	}
}

// clientEnvironment is what the client is told of the stacks' owner.
func (w *world) clientEnvironment() []string {
	e := w.bed.Oracle.Endpoints
	return append(os.Environ(), "OS_AUTH_URL="+e.AuthURL, "OS_USERNAME="+e.Username, "OS_PASSWORD="+e.Password,
		"OS_PROJECT_ID="+e.Project, "OS_USER_DOMAIN_NAME=Default", "OS_IDENTITY_API_VERSION=3")
}

// openstack runs the client as the stacks' owner.
func openstack(t testing.TB, w *world, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), commandTime)
	defer stop()
	cmd := exec.CommandContext(ctx, "openstack", args...)
	cmd.Env = w.clientEnvironment()
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("openstack %s: %v\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return string(out)
}

// The servers of the cluster need each other; one folder is deployed twice at the
// same time on one coordinator.
func TestOneFolderTwoClusters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, examples+"slurm/cluster.yaml")
	var both []*deployment
	for _, name := range []string{"blue", "green"} {
		both = append(both, w.deploy(name))
	}
	nodeKey := regexp.MustCompile(`NodeName=node1 NodeAddr=(\S+) # (\S+) (key-\S+)`)
	keys := map[string]bool{}
	for _, d := range both {
		d.stack.Complete(t)
		out := d.stack.Outputs(t)
		if string(out["ready"].Value) != "true" || !strings.Contains(string(out["members"].Value), "node2") {
			t.Errorf("%s: %v", d.name, out)
		}
		head, node := d.server("head"), d.server("node1")
		conf, err := head.Read("var/lib/hotc/roles/slurmctld/slurm.conf")
		if err != nil {
			t.Fatal(err)
		}
		m := nodeKey.FindStringSubmatch(conf)
		if m == nil || m[1] != node.Address || m[2] != node.ID {
			t.Fatalf("%s: the head has of node1 at %s (%s):\n%s", d.name, node.Address, node.ID, conf)
		}
		keys[m[3]] = true
		expectFile(t, node, "var/lib/hotc/roles/slurmd/slurm.conf", conf)
		hosts, _ := node.Read("var/lib/hotc/roles/slurmd/known_hosts")
		if !strings.HasPrefix(hosts, head.Address+" key-") {
			t.Errorf("%s: node1 knows of its head: %q", d.name, hosts)
		}
	}
	if len(keys) != 2 {
		t.Errorf("the two clusters share node1's key: %v", keys)
	}
}

// Agents that are there before their deployment wait for it, and say so.
func TestApplyLongAfterCreation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, examples+"three-tier/site.yaml")
	d := w.create("late")
	servers := d.stack.Servers(t, 4)
	for _, booted := range servers {
		s := d.server(booted.Path)
		until(t, s.Name+" to wait for its deployment", func() bool {
			log, _ := s.Read("var/log/hotc-agent.log")
			return strings.Contains(log, "hotc apply") || strings.Contains(log, "not applied") || strings.Contains(log, "waits")
		})
	}
	// the time between creation and apply is a user's, whatever the machine is at
	time.Sleep(30 * time.Second)
	if s := d.stack.Status(t); s.Status != "IN_PROGRESS" {
		t.Errorf("without a deployment the stack is %s: %s", s, s.Reason)
	}
	d.apply()
	d.stack.Complete(t)
}

// Nested templates, and groups of nested templates and of servers, whose members
// need each other's values.
func TestNestedTiers(t *testing.T) {
	t.Parallel()
	theBed(t)
	d := worldOn(t, place.zk.URL("hotc"), examples+"tiers/site.yaml", "-e", "testdata/tiers.env.yaml").deploy("tiers")
	d.stack.Complete(t)
	standing := d.status()
	paths := slices.Sorted(maps.Keys(standing))
	want := []string{"app/0/cache/server", "app/0/server", "app/1/cache/server", "app/1/server", "front", "main/server", "spare/server", "worker/0", "worker/1"}
	if !slices.Equal(paths, want) {
		t.Errorf("the servers are %v, not %v", paths, want)
	}
	for path, s := range standing {
		if s.Phase != "done" || s.Incarnation != 1 {
			t.Errorf("%s: %+v", path, s)
		}
	}
	outputs := d.stack.Outputs(t)
	text := func(name string) (value string) {
		do(t, json.Unmarshal(outputs[name].Value, &value))
		return value
	}
	main := "sql://" + d.server("main/server").Address + "/eu-west-main?volume="
	if got := text("database"); !strings.HasPrefix(got, main) {
		t.Errorf("database is %s, not %s…", got, main)
	}
	if got := text("spare"); !strings.Contains(got, "/spare of "+text("database")+"?volume=") {
		t.Errorf("spare, which copies main, is %s", got)
	}
	second := "http://app/?db=" + text("database") + ";cache=cache-of-1;says=hello from eu-west, member 1, of eu-west-main"
	if got := text("second"); got != second {
		t.Errorf("the second backend is %s, not %s", got, second)
	}
	var backends []string
	do(t, json.Unmarshal(outputs["backends"].Value, &backends))
	if len(backends) != 2 || backends[1] != second {
		t.Errorf("backends: %q", backends)
	}
	var seen struct {
		Backends        []string
		Workers         map[string]string
		First, Database string
	}
	do(t, json.Unmarshal(outputs["seen"].Value, &seen))
	// in Heat a group's member is a nested stack with the server in it
	workers := map[string]string{"0": d.server("worker/0/server").Address, "1": d.server("worker/1/server").Address}
	if !slices.Equal(seen.Backends, backends) || seen.First != backends[0] || !maps.Equal(seen.Workers, workers) || seen.Database != text("database") {
		t.Errorf("front has seen %+v", seen)
	}
}
