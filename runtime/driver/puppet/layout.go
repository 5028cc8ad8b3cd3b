package puppet

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
	"github.com/hotc-dev/hotc/runtime/socket"
)

//go:embed ruby
var interceptor embed.FS

// layout is a job's folder for a run of Puppet:
//
//	configuration/              puppet.conf and hiera.yaml, the global layer
//	environments/hotc           link to the tree with the environment or with Hiera's data
//	modules/                    single modules, the interceptor's among them
//	modulepath0/ …              the user's folders of modules
//	manifest/                   the user's manifest
//	library/                    the interceptor
type layout struct {
	job    *driver.Job
	source source
}

func (at *layout) in(names ...string) string {
	return filepath.Join(append([]string{at.job.Folder}, names...)...)
}

func (at *layout) configuration() string { return at.in("configuration") }
func (at *layout) failure() string       { return at.in("failure") }

// state is Puppet's own persistent folder, such as for backups of replaced files.
func (at *layout) state() string { return filepath.Join(at.job.Work, "puppet") }

func (at *layout) environment() string { return at.in("environments", "hotc") }

// manifest returns the arguments that name what to apply.
func (at *layout) manifest() []string {
	if name, err := os.Readlink(at.in("manifest-link")); err == nil {
		return []string{name}
	}
	if at.source.Environment != nil {
		name := cmp.Or(at.environmentSetting("manifest"), "manifests")
		if !filepath.IsAbs(name) {
			name = filepath.Join(at.environment(), name)
		}
		if _, err := os.Stat(name); err == nil {
			return []string{name}
		}
	}
	return []string{"--execute", ""}
}

func (at *layout) make(ctx context.Context) error {
	for _, folder := range []string{at.configuration(), at.in("environments"), at.in("modules"), at.state()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return fmt.Errorf("create a folder of the run: %w", err)
		}
	}
	steps := []func(context.Context) error{at.fetchManifest, at.fetchEnvironment, at.fetchModules}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return errors.Join(at.configure(), unpack("ruby/hotc", at.in("library", "hotc")), unpack("ruby/puppet", at.in("library", "puppet")),
		unpack("ruby/module", at.in("modules", "hotc")), os.WriteFile(at.in("library", "hotc", "agent.rb"), socket.RubyClient, 0o600))
}

func (at *layout) fetchManifest(ctx context.Context) error {
	m := at.source.Manifest
	if m == nil {
		return nil
	}
	var path string
	var err error
	if m.Text != "" {
		path, err = at.writeManifest(ctx, m)
	} else {
		path, err = fetch.Tree(ctx, at.job, m.Origin, "manifest")
	}
	if err != nil {
		return err
	}
	return os.Symlink(path, at.in("manifest-link"))
}

func (at *layout) writeManifest(ctx context.Context, m *manifest) (string, error) {
	if !filepath.IsLocal(m.Name) || filepath.Base(m.Name) != m.Name {
		return "", fmt.Errorf("the plan's manifest has the invalid name %q", m.Name)
	}
	path := at.in("manifest", m.Name)
	return path, at.job.Fetch(ctx, m.Text, "manifest", path, 0o600)
}

// fetchEnvironment fetches the environment, or creates an empty one.
func (at *layout) fetchEnvironment(ctx context.Context) error {
	origin, what := at.source.Environment, "environment"
	if origin == nil {
		origin, what = at.source.Hiera, "hiera"
	}
	if origin == nil {
		return os.Mkdir(at.environment(), 0o700)
	}
	path, err := fetch.Tree(ctx, at.job, *origin, what)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, "hiera.yaml")); err != nil && what == "hiera" {
		return fmt.Errorf("hiera: the fetched tree has no hiera.yaml")
	}
	if err := os.Symlink(path, at.environment()); err != nil {
		return err
	}
	return at.extendModulePath()
}

func (at *layout) fetchModules(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(at.source.Modules)) {
		path, err := fetch.Tree(ctx, at.job, at.source.Modules[name], "module-"+name)
		if err != nil {
			return err
		}
		if path, err = moduleIn(path); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		if err := os.Symlink(path, at.in("modules", name)); err != nil {
			return err
		}
	}
	for i, origin := range at.source.ModulePath {
		name := fmt.Sprintf("modulepath%d", i)
		path, err := fetch.Tree(ctx, at.job, origin, name)
		if err != nil {
			return err
		}
		if path != at.in(name) {
			if err := os.Symlink(path, at.in(name+"-part")); err != nil {
				return err
			}
		}
	}
	return nil
}

// moduleIn returns the folder of a fetched module: the tree itself, or its only folder, as
// in release archives.
func moduleIn(path string) (string, error) {
	for range 2 {
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			switch e.Name() {
			case "metadata.json", "manifests", "lib", "functions", "types", "files", "templates", "data":
				return path, nil
			}
		}
		if len(entries) != 1 || !entries[0].IsDir() {
			break
		}
		path = filepath.Join(path, entries[0].Name())
	}
	return "", errors.New("the fetched tree is not a module: it has neither metadata.json nor manifests/ nor lib/")
}

// installed are the folders of a server's own modules.
var installed = []string{"/etc/puppet/code/modules", "/usr/share/puppet/modules", "/etc/puppetlabs/code/modules", "/opt/puppetlabs/puppet/modules"}

// modulePath returns the folders of modules besides the environment's own.
func (at *layout) modulePath() string {
	var folders []string
	for i := range at.source.ModulePath {
		folder := at.in(fmt.Sprintf("modulepath%d", i))
		if part, err := os.Readlink(folder + "-part"); err == nil {
			folder = part
		}
		folders = append(folders, folder)
	}
	return strings.Join(append(append([]string{at.in("modules")}, folders...), installed...), ":")
}

// settingLine matches a setting in environment.conf.
func settingLine(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*` + name + `[ \t]*=[ \t]*(.*?)[ \t\r]*$`)
}

func (at *layout) environmentSetting(name string) string {
	text, err := os.ReadFile(filepath.Join(at.environment(), "environment.conf"))
	if err != nil {
		return ""
	}
	if found := settingLine(name).FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// extendModulePath adds $basemodulepath, which has the interceptor's module, to an
// environment's own module path if it is missing.
func (at *layout) extendModulePath() error {
	own := at.environmentSetting("modulepath")
	if own == "" || strings.Contains(own, "$basemodulepath") {
		return nil
	}
	path := filepath.Join(at.environment(), "environment.conf")
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	line := settingLine("modulepath").FindIndex(text)
	text = slices.Concat(text[:line[0]], []byte("modulepath = "+own+":$basemodulepath"), text[line[1]:])
	return os.WriteFile(path, text, 0o600)
}

const hieraConfiguration = `version: 5
hierarchy:
  - name: "inputs of the role"
    lookup_key: hotc::lookup
`

func (at *layout) configure() error {
	if strings.Contains(at.modulePath()+at.state(), "$") {
		return fmt.Errorf("the run's folders contain a $, which Puppet expands: %s, %s", at.job.Folder, at.job.Work)
	}
	var conf strings.Builder
	conf.WriteString("[main]\n")
	for _, line := range [][2]string{
		{"vardir", at.state()}, {"rundir", filepath.Join(at.state(), "run")}, {"logdir", filepath.Join(at.state(), "log")},
		{"codedir", at.configuration()}, {"ssldir", filepath.Join(at.state(), "ssl")}, {"publicdir", filepath.Join(at.state(), "public")},
		{"environmentpath", at.in("environments")}, {"environment", "hotc"}, {"basemodulepath", at.modulePath()},
		{"libdir", at.in("library")}, {"node_terminus", "hotc"}, {"hiera_config", filepath.Join(at.configuration(), "hiera.yaml")},
	} {
		fmt.Fprintf(&conf, "%s = %s\n", line[0], line[1])
	}
	for _, name := range slices.Sorted(maps.Keys(at.source.Settings)) {
		fmt.Fprintf(&conf, "%s = %v\n", name, at.source.Settings[name])
	}
	return errors.Join(os.WriteFile(filepath.Join(at.configuration(), "puppet.conf"), []byte(conf.String()), 0o600),
		os.WriteFile(filepath.Join(at.configuration(), "hiera.yaml"), []byte(hieraConfiguration), 0o600))
}

// unpack writes a part of the interceptor.
func unpack(from, to string) error {
	part, err := fs.Sub(interceptor, from)
	if err != nil {
		return err
	}
	return driver.Unpack(part, to)
}

// The plan of a run, for the interceptor.
type (
	runPlan struct {
		Socket  string            `json:"socket"`
		Failure string            `json:"failure"`
		Classes []string          `json:"classes"`
		Inputs  []driver.Declared `json:"inputs"`
		Outputs []runOutput       `json:"outputs"`
	}
	runOutput struct {
		Name string `json:"name"`
		output
	}
)

func (at *layout) writePlan() error {
	p := runPlan{Socket: at.job.Variable(socket.Variable), Failure: at.failure(), Classes: append([]string{}, at.source.Classes...), Outputs: []runOutput{}}
	p.Inputs, _ = driver.Declare(at.job.Role, nil, nil)
	for _, o := range at.job.Role.Outputs {
		if of, known := at.source.Outputs[o.Name]; known { // a hook's source has none
			p.Outputs = append(p.Outputs, runOutput{o.Name, of})
		}
	}
	return driver.WriteConfig(at.in("library", "hotc", "plan.json"), p)
}
