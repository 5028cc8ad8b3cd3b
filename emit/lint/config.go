package lint

import (
	"cmp"
	_ "embed" // the schema
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/xeipuuv/gojsonschema"

	"github.com/hotc-dev/hotc/analysis/rule/pack"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/lists"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
	"github.com/hotc-dev/hotc/emit"
)

const ConfigName = ".hotc.yaml"

// ConfigSchema is the published JSON Schema of a configuration.
//
//go:embed config.schema.json
var ConfigSchema []byte

// Config is a project's linter configuration. A nil Config configures nothing.
type Config struct {
	// FailOn and Baseline are "" if unset.
	FailOn, Baseline string
	// Packs are the names of the enabled packs.
	Packs []string
	// Shellcheck enables shellcheck for scripts.
	Shellcheck bool

	cloud   emit.Cloud
	dir     string // absolute path of its folder
	exclude []string
	scopes  []scope // all files, then those of `paths`
}

// scope is the configuration of some files.
type scope struct {
	match        []string // nil: for all
	choices      map[string]choice
	environments []string
	parameters   map[string]string
}

// choice is the setting of a rule, a category or all.
type choice struct {
	looked   *bool
	severity *source.Severity
}

// FindConfig looks for a configuration in the working directory and, in a git repository, in its
// parent folders. It returns "" if there is none.
func FindConfig() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	first, found := dir, ""
	for {
		path := filepath.Join(dir, ConfigName)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && found == "" {
			if dir == first {
				return ConfigName
			}
			found = path
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return found
		}
		if filepath.Dir(dir) == dir { // not in a repository: folders above may be another user's
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// ReadConfig reads a configuration. It returns nil on an error.
func ReadConfig(path string, diags *source.Diagnostics) *Config {
	text, err := emit.Machine{}.Read(path)
	if err != nil {
		diags.Add(emit.CannotRead(path, err))
		return nil
	}
	r := configReader{file: source.NewFile(path, text), diags: diags}
	root := yaml.Parse(r.file, diags)
	if root == nil {
		return nil
	}
	c := &Config{dir: filepath.Dir(absolute(path))}
	if root.IsNull() {
		return c
	}
	if !r.fits(root) {
		return nil
	}
	c.FailOn, _ = root.Get("fail_on").Text()
	if name, given := root.Get("baseline").Text(); given {
		c.Baseline = c.path(name)
	}
	packs := root.Get("packs")
	c.Packs = r.texts(packs)
	for i, name := range c.Packs {
		if _, err := pack.Named([]string{name}); err != nil {
			r.bad(packs.Items[i], err.Error(), "")
		}
	}
	c.Shellcheck = root.Get("shellcheck").IsTrue()
	c.cloud.Heat, _ = root.Get("heat").Text()
	c.cloud.Types = lists.Map(r.texts(root.Get("types")), c.path)
	c.exclude = r.patterns(root.Get("exclude"))
	c.scopes = []scope{r.scope(c, root)}
	for _, n := range root.Get("paths").List() {
		s := r.scope(c, n)
		s.match = r.patterns(n.Get("match"))
		c.scopes = append(c.scopes, s)
	}
	if diags.Failed() {
		return nil
	}
	return c
}

// Cloud is the configured cloud, overridden by the user's flags.
func (c *Config) Cloud(flags emit.Cloud) emit.Cloud {
	return emit.Cloud{Heat: cmp.Or(flags.Heat, c.cloud.Heat), Types: slices.Concat(c.cloud.Types, flags.Types)}
}

// path returns a path of the configuration, relative to the working directory where possible.
func (c *Config) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	path := filepath.Join(c.dir, name)
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// configReader builds a configuration from a text that fits the schema.
type configReader struct {
	file  *source.File
	diags *source.Diagnostics
}

func (r *configReader) bad(n source.Spanned, message, hint string) {
	r.diags.Error(source.BadConfig, source.Place{File: r.file, Span: n.Extent()}, message, hint)
}

func (r *configReader) texts(n *yaml.Node) []string {
	return lists.Map(n.List(), func(x *yaml.Node) string {
		text, _ := x.Text()
		return text
	})
}

func (r *configReader) patterns(n *yaml.Node) []string {
	out := r.texts(n)
	for i, p := range out {
		if !doublestar.ValidatePattern(p) {
			r.bad(n.Items[i], fmt.Sprintf("%q is not a pattern of paths", p), "* is any name, ** any folders, [ab] one of some letters, {a,b} one of some names")
		}
	}
	return out
}

func (r *configReader) scope(c *Config, n *yaml.Node) scope {
	s := scope{choices: map[string]choice{}, parameters: map[string]string{}}
	for _, list := range []struct {
		key    string
		looked bool
	}{{"disabled", false}, {"enabled", true}} {
		items := n.Get(list.key)
		for i, name := range r.texts(items) {
			at := items.Items[i]
			x := s.choices[name]
			if r.known(at, name); x.looked != nil && *x.looked != list.looked {
				r.bad(at, fmt.Sprintf("%q is both enabled and disabled", name), "remove one of them")
			}
			x.looked = &list.looked
			s.choices[name] = x
		}
	}
	for _, e := range n.Get("severity").All() {
		r.known(e.Key, e.Name)
		text, _ := e.Value.Text()
		level, _ := ParseLevel(text)
		severity, x := source.Severity(level), s.choices[e.Name]
		x.severity = &severity
		s.choices[e.Name] = x
	}
	options := n.Get("options")
	s.environments = lists.Map(r.texts(options.Get("environments")), c.path)
	for _, e := range options.Get("parameters").All() {
		text, is := e.Value.Text()
		if !is {
			text = string(value.EncodeJSON(e.Value.Data())) // a number or a boolean
		}
		s.parameters[e.Name] = text
	}
	return s
}

// known reports a name that is not a rule, a category or all.
func (r *configReader) known(at source.Spanned, name string) {
	if slices.Contains(ruleNames(), name) {
		return
	}
	r.bad(at, fmt.Sprintf("there is no rule and no category %q", name), hot.DidYouMean(name, ruleNames(), "`hotc rule` lists them"))
}

// ruleNames returns the names that select rules.
func ruleNames() []string {
	names := map[string]bool{everything: true}
	for _, r := range pack.Rules() {
		names[string(r.Code)], names[string(r.Category)] = true, true
	}
	return slices.Sorted(maps.Keys(names))
}

const everything = "all"

var configSchema = sync.OnceValues(func() (*gojsonschema.Schema, error) {
	return gojsonschema.NewSchema(gojsonschema.NewBytesLoader(ConfigSchema))
})

// fits checks the configuration against the schema; each violation is reported at its own place.
func (r *configReader) fits(root *yaml.Node) bool {
	schema, err := configSchema()
	var result *gojsonschema.Result
	if err == nil {
		result, err = schema.Validate(gojsonschema.NewBytesLoader(value.EncodeJSON(root.Data())))
	}
	if err != nil {
		r.bad(root, "it cannot be checked: "+err.Error(), "")
		return false
	}
	for _, v := range result.Errors() {
		r.violation(root, v)
	}
	return result.Valid()
}

func (r *configReader) violation(root *yaml.Node, v gojsonschema.ResultError) {
	n, where := root, "the configuration"
	for _, step := range strings.Split(v.Context().String("\x00"), "\x00")[1:] {
		if i, err := strconv.Atoi(step); err == nil && n.Kind == yaml.List {
			n = n.Items[i]
			continue
		}
		n, where = n.Get(step), step
	}
	switch v.Type() {
	case "additional_property_not_allowed":
		name := fmt.Sprint(v.Details()["property"])
		r.bad(n.Entry(name).Key, fmt.Sprintf("%s has no key %q", where, name), "`hotc schema config` lists them")
	case "required":
		r.bad(n, fmt.Sprintf("it needs the key %q", v.Details()["property"]), "")
	case "enum", "const":
		r.bad(n, fmt.Sprintf("%s cannot be %s", where, value.EncodeJSON(n.Data())), fmt.Sprintf("what it may be: %v", v.Details()["allowed"]))
	default:
		r.bad(n, where+": "+strings.ToLower(v.Description()), "")
	}
}

// local returns a path as patterns see it; false if it is outside the configuration's folder.
func (c *Config) local(path string) (string, bool) {
	rel, err := filepath.Rel(c.dir, absolute(path))
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

func matches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, path) })
}

// of returns the scopes that contain a file.
func (c *Config) of(path string) (out []scope) {
	if c == nil {
		return nil
	}
	local, below := c.local(path)
	for _, s := range c.scopes {
		if s.match == nil || below && matches(s.match, local) {
			out = append(out, s)
		}
	}
	return out
}

// Excludes reports whether a file in a folder is excluded.
func (c *Config) Excludes(path string) bool {
	if c == nil {
		return false
	}
	local, below := c.local(path)
	return below && matches(c.exclude, local)
}

// SeverityOf returns the severity of a finding in a file; false if its rule is off there. A code
// wins over its category, which wins over all; a later scope wins over an earlier one.
func (c *Config) SeverityOf(path string, d *source.Diagnostic) (source.Severity, bool) {
	severity, looked := d.Severity, true
	if d.Refused {
		severity = source.Error
	}
	names := []string{everything, "", string(d.Code)}
	if r := pack.Of(d.Code); r != nil {
		names[1] = string(r.Category)
	}
	for _, s := range c.of(path) {
		for _, name := range names {
			x := s.choices[name]
			if x.looked != nil {
				looked = *x.looked
			}
			if x.severity != nil {
				severity = *x.severity
			}
		}
	}
	return severity, looked
}

// compile returns the options for a file, overridden by the user's flags.
func (c *Config) compile(path string, o emit.Options) emit.Options {
	var environments []string
	parameters := map[string]string{}
	for _, s := range c.of(path) {
		environments = append(environments, s.environments...)
		maps.Copy(parameters, s.parameters)
	}
	o.Environments = append(environments, o.Environments...)
	maps.Copy(parameters, o.Parameters)
	o.Parameters = parameters
	return o
}
