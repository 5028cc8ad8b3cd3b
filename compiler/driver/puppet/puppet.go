// Package puppet is the compiler's half of the puppet driver: a manifest, an
// environment (a control repository), modules and Hiera data, in their usual layout.
//
//	source: {get_file: site.pp}            a manifest's text alone
//	source:
//	  manifest: {get_file: site.pp}        the text, or the origin of a file or folder of manifests
//	  environment: {git: …, tag: v1}       manifests/, modules/, hiera.yaml, data/, environment.conf
//	  hiera: ./hiera                       a folder with hiera.yaml and its data, where there is no environment
//	  modules: {apache: {url: …}}          single modules, by their names
//	  modulepath: ./modules                folders of modules
//	  classes: [apache]                    classes of the node, as from a classifier
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

// lower checks a role's source. Its meaning is the source with files replaced by their
// digests.
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

// bad reports an error in a part of the source; key is "" for the whole.
func (l *lowering) bad(key, format string, args ...any) {
	var keys []string
	if key != "" {
		keys = []string{key}
	}
	l.Wrong(keys, form.Hint, format, args...)
}

// text reads an inline manifest.
func (l *lowering) text(text, file string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		l.bad("", "the manifest of role %q is empty", l.Role.Name)
		return
	case file == "" && !strings.ContainsAny(trimmed, " \n{") && (strings.HasSuffix(trimmed, ".pp") || strings.ContainsRune(trimmed, '/')):
		l.bad("", "the manifest of role %q is the string %q, a file's name: write `{get_file: %s}` for its content, or `{manifest: {folder: %s}}` for a folder of manifests", l.Role.Name, trimmed, trimmed, trimmed)
		return
	}
	name := l.Role.Name + ".pp"
	if file != "" {
		name = path.Base(file)
	}
	l.code.add(name, text)
	l.SetText("manifest", "text", name, fileName.ReplaceAllString(strings.TrimSuffix(name, ".pp"), "_")+".pp", text)
}

// fileName matches what is replaced in the name of a file on the server.
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
		l.bad("", "the source of role %q has nothing to apply: no manifest, no environment and no classes", l.Role.Name)
	case src.Has("hiera") && src.Has("environment"):
		l.bad("hiera", "hiera and environment exclude each other: an environment has its own hiera.yaml")
	}
}

func (l *lowering) manifest(val value.Value) {
	switch val := val.(type) {
	case string:
		l.text(val, l.Role.FileOf("manifest"))
	case *value.Dict:
		l.tree("manifest", val)
	default:
		l.bad("manifest", "the manifest of role %q must be a string or an origin of files, not %s", l.Role.Name, value.TypeName(val))
	}
}

// tree reads a tree of files; a local one is inspected.
func (l *lowering) tree(key string, val value.Value) {
	origin := l.origin(val, key)
	if origin == nil {
		return
	}
	l.Out.Set(key, origin.Value)
	if folder, _ := l.Role.Beside(val); key == "hiera" && folder != nil {
		if _, err := fs.Stat(folder, "hiera.yaml"); err != nil {
			l.bad(key, "the hiera folder has no hiera.yaml, which defines where its data are")
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
		l.bad("modules", "modules must be a map from a module's name to its origin, not %s; use modulepath for folders of modules", value.TypeName(val))
		return
	}
	modules := value.NewDict()
	for _, name := range named.Keys() {
		v, _ := named.Get(name)
		if !moduleForm.MatchString(name) || name == "hotc" {
			l.Wrong([]string{"modules", name}, "use the name from manifests, such as apache, without the author's prefix, puppetlabs-", "%q is not a valid module name", name)
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
		l.bad("classes", "classes must be a list of class names")
		return
	}
	for _, v := range list {
		if name, _ := v.(string); !classForm.MatchString(name) {
			l.bad("classes", "%s is not a valid class name, such as apache or apache::mod::ssl", value.EncodeJSON(v))
		}
	}
	l.Out.Set("classes", list)
}

// own are the settings that the agent controls.
var own = []string{"basemodulepath", "codedir", "confdir", "environment", "environmentpath", "factpath", "facts_terminus", "hiera_config",
	"libdir", "logdir", "manifest", "modulepath", "node_terminus", "noop", "rundir", "statedir", "vardir"}

var settingForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (l *lowering) settings(val value.Value) {
	given, ok := val.(*value.Dict)
	if !ok {
		l.bad("settings", "settings must be a map of puppet.conf settings, not %s", value.TypeName(val))
		return
	}
	for _, key := range given.Keys() {
		v, _ := given.Get(key)
		text, isText := v.(string)
		switch _, isMap := v.(*value.Dict); {
		case slices.Contains(own, key):
			l.Wrong([]string{"settings", key}, "", "the agent controls Puppet's setting %q: the role's inputs and outputs depend on it", key)
		case !settingForm.MatchString(key), isMap, v == nil, isText && strings.ContainsAny(text, "\r\n"):
			l.Wrong([]string{"settings", key}, "a setting's value is a string, a number or a boolean", "%q is not a valid puppet.conf setting", key)
		}
	}
	l.Out.Set("settings", given)
}
