package chef

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
	"github.com/hotc-dev/hotc/runtime/fetch"
	"github.com/hotc-dev/hotc/runtime/process"
	"github.com/hotc-dev/hotc/runtime/socket"
)

// The folders of a Chef repository.
const (
	cookbooks    = "cookbooks"
	roles        = "roles"
	dataBags     = "data_bags"
	environments = "environments"
)

// repository is a role's Chef repository on the server, in the job's folder:
//
//	chef/            configuration, node's JSON, the interceptor, the saved node
//	chef.paths       where the trees are
//	cookbooks-1 …    the fetched trees
type repository struct {
	job *driver.Job
	// Paths are the folders that Chef reads, by content. In local mode Chef uses the first
	// cookbook of a name (lib/chef/chef_fs/file_system/multiplexed_dir.rb).
	Paths map[string][]string
}

func (r *repository) folder() string { return filepath.Join(r.job.Folder, "chef") }
func (r *repository) notes() string  { return filepath.Join(r.job.Folder, "chef.paths") }

// makeRepository fetches the trees of a source.
func makeRepository(ctx context.Context, job *driver.Job, s source) (*repository, error) {
	r := &repository{job: job, Paths: map[string][]string{}}
	var first string
	if s.Repository != nil {
		tree, err := fetch.Tree(ctx, job, *s.Repository, "repository")
		if err != nil {
			return nil, err
		}
		first = tree
		r.adopt(tree)
	}
	for i, origin := range s.Cookbooks {
		tree, err := fetch.Tree(ctx, job, origin, fmt.Sprintf("cookbooks-%d", i+1))
		if err != nil {
			return nil, err
		}
		first = cmp.Or(first, tree)
		r.Paths[cookbooks] = append(r.Paths[cookbooks], tree)
	}
	for _, part := range []struct {
		name   string
		origin *fetch.Origin
	}{{roles, s.Roles}, {dataBags, s.DataBags}, {environments, s.Environments}} {
		if part.origin == nil {
			continue
		}
		tree, err := fetch.Tree(ctx, job, *part.origin, part.name)
		if err != nil {
			return nil, err
		}
		r.Paths[part.name] = []string{tree}
	}
	if err := r.prepare(ctx, s.Prepare, first); err != nil {
		return nil, err
	}
	if err := r.arrange(); err != nil {
		return nil, err
	}
	return r, driver.WriteConfig(r.notes(), r.Paths)
}

// openRepository finds what makeRepository has created.
func openRepository(job *driver.Job) (*repository, error) {
	r := &repository{job: job}
	text, err := os.ReadFile(r.notes())
	if err == nil {
		err = json.Unmarshal(text, &r.Paths)
	}
	if err != nil {
		return nil, fmt.Errorf("find Chef's repository: %w", err)
	}
	return r, nil
}

// adopt adds the folders of a whole Chef repository.
func (r *repository) adopt(tree string) {
	for _, names := range [][]string{{cookbooks, "site-cookbooks", cookbooks}, {roles, roles}, {dataBags, dataBags}, {environments, environments}} {
		for _, name := range names[1:] {
			if isFolder(filepath.Join(tree, name)) {
				r.Paths[names[0]] = append(r.Paths[names[0]], filepath.Join(tree, name))
			}
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// preparation limits a `prepare` command.
const preparation = 30 * time.Minute

// prepare runs a command in the first tree, which may create cookbooks in a folder.
func (r *repository) prepare(ctx context.Context, command, in string) error {
	if command == "" {
		return nil
	}
	folder := filepath.Join(r.job.Folder, "prepared")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	in = cmp.Or(in, r.job.Work)
	ctx, cancel := context.WithTimeoutCause(ctx, preparation, fmt.Errorf("prepare: it took longer than %v", preparation))
	defer cancel()
	cmd := exec.Command("/bin/sh", "-e", "-c", command)
	cmd.Dir = in
	cmd.Env = append(environment(r.job), "hotc_cookbooks="+folder)
	text, exit, err := process.Output(ctx, cmd, r.job.Grace)
	fmt.Fprintf(r.job.Stderr, "%s", text)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("prepare: %w", err)
	case !exit.OK():
		return fmt.Errorf("prepare: %s: %s", exit, process.LastLine(text))
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // for tools that create it themselves
		return fmt.Errorf("prepare: %w", err)
	}
	if len(entries) > 0 {
		r.Paths[cookbooks] = append([]string{folder}, r.Paths[cookbooks]...)
	}
	return nil
}

// arrange renames each tree's cookbooks to folders of their own names, as Chef requires.
// A tree may be a cookbook itself, or contain folders with other names, such as web-1.2.0.
func (r *repository) arrange() error {
	found := 0
	for i, tree := range r.Paths[cookbooks] {
		if isCookbook(tree) {
			name, err := cookbookName(tree)
			if err != nil {
				return err
			}
			around := filepath.Join(r.job.Folder, fmt.Sprintf("cookbook-%d", i+1))
			if err := errors.Join(os.RemoveAll(around), os.Mkdir(around, 0o700)); err != nil {
				return err
			}
			if err := os.Rename(tree, filepath.Join(around, name)); err != nil {
				return err
			}
			r.Paths[cookbooks][i] = around
			found++
			continue
		}
		n, err := renameCookbooks(tree)
		if err != nil {
			return err
		}
		found += n
	}
	if found == 0 {
		return errors.New("the source contains no cookbook: no folder has a metadata.rb or metadata.json")
	}
	return nil
}

func renameCookbooks(tree string) (found int, err error) {
	entries, err := os.ReadDir(tree)
	if err != nil {
		return 0, fmt.Errorf("look for cookbooks: %w", err)
	}
	for _, entry := range entries {
		folder := filepath.Join(tree, entry.Name())
		if !isCookbook(folder) {
			continue
		}
		found++
		name, err := cookbookName(folder)
		if err != nil {
			return 0, err
		}
		if name == entry.Name() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(tree, name)); !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("the folders %s and %s contain the same cookbook", entry.Name(), name)
		}
		if err := os.Rename(folder, filepath.Join(tree, name)); err != nil {
			return 0, err
		}
	}
	return found, nil
}

// configure writes Chef's input files, and returns its arguments.
func (r *repository) configure(s source) ([]string, error) {
	folder := r.folder()
	for _, part := range []string{roles, dataBags, environments} {
		// Chef warns of a missing folder.
		if err := os.MkdirAll(filepath.Join(folder, part), 0o700); err != nil {
			return nil, err
		}
		if len(r.Paths[part]) == 0 {
			r.Paths[part] = []string{filepath.Join(folder, part)}
		}
	}
	hook, err := r.intercept(s)
	if err != nil {
		return nil, err
	}
	config, node := filepath.Join(folder, "solo.rb"), filepath.Join(folder, "node.json")
	text, err := r.config(s, hook)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	attributes := map[string]any{}
	if len(s.Attributes) > 0 {
		if err := json.Unmarshal(s.Attributes, &attributes); err != nil {
			return nil, fmt.Errorf("attributes: %w", err)
		}
	}
	attributes["run_list"] = s.RunList
	if err := driver.WriteConfig(node, attributes); err != nil {
		return nil, err
	}
	arguments := []string{"-c", config, "-j", node, "--no-color"}
	if s.Mode == "client" {
		arguments = append([]string{"--local-mode"}, arguments...)
	}
	return arguments, nil
}

// intercept writes the interceptor and its configuration. It returns the file to require.
func (r *repository) intercept(s source) (string, error) {
	folder := filepath.Join(r.folder(), "hotc")
	if err := WriteInterceptor(folder); err != nil {
		return "", err
	}
	plan := s.interception(r.job.Role)
	plan.Socket, plan.Failure = r.job.Variable(socket.Variable), r.failureFile()
	return filepath.Join(folder, "hotc.rb"), driver.WriteConfig(filepath.Join(folder, "plan.json"), plan)
}

// WriteInterceptor writes the interceptor, FOLDER/hotc.rb, which reads what the role
// declares from FOLDER/plan.json.
func WriteInterceptor(folder string) error {
	parts, err := fs.Sub(interceptor, "ruby")
	if err != nil {
		return err
	}
	if err := driver.Unpack(parts, folder); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "agent.rb"), socket.RubyClient, 0o600)
}

// config is Chef's configuration: the user's lines, then the required ones. The recipes'
// files (Chef::Config[:file_cache_path]) are in the role's working folder, since users
// other than root may have to read them.
func (r *repository) config(s source, hook string) (string, error) {
	cache := r.cache()
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	var b strings.Builder
	if s.Config != "" {
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(s.Config, "\n"))
	}
	set := func(name, value string) { fmt.Fprintf(&b, "%s %s\n", name, value) }
	set("local_mode", "true")
	set("chef_repo_path", quoted(r.folder()))
	for _, setting := range [][2]string{{"cookbook_path", cookbooks}, {"role_path", roles}, {"data_bag_path", dataBags}, {"environment_path", environments}} {
		var paths []string
		for _, path := range r.Paths[setting[1]] {
			paths = append(paths, quoted(path))
		}
		set(setting[0], "["+strings.Join(paths, ", ")+"]")
	}
	set("node_path", quoted(filepath.Join(r.folder(), "nodes")))
	set("file_cache_path", quoted(cache))
	set("file_backup_path", quoted(filepath.Join(r.job.Work, "backup")))
	if s.Environment != "" {
		set("environment", quoted(s.Environment))
	}
	if slices.ContainsFunc(r.job.Role.Inputs, func(in contract.Input) bool { return in.Secret }) {
		set("diff_disabled", "true") // Chef prints the lines of a file that it changes
	}
	set("require", quoted(hook))
	return b.String(), nil
}

func (r *repository) cache() string { return filepath.Join(r.job.Work, "cache") }

// cleanUp removes Chef's own files from the cache: copies of the cookbooks, and the stack
// trace, whose message may contain a secret. The role's log has it masked.
func (r *repository) cleanUp() {
	for _, product := range []string{"chef", "cinc"} {
		for _, name := range []string{"-stacktrace.out", "-client-running.pid"} {
			os.Remove(filepath.Join(r.cache(), product+name))
		}
	}
	os.RemoveAll(filepath.Join(r.cache(), "cookbooks"))
}

// quoted returns a text as a Ruby string without interpolation.
func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
