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
var Driver = driver.Driver{Name: "puppet", InstallsFrom: []string{"packages", "url"}, CheckResource: checkResource, Lower: lower}

var form = driver.Form{Driver: "puppet", Needs: "a manifest, an environment or classes", Takes: "a manifest's text or a map",
	Keys: []string{"manifest", "environment", "hiera", "modules", "modulepath", "classes", "settings"},
	Hint: "`source: {get_file: site.pp}`, or a map with manifest, environment or classes; docs/puppet.md shows all forms"}

// lower checks a role's source. What it means is the source again, with digests in
// the place of files.
func lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	l := &lowering{Reading: driver.NewReading(role, diags)}
	l.Open(&form, func(text string) { l.text(text, role.SourceFile) }, l.dict)
	l.Out.Set("outputs", l.names())
	if l.Failed {
		return nil
	}
	return &program.Meaning{Source: l.Out, Files: l.Files, Sequence: l.sequence()}
}

type lowering struct {
	driver.Reading
	code code
}

// bad reports what is wrong with a part of the source; key is "" for the whole.
func (l *lowering) bad(key, format string, args ...any) {
	var keys []string
	if key != "" {
		keys = []string{key}
	}
	l.Wrong(keys, form.Hint, format, args...)
}

// text is a manifest's.
func (l *lowering) text(text, file string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		l.bad("", "the manifest of role %q is empty", l.Role.Name)
		return
	case file == "" && !strings.ContainsAny(trimmed, " \n{") && (strings.HasSuffix(trimmed, ".pp") || strings.ContainsRune(trimmed, '/')):
		l.bad("", "the manifest of role %q is the text %q, which is a file's name: `{get_file: %s}` is its text, `{manifest: {folder: %s}}` a folder of manifests", l.Role.Name, trimmed, trimmed, trimmed)
		return
	}
	name := l.Role.Name + ".pp"
	if file != "" {
		name = path.Base(file)
	}
	l.code.add(name, text)
	l.SetText("manifest", "text", name, fileName.ReplaceAllString(strings.TrimSuffix(name, ".pp"), "_")+".pp", text)
}

// fileName is what is not put into the name of a file on the server.
var fileName = regexp.MustCompile(`[^A-Za-z0-9_.-]`)

func (l *lowering) dict(src *value.Dict) {
	for _, key := range src.Keys() {
		val, _ := src.Get(key)
		switch key {
		case "manifest":
			l.manifest(val)
		case "environment", "hiera":
			l.tree(key, val)
		case "modules":
			l.modules(val)
		case "modulepath":
			l.Trees(key, val, func(v value.Value) { l.addTree(l.Role.Beside(v)) })
		case "classes":
			l.classes(val)
		case "settings":
			l.settings(val)
		}
	}
	switch {
	case !src.Has("manifest") && !src.Has("environment") && !src.Has("classes"):
		l.bad("", "the source of role %q says nothing to apply: it has no manifest, no environment and no classes", l.Role.Name)
	case src.Has("hiera") && src.Has("environment"):
		l.bad("hiera", "an environment has its own hiera.yaml: hiera and environment exclude each other")
	}
}

func (l *lowering) manifest(val value.Value) {
	switch val := val.(type) {
	case string:
		l.text(val, l.Role.FileOf("manifest"))
	case *value.Dict:
		l.tree("manifest", val)
	default:
		l.bad("manifest", "the manifest of role %q must be a text or say where its files come from, not %s", l.Role.Name, value.TypeName(val))
	}
}

// tree is a tree of files; a local one is looked into.
func (l *lowering) tree(key string, val value.Value) {
	origin := l.origin(val, key)
	if origin == nil {
		return
	}
	l.Out.Set(key, origin.Value)
	if folder, _ := l.Role.Beside(val); key == "hiera" && folder != nil {
		if _, err := fs.Stat(folder, "hiera.yaml"); err != nil {
			l.bad(key, "the folder of hiera has no hiera.yaml, which says where its data are")
		}
	}
}

func (l *lowering) origin(val value.Value, keys ...string) *driver.Origin {
	origin := l.Tree(val, keys...)
	if origin != nil {
		l.addTree(l.Role.Beside(val))
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
			l.Wrong([]string{"modules", name}, "the name is what manifests use, such as apache: without the author's, puppetlabs-", "%q cannot be the name of a module", name)
			continue
		}
		if origin := l.origin(v, "modules", name); origin != nil {
			modules.Set(name, origin.Value)
		}
	}
	l.Out.Set("modules", modules)
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
	l.Out.Set("classes", list)
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
		text, isText := v.(string)
		switch _, isMap := v.(*value.Dict); {
		case slices.Contains(own, key):
			l.Wrong([]string{"settings", key}, "", "Puppet's setting %q is the agent's: the role's inputs and outputs depend on it", key)
		case !settingForm.MatchString(key), isMap, v == nil, isText && strings.ContainsAny(text, "\r\n"):
			l.Wrong([]string{"settings", key}, "a setting has a text, a number or a boolean", "%q is not a line of puppet.conf", key)
		}
	}
	l.Out.Set("settings", given)
}
