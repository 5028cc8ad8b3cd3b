package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/source"
)

// A parameter that a template does not read may still be set: by an environment, or by a template that
// nests this one, perhaps by a registry. Heat then refuses the template without it. So guesses about
// parameters are left where one of the files around sets them.

// others are what the files around templates set and nest, each with one of the files that says so.
type others struct {
	sets  map[string]string // by key of an environment
	nests map[string]string // by template, with its absolute path
	read  map[string]bool   // folders
	// folders are those to lint, by template; roots are what is read around a folder.
	folders, roots map[string]string
	// unknown is why not all of them are known; "" if they are.
	unknown string
}

// mostOthers is how many files are looked at.
const mostOthers = 20_000

func newOthers(r *run) *others {
	o := &others{sets: map[string]string{}, nests: map[string]string{}, read: map[string]bool{}, folders: map[string]string{}, roots: map[string]string{}}
	for _, t := range r.targets {
		if t.Folder != "" {
			o.folders[absolute(t.Path)] = absolute(t.Folder)
		}
	}
	for _, name := range r.Compile.Environments {
		if text, err := os.ReadFile(name); err == nil {
			o.note(absolute(name), text)
		}
	}
	return o
}

// against says why a guess about parameters of a template is left: another file sets one of them, or
// may do so. It is "" if none does.
func (o *others) against(ctx context.Context, r *run, path string, parameters []string) (string, error) {
	if err := o.look(ctx, r.Untrusted, path); err != nil {
		return "", err
	}
	for _, name := range parameters {
		if by := o.sets[name]; by != "" {
			return by + " sets the parameter", nil
		}
	}
	if by := o.nests[path]; by != "" {
		return by + " uses the template, and may set the parameter", nil
	}
	return o.unknown, nil
}

// look reads the environments and templates around one: those of its repository, or else of the folder
// to lint. With an untrusted template no files from elsewhere are read.
func (o *others) look(ctx context.Context, untrusted bool, path string) error {
	dir := cmp.Or(o.folders[path], filepath.Dir(path))
	root := o.roots[dir]
	if root == "" {
		root = dir
		for up := dir; !untrusted && up != filepath.Dir(up); up = filepath.Dir(up) {
			if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
				root = up
				break
			}
		}
		o.roots[dir] = root
	}
	if o.read[root] {
		return nil
	}
	o.read[root] = true
	files := 0
	return filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			o.unknown = "cannot look for files that set the parameter: " + err.Error()
			return nil
		case e.IsDir() && name != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular() || !slices.Contains(endings, filepath.Ext(name)):
			return nil
		}
		if files++; files > mostOthers {
			o.unknown = fmt.Sprintf("more than %d files in %s might set the parameter", mostOthers, root)
			return fs.SkipAll
		}
		text, err := head(os.DirFS(filepath.Dir(name)), e.Name())
		if err == nil && len(text) == mostHead && settingKey.Match(text) {
			err = errors.New("it is too large")
		}
		if err != nil {
			o.unknown = fmt.Sprintf("%s might set the parameter, and cannot be read: %v", name, err)
			return nil
		}
		o.note(name, text)
		return nil
	})
}

var (
	settingKey = regexp.MustCompile(`(?m)(^|[{,]\s*)["']?(parameters|parameter_defaults|resource_registry)["']?\s*:`)
	anyKey     = regexp.MustCompile(`([\w.-]+)["']?\s*:`)
	anyWord    = regexp.MustCompile(`[^\s"',{}]+`)
)

// note notes what an environment sets and maps, or what a template nests.
func (o *others) note(path string, text []byte) {
	if versionKey.Match(text) {
		for _, nested := range (Target{Path: path, Text: text}).names() {
			o.nests[nested] = path
		}
		return
	}
	if !settingKey.Match(text) {
		return
	}
	for _, m := range anyKey.FindAllSubmatch(text, -1) {
		o.sets[string(m[1])] = path
	}
	for _, word := range anyWord.FindAll(text, -1) {
		if name := string(word); environment.IsTemplate(name) {
			if mapped, err := source.Locate(name, filepath.Dir(path)); err == nil {
				o.nests[absolute(mapped)] = path
			}
		}
	}
}
