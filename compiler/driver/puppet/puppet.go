// Package puppet is the compiler's half of the puppet driver: a manifest, an
// environment (a control repository), modules and Hiera data, as Puppet's users
// have them.
//
//	source: {get_file: site.pp}            a manifest's text alone
//	source:
//	  manifest: {get_file: site.pp}        the text, or where a file or a folder of manifests comes from
//	  environment: {git: …, tag: v1}       manifests/, modules/, hiera.yaml, data/, environment.conf
//	  hiera: ./hiera                       a folder with hiera.yaml and its data, where there is no environment
//	  modules: {apache: {url: …}}          single modules, by their names
//	  modulepath: ./modules                folders of modules
//	  classes: [apache]                    classes that the node has, as from a classifier
//	  settings: {ordering: title-hash}     lines of puppet.conf
package puppet

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Driver is the puppet driver.
type Driver struct{}

// Name is "puppet".
func (Driver) Name() string { return "puppet" }

// InstallsFrom implements driver.Installable.
func (Driver) InstallsFrom() []string { return []string{"packages", "url"} }

// keys are those of a source that is a map.
var keys = []string{"manifest", "environment", "hiera", "modules", "modulepath", "classes", "settings"}

const hint = "`source: {get_file: site.pp}`, or a map with manifest, environment or classes; docs/puppet.md shows all forms"

// Lower checks a role's source. What it means is the source again, with digests in
// the place of files.
func (Driver) Lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	if role.NamesFile(diags) {
		return nil
	}
	l := &lowering{role: role, diags: diags, value: value.NewDict()}
	before := len(diags.All())
	switch src := role.Source.(type) {
	case nil:
		diags.Error(source.BadSource, role.At, fmt.Sprintf("role %q has no source: the puppet driver needs a manifest, an environment or classes", role.Name), hint)
	case string:
		l.text(src, role.SourceFile)
	case *value.Dict:
		l.dict(src)
	default:
		l.bad("", "the source of role %q must be a manifest's text or a map, not %s", role.Name, value.TypeName(src))
	}
	names := l.names()
	if len(diags.All()) > before && diags.Failed() {
		return nil
	}
	l.value.Set("outputs", names)
	return &program.Meaning{Source: l.value, Files: l.files, Sequence: l.sequence()}
}

type lowering struct {
	role  driver.Role
	diags *source.Diagnostics
	value *value.Dict
	files []program.File
	// starts are the inputs that are read before Puppet is started.
	starts []string
	code   code
}

// bad reports what is wrong with a part of the source; key is "" for the whole.
func (l *lowering) bad(key, format string, args ...any) {
	at := l.role.SourceAt
	if key != "" {
		at = l.role.Locate(key)
	}
	l.diags.Error(source.BadSource, at, fmt.Sprintf(format, args...), hint)
}

// text is a manifest's.
func (l *lowering) text(text, file string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		l.bad("", "the manifest of role %q is empty", l.role.Name)
		return
	case file == "" && !strings.ContainsAny(trimmed, " \n{") && (strings.HasSuffix(trimmed, ".pp") || strings.ContainsRune(trimmed, '/')):
		l.bad("", "the manifest of role %q is the text %q, which is a file's name: `{get_file: %s}` is its text, `{manifest: {folder: %s}}` a folder of manifests", l.role.Name, trimmed, trimmed, trimmed)
		return
	}
	name := l.role.Name + ".pp"
	if file != "" {
		name = path.Base(file)
	}
	l.code.add(name, text)
	travels := driver.NewFile(name, []byte(text))
	l.files = append(l.files, travels)
	manifest := value.NewDict()
	manifest.Set("text", travels.Digest)
	manifest.Set("name", fileName.ReplaceAllString(strings.TrimSuffix(name, ".pp"), "_")+".pp")
	l.value.Set("manifest", manifest)
}

// fileName is what is not put into the name of a file on the server.
var fileName = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func (l *lowering) dict(src *value.Dict) {
	for _, key := range src.Keys() {
		value, _ := src.Get(key)
		switch key {
		case "manifest":
			l.manifest(value)
		case "environment", "hiera":
			l.tree(key, value)
		case "modules":
			l.modules(value)
		case "modulepath":
			l.modulepath(value)
		case "classes":
			l.classes(value)
		case "settings":
			l.settings(value)
		default:
			l.diags.Error(source.BadSource, l.role.Locate(key), fmt.Sprintf("a source of the puppet driver has no key %q", key), driver.KeyHint(key, keys))
		}
	}
	has := func(key string) bool { _, there := src.Get(key); return there }
	switch {
	case !has("manifest") && !has("environment") && !has("classes"):
		l.bad("", "the source of role %q says nothing to apply: it has no manifest, no environment and no classes", l.role.Name)
	case has("hiera") && has("environment"):
		l.bad("hiera", "an environment has its own hiera.yaml: hiera and environment exclude each other")
	}
}

func (l *lowering) manifest(val value.Value) {
	switch val := val.(type) {
	case string:
		l.text(val, l.role.FileOf("manifest"))
	case *value.Dict:
		l.tree("manifest", val)
	default:
		l.bad("manifest", "the manifest of role %q must be a text or say where its files come from, not %s", l.role.Name, value.TypeName(val))
	}
}

// tree is a tree of files; a local one is looked into.
func (l *lowering) tree(key string, val value.Value) {
	origin := l.origin(val, key)
	if origin == nil {
		return
	}
	l.value.Set(key, origin.Value)
	if folder, _ := l.role.Beside(val); key == "hiera" && folder != nil {
		if _, err := fs.Stat(folder, "hiera.yaml"); err != nil {
			l.bad(key, "the folder of hiera has no hiera.yaml, which says where its data are")
		}
	}
}

func (l *lowering) origin(val value.Value, keys ...string) *driver.Origin {
	origin := l.role.Origin(val, l.diags, keys...)
	if origin == nil {
		return nil
	}
	l.files = append(l.files, origin.Files...)
	l.addTree(l.role.Beside(val))
	if key := origin.Key; key != "" && !slices.Contains(l.starts, key) {
		l.starts = append(l.starts, key)
	}
	return origin
}

var moduleForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (l *lowering) modules(val value.Value) {
	named, ok := val.(*value.Dict)
	if !ok {
		l.bad("modules", "modules must be a map from a module's name to where it comes from, not %s; folders of modules are named by modulepath", value.TypeName(val))
		return
	}
	modules := value.NewDict()
	for _, name := range named.Keys() {
		v, _ := named.Get(name)
		if !moduleForm.MatchString(name) || name == "hotc" {
			l.diags.Error(source.BadSource, l.role.Locate("modules", name), fmt.Sprintf("%q cannot be the name of a module", name),
				"the name is what manifests use, such as apache: without the author's, puppetlabs-")
			continue
		}
		if origin := l.origin(v, "modules", name); origin != nil {
			modules.Set(name, origin.Value)
		}
	}
	l.value.Set("modules", modules)
}

func (l *lowering) modulepath(val value.Value) {
	list, ok := val.([]value.Value)
	if !ok {
		list = []value.Value{val}
	}
	var folders []value.Value
	for _, v := range list {
		if origin := l.origin(v, "modulepath"); origin != nil {
			folders = append(folders, origin.Value)
		}
	}
	l.value.Set("modulepath", folders)
}

var classForm = regexp.MustCompile(`^[a-z]\w*(::[a-z]\w*)*$`)

func (l *lowering) classes(val value.Value) {
	list, ok := val.([]value.Value)
	if !ok || len(list) == 0 {
		l.bad("classes", "classes must be a list of names of classes")
		return
	}
	for _, v := range list {
		if name, _ := v.(string); !classForm.MatchString(name) {
			l.bad("classes", "%s cannot be the name of a class: such as apache, or apache::mod::ssl", value.EncodeJSON(v))
		}
	}
	l.value.Set("classes", list)
}

// own are the settings that the run itself is made of.
var own = []string{"basemodulepath", "codedir", "confdir", "environment", "environmentpath", "factpath", "facts_terminus", "hiera_config",
	"libdir", "logdir", "manifest", "modulepath", "node_terminus", "noop", "rundir", "statedir", "vardir"}

var settingForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (l *lowering) settings(val value.Value) {
	given, ok := val.(*value.Dict)
	if !ok {
		l.bad("settings", "settings must be a map of settings as puppet.conf has them, not %s", value.TypeName(val))
		return
	}
	for _, key := range given.Keys() {
		v, _ := given.Get(key)
		at := l.role.Locate("settings", key)
		text, isText := v.(string)
		switch _, isMap := v.(*value.Dict); {
		case slices.Contains(own, key):
			l.diags.Error(source.BadSource, at, fmt.Sprintf("Puppet's setting %q is the agent's: the role's inputs and outputs depend on it", key), "")
		case !settingForm.MatchString(key), isMap, v == nil, isText && strings.ContainsAny(text, "\r\n"):
			l.diags.Error(source.BadSource, at, fmt.Sprintf("%q is not a line of puppet.conf", key), "a setting has a text, a number or a boolean")
		}
	}
	l.value.Set("settings", given)
}
