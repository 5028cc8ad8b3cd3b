// Package salt is the compiler's half of the salt driver: an SLS file, or trees of
// states and pillars, in their usual layout.
//
//	source: {get_file: web.sls}            an SLS file alone
//	source:
//	  file_roots: ./salt                   states, formulas: one tree or a list of them
//	  sls: [web, app.site]                 what to apply; by default, what top.sls selects
//	  pillar_roots: ./pillar               the pillar's own files, with a top.sls
//	  pillar: {nginx: {workers: 4}}        more of the pillar, known when compiling
//	  grains: {roles: [web]}               grains that the server has, for top.sls
//	  id: web1                             the minion's name; by default, the server's own
//	  config: {state_output: changes}      lines of the minion's configuration
//
// An input is a path in the pillar. An output is a grain, a part of a state's changes,
// or with `resource:` a state's success.
package salt

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Driver is the salt driver.
var Driver = driver.Driver{Name: "salt", InstallsFrom: []string{"packages", "url"}, CheckResource: checkResource, Lower: lower}

var form = driver.Form{Driver: "salt", Needs: "states", Takes: "the text of an SLS file or a map",
	Keys: []string{"file_roots", "sls", "pillar_roots", "pillar", "grains", "id", "config"},
	Hint: "`source: {get_file: web.sls}`, or `source: {file_roots: ./salt, sls: [web]}`; docs/salt.md has all keys"}

// lower checks a role's source. Its meaning is the source with files replaced by their
// digests.
func lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	l := &lowering{Reading: driver.NewReading(role, diags), visible: true}
	l.Open(&form, l.text, l.source)
	l.names()
	if l.Failed {
		return nil
	}
	return &program.Meaning{Source: l.Out, Files: l.Files, Sequence: l.sequence()}
}

type lowering struct {
	driver.Reading
	trees   []tree   // of states that the compiler can read
	visible bool     // these are all
	sls     []string // what to apply; empty for what top.sls selects
}

// text reads an inline SLS file.
func (l *lowering) text(text string) {
	switch {
	case strings.TrimSpace(text) == "":
		l.Wrong(nil, "", "the SLS file of role %q is empty", l.Role.Name)
		return
	case !strings.Contains(text, "\n"):
		l.Wrong(nil, form.Hint, "%q is not the text of an SLS file", text)
		return
	}
	name := notInNames.ReplaceAllString(l.Role.Name, "_")
	shown := l.Role.Name + ".sls"
	if l.Role.SourceFile != "" {
		shown = path.Base(l.Role.SourceFile)
		name = notInNames.ReplaceAllString(strings.TrimSuffix(shown, ".sls"), "_")
	}
	l.SetText("text", "file", shown, name, text)
	l.sls = []string{name}
	l.SetTexts("sls", l.sls)
	own := driver.TextAt(l.Role.SourceAt, l.Role.SourceFile, text, "SLS file of role "+l.Role.Name)
	l.trees = []tree{{single: &file{name: name + ".sls", text: text, place: func(from, to int) source.Place { return own.Place(uint32(from), uint32(to)) }}}}
}

// notInNames matches what Salt does not accept in the name of an SLS file: a dot is a
// folder separator, a comma ends it.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// source reads a source that is a map.
func (l *lowering) source(m *value.Dict) {
	if !m.Has("file_roots") && !l.Failed { // a misspelt key, already reported, may be the missing one
		l.Wrong(nil, form.Hint, "the source of role %q names no states", l.Role.Name)
	}
	l.roots(m, "file_roots")
	l.roots(m, "pillar_roots")
	if v, given := m.Get("sls"); given {
		l.applied(v)
	}
	for _, key := range []string{"pillar", "grains", "config"} {
		l.values(m, key)
	}
	if v, given := m.Get("id"); given {
		id, _ := v.(string)
		if !minionID.MatchString(id) {
			l.Wrong([]string{"id"}, "", "id must be a valid minion ID, not %s", yaml.FlowText(v))
		}
		l.Out.Set("id", id)
	}
}

// minionID matches what Salt accepts (salt.utils.verify.valid_id): no path, no space.
var minionID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]*$`)

// roots reads one tree of files, or a list of them.
func (l *lowering) roots(m *value.Dict, kind string) {
	v, given := m.Get(kind)
	if !given {
		return
	}
	if len(driver.OneOrMore(v)) == 0 {
		l.Wrong([]string{kind}, "", "%s of role %q is empty", kind, l.Role.Name)
	}
	l.Trees(kind, v, func(x value.Value) {
		if kind == "file_roots" {
			l.see(x)
		}
	})
}

// slsName matches Salt's name of an SLS file: web, app.site.
var slsName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

func (l *lowering) applied(v value.Value) {
	for _, x := range driver.OneOrMore(v) {
		name, _ := x.(string)
		switch {
		case !slsName.MatchString(name):
			l.Wrong([]string{"sls"}, "as in top.sls: `web`, or `app.site` for app/site.sls", "%s is not a valid SLS name", yaml.FlowText(x))
			continue
		case l.visible && len(l.trees) > 0 && l.find(name) == nil:
			file := strings.ReplaceAll(name, ".", "/")
			l.Wrong([]string{"sls"}, "", "there is no %s.sls or %s/init.sls in %s", file, file, l.treeNames())
		}
		l.sls = append(l.sls, name)
	}
	if len(l.sls) == 0 && !l.Failed {
		l.Wrong([]string{"sls"}, "remove it to apply what top.sls selects", "sls is empty")
	}
	l.SetTexts("sls", l.sls)
}

// own are the settings that the agent controls.
var own = []string{"file_client", "file_roots", "pillar_roots", "pillar", "grains", "grains_dirs", "module_dirs", "id", "user", "root_dir", "cachedir",
	"conf_file", "extension_modules", "pki_dir", "sock_dir", "log_file", "local", "master", "master_type", "default_include", "include", "pillar_cache",
	"minion_id_caching", "use_master_when_local", "test"}

var settingForm = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)

// values reads a map with Salt's own keys.
func (l *lowering) values(m *value.Dict, key string) {
	v, given := m.Get(key)
	if !given {
		return
	}
	values, is := v.(*value.Dict)
	if !is {
		l.Wrong([]string{key}, "", "%s of role %q must be a map, not %s", key, l.Role.Name, value.TypeName(v))
		return
	}
	for _, name := range values.Keys() {
		switch {
		case key != "config":
		case slices.Contains(own, name):
			l.Wrong([]string{key, name}, "", "the agent controls Salt's setting %q: the role's inputs and outputs depend on it", name)
		case !settingForm.MatchString(name):
			l.Wrong([]string{key, name}, "", "%q is not a valid Salt setting", name)
		}
	}
	l.Out.Set(key, values)
}
