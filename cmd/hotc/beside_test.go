package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gopkg.in/yaml.v3"
)

// besideVariable names a folder with more cases, such as public cookbooks, modules and roles.
const besideVariable = "HOTC_BESIDE"

// beside is a case: what a role runs, and what it reads.
type beside struct {
	Driver string
	Source map[string]any
	Inputs map[string]any

	folder string // with case.yaml, and what the source names
	shown  string
}

// What a role leaves on a server is what its tool leaves there without hotc: each case runs
// twice, once as a role whose inputs another server publishes one by one while it runs, and once
// as the plain tool, with the same values as literals. Each run is in a file system of its own,
// laid over the machine's, and the files that they wrote are compared.
func TestBesideThePlainTool(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN beside the plain tools: -short")
	}
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no file system can be laid over this machine's: %v: %s", err, out)
	}
	cases, _ := filepath.Glob("../../testdata/beside/*/case.yaml")
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	if more := os.Getenv(besideVariable); more != "" {
		found, _ := filepath.Glob(filepath.Join(more, "*", "case.yaml"))
		if len(found) == 0 {
			t.Fatalf("%s has no cases: %s/*/case.yaml", besideVariable, more)
		}
		cases = append(cases, found...)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			c := readBeside(t, path)
			program := map[string]string{"ansible": "ansible-playbook", "puppet": "puppet", "chef": "chef-solo", "salt": "salt-call"}[c.Driver]
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("SKIPPED: no %s on PATH", program)
			}
			ours := layered(t, c.shown+" under hotc", c.asRole(t))
			plain := layered(t, c.shown+" under "+program, c.asPlainTool(t))
			if len(plain) == 0 {
				t.Fatal("the plain tool wrote nothing")
			}
			for _, name := range slices.Sorted(maps.Keys(both(ours, plain))) {
				if ours[name] != plain[name] {
					t.Errorf("%s is under hotc\n%s\nand under the plain tool\n%s", name, shownFile(ours, name), shownFile(plain, name))
				}
			}
		})
	}
}

func both(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func shownFile(files map[string]string, name string) string {
	text, is := files[name]
	if !is {
		return "not there"
	}
	return fmt.Sprintf("%.2000s", text)
}

func readBeside(t *testing.T, path string) *beside {
	t.Helper()
	text, err := os.ReadFile(path)
	c := &beside{shown: filepath.Base(filepath.Dir(path)), folder: t.TempDir()}
	if err == nil {
		err = yaml.Unmarshal(text, c)
	}
	if err == nil {
		err = os.CopyFS(c.folder, os.DirFS(filepath.Dir(path)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// names are those of the inputs, in order.
func (c *beside) names() []string { return slices.Sorted(maps.Keys(c.Inputs)) }

func (c *beside) write(t *testing.T, name string, content any) string {
	t.Helper()
	text, isText := content.(string)
	if !isText {
		encoded, err := json.MarshalIndent(content, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		text = string(encoded)
	}
	path := filepath.Join(c.folder, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// asRole is the command that runs the case as a role of hotc.
func (c *beside) asRole(t *testing.T) string {
	outputs, inputs := map[string]any{}, map[string]any{}
	script := "#!/bin/sh\n"
	for i, name := range c.names() {
		value, output := c.Inputs[name], fmt.Sprintf("v%d", i)
		kind, text := "json", ""
		switch v := value.(type) {
		case string:
			kind, text = "string", v
		case bool:
			kind = "boolean"
		case int, float64:
			kind = "number"
		case []any:
			kind = "list"
		}
		if kind != "string" {
			encoded, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		script += fmt.Sprintf("sleep 0.2\nprintf %%s '%s' >\"$heat_outputs_path.%s\"\n", strings.ReplaceAll(text, "'", `'\''`), output)
		outputs[output] = map[string]any{"type": kind}
		inputs[name] = map[string]any{"get_attr": []string{"src", output}}
	}
	server := func(role map[string]any) map[string]any {
		return map[string]any{"type": "OS::Nova::Server", "properties": map[string]any{"image": "i", "flavor": "f"},
			"metadata": map[string]any{"hotc": map[string]any{"roles": []any{role}}}}
	}
	c.write(t, "publish.sh", script)
	site := c.write(t, "site.yaml", map[string]any{"heat_template_version": "2018-08-31", "resources": map[string]any{
		"src": server(map[string]any{"name": "publish", "driver": "script", "source": map[string]any{"get_file": "publish.sh"}, "outputs": outputs}),
		"dst": server(map[string]any{"name": "role", "driver": c.Driver, "source": c.Source, "inputs": inputs}),
	}})
	return fmt.Sprintf("PATH='%s':$PATH '%s' run '%s' --workdir /tmp/hotc-work --output", filepath.Dir(binary(t, "hotc-agent")), binary(t, "hotc"), site)
}

// asPlainTool is the command that runs it by the tool alone, with the inputs as its users write
// them: variables, Hiera's data, a node's attributes, a pillar.
func (c *beside) asPlainTool(t *testing.T) string {
	list := func(key string) (paths []string) {
		values, is := c.Source[key].([]any)
		if !is && c.Source[key] != nil {
			values = []any{c.Source[key]}
		}
		for _, v := range values {
			paths = append(paths, filepath.Join(c.folder, v.(string)))
		}
		return paths
	}
	text := func(key, otherwise string) string {
		if v, is := c.Source[key].(string); is {
			return v
		}
		return otherwise
	}
	switch c.Driver {
	case "ansible":
		vars := c.write(t, "plain/vars.json", nested(nil, c.Inputs, "."))
		inventory := c.write(t, "plain/inventory", "localhost ansible_connection=local ansible_python_interpreter=/usr/bin/python3\n")
		return fmt.Sprintf("cd '%s' && ansible-playbook -i '%s' -e '@%s' '%s'", list("playbooks")[0], inventory, vars, text("playbook", "site.yml"))
	case "puppet":
		data := c.write(t, "plain/data/inputs.json", c.Inputs)
		hiera := c.write(t, "plain/hiera.yaml", map[string]any{"version": 5, "hierarchy": []any{map[string]any{"name": "inputs", "path": data, "data_hash": "json_data"}}})
		manifest := text("manifest", "")
		classes, _ := c.Source["classes"].([]any)
		for _, class := range classes {
			manifest = fmt.Sprintf("include %s\n", class) + manifest
		}
		modules := ""
		if paths := list("modulepath"); len(paths) > 0 {
			modules = "--modulepath '" + strings.Join(paths, ":") + "' "
		}
		return fmt.Sprintf("puppet apply --hiera_config '%s' %s'%s'", hiera, modules, c.write(t, "plain/site.pp", manifest))
	case "chef":
		own, _ := c.Source["attributes"].(map[string]any)
		node := nested(own, c.Inputs, ".")
		node["run_list"] = c.Source["run_list"]
		attributes := c.write(t, "plain/node.json", node)
		paths, _ := json.Marshal(list("cookbooks"))
		config := c.write(t, "plain/solo.rb", fmt.Sprintf("cookbook_path %s\nfile_cache_path '/var/chef/cache'\nnode_name 'n'\n", paths))
		return fmt.Sprintf("chef-solo -c '%s' -j '%s' --no-color", config, attributes)
	case "salt":
		own, _ := c.Source["pillar"].(map[string]any)
		c.write(t, "plain/pillar/top.sls", map[string]any{"base": map[string]any{"*": []string{"inputs"}}})
		c.write(t, "plain/pillar/inputs.sls", nested(own, c.Inputs, ":"))
		c.write(t, "plain/etc/minion", map[string]any{"file_client": "local", "id": "n", "root_dir": "/tmp/salt", "file_roots": map[string]any{"base": list("file_roots")},
			"pillar_roots": map[string]any{"base": []string{filepath.Join(c.folder, "plain/pillar")}}})
		sls, _ := c.Source["sls"].([]any)
		var names []string
		for _, name := range sls {
			names = append(names, fmt.Sprint(name))
		}
		return fmt.Sprintf("mkdir -p /tmp/salt && salt-call -c '%s' --local --retcode-passthrough state.apply %s", filepath.Join(c.folder, "plain/etc"), strings.Join(names, ","))
	}
	t.Fatalf("no plain tool for driver %s", c.Driver)
	return ""
}

// nested puts inputs with dotted names into a tree.
func nested(own, inputs map[string]any, separator string) map[string]any {
	tree := map[string]any{}
	maps.Copy(tree, own)
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		at, keys := tree, strings.Split(name, separator)
		for _, key := range keys[:len(keys)-1] {
			below, _ := at[key].(map[string]any)
			next := map[string]any{}
			maps.Copy(next, below)
			at[key], at = next, next
		}
		at[keys[len(keys)-1]] = inputs[name]
	}
	return tree
}

// layered runs a command in a file system that is laid over the machine's, and returns what it
// wrote there.
func layered(t *testing.T, what, command string) map[string]string {
	t.Helper()
	base := t.TempDir()
	for _, name := range []string{"upper", "work", "root"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const enter = `cd "$1" && mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root &&
mount -t proc proc root/proc && mount --rbind /dev root/dev && mount --rbind /sys root/sys &&
exec chroot root env -i HOME=/root LANG=C.UTF-8 TERM=dumb "PATH=$PATH" sh -c "cd / && $2"`
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "-m", "--propagation", "private", "sh", "-c", enter, "sh", base, command)
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s\n%.6000s", what, err, command, printed)
	}
	return writtenBelow(t, filepath.Join(base, "upper"))
}

// own are the folders of the tools and of hotc themselves.
var own = []string{"/tmp", "/run", "/proc", "/dev", "/sys", "/var/chef", "/var/cache", "/var/log", "/var/run", "/var/lib/puppet", "/var/cache/puppet", "/opt/puppetlabs/puppet/cache", "/etc/puppet/ssl",
	"/etc/chef", "/root/.chef", "/root/.ansible", "/root/.cache", "/root/.puppet", "/root/.puppetlabs", "/root/.local", "/root/.config"}

// writtenBelow are the files, links and removals in an upper layer, each as a text.
func writtenBelow(t *testing.T, upper string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(upper, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, upper)
		if slices.Contains(own, name) || entry.Name() == "__pycache__" {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if err != nil || entry.IsDir() {
			return err
		}
		stat, is := info.Sys().(*syscall.Stat_t)
		if !is {
			return errors.New("no owner")
		}
		text := fmt.Sprintf("%v %d:%d", info.Mode(), stat.Uid, stat.Gid)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			files[name] = text + " -> " + target
			return err
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			files[name] = text + "\n" + string(content)
			return err
		}
		files[name] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
