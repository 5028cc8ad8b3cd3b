package lint

import (
	"context"
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

// others are what the files around templates set and nest.
type others struct {
	sets  map[string]bool // keys of environments
	nests map[string]bool // templates, by absolute path
	read  map[string]bool // folders
	// unknown says that there are too many files to tell.
	unknown bool
}

// mostOthers is how many files are looked at.
const mostOthers = 20_000

// mayGuess reports whether nobody else sets the parameters of which a finding's fix changes the meaning.
func (m *mending) mayGuess(ctx context.Context, f Finding) (bool, error) {
	if len(f.Fix.Parameters) == 0 {
		return true, nil
	}
	path := absolute(f.File)
	if err := m.others.look(ctx, m.run, path); err != nil {
		return false, err
	}
	return !m.others.unknown && !m.others.nests[path] && !slices.ContainsFunc(f.Fix.Parameters, func(name string) bool { return m.others.sets[name] }), nil
}

// look reads the environments and templates around one: those of its repository, or else of the folder
// to lint. Untrusted templates may not be read with files from elsewhere.
func (o *others) look(ctx context.Context, r *run, path string) error {
	dir := filepath.Dir(path)
	for _, t := range r.targets {
		if t.Folder != "" && absolute(t.Path) == path {
			dir = absolute(t.Folder)
		}
	}
	for up := dir; !r.Untrusted; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
			dir = up
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if o.read == nil {
		*o = others{sets: map[string]bool{}, nests: map[string]bool{}, read: map[string]bool{}}
		for _, name := range r.Compile.Environments {
			if text, err := os.ReadFile(name); err == nil {
				o.note(absolute(name), text)
			}
		}
	}
	if o.read[dir] {
		return nil
	}
	o.read[dir] = true
	files := 0
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			o.unknown = true
			return nil
		case e.IsDir() && name != dir && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular() || !slices.Contains(endings, filepath.Ext(name)):
			return nil
		}
		if files++; files > mostOthers {
			o.unknown = true
			return fs.SkipAll
		}
		text, err := head(os.DirFS(filepath.Dir(name)), e.Name())
		if err != nil || len(text) == mostHead {
			o.unknown = true
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
			o.nests[nested] = true
		}
		return
	}
	if !settingKey.Match(text) {
		return
	}
	for _, m := range anyKey.FindAllSubmatch(text, -1) {
		o.sets[string(m[1])] = true
	}
	for _, word := range anyWord.FindAll(text, -1) {
		if name := string(word); environment.IsTemplate(name) {
			if mapped, err := source.Locate(name, filepath.Dir(path)); err == nil {
				o.nests[absolute(mapped)] = true
			}
		}
	}
}
