package lint

import (
	"cmp"
	_ "embed" // the schema
	"encoding/json"
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
	FailOn   string `json:"fail_on"`
	Baseline string
	// Packs are the names of the enabled packs.
	Packs []string
	// Shellcheck enables shellcheck for scripts.
	Shellcheck bool
	Heat       string
	Types      []string
	Exclude    []string
	scope      // all files
	Paths      []scope

	dir string // absolute path of its folder
}

// scope is the configuration of some files.
type scope struct {
	Match             []string // nil: for all
	Disabled, Enabled []string // rules, categories or all
	Severity          map[string]string
	Options           struct {
		Environments []string
		Parameters   map[string]json.RawMessage
	}
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
	if !r.fits(root, c) {
		return nil
	}
	if c.Baseline != "" {
		c.Baseline = c.path(c.Baseline)
	}
	for i, name := range c.Packs {
		if _, err := pack.Named([]string{name}); err != nil {
			r.bad(root.Get("packs").Items[i], err.Error(), "")
		}
	}
	c.Types = lists.Map(c.Types, c.path)
	r.patterns(root.Get("exclude"), c.Exclude)
	r.scope(c, root, &c.scope)
	for i, n := range root.Get("paths").List() {
		r.scope(c, n, &c.Paths[i])
	}
	if diags.Failed() {
		return nil
	}
	return c
}

// Cloud is the configured cloud, overridden by the user's flags.
func (c *Config) Cloud(flags emit.Cloud) emit.Cloud {
	return emit.Cloud{Heat: cmp.Or(flags.Heat, c.Heat), Types: slices.Concat(c.Types, flags.Types)}
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

// configReader checks a configuration, and reports at its nodes.
type configReader struct {
	file  *source.File
	diags *source.Diagnostics
}

func (r *configReader) bad(n source.Spanned, message, hint string) {
	r.diags.Error(source.BadConfig, source.Place{File: r.file, Span: n.Extent()}, message, hint)
}

func (r *configReader) patterns(n *yaml.Node, patterns []string) {
	for i, p := range patterns {
		if !doublestar.ValidatePattern(p) {
			r.bad(n.Items[i], fmt.Sprintf("%q is not a pattern of paths", p), "* is any name, ** any folders, [ab] one of some letters, {a,b} one of some names")
		}
	}
}

func (r *configReader) scope(c *Config, n *yaml.Node, s *scope) {
	r.patterns(n.Get("match"), s.Match)
	for i, name := range s.Disabled {
		r.known(n.Get("disabled").Items[i], name)
	}
	for i, name := range s.Enabled {
		at := n.Get("enabled").Items[i]
		if r.known(at, name); slices.Contains(s.Disabled, name) {
			r.bad(at, fmt.Sprintf("%q is both enabled and disabled", name), "remove one of them")
		}
	}
	for _, e := range n.Get("severity").All() {
		r.known(e.Key, e.Name)
	}
	s.Options.Environments = lists.Map(s.Options.Environments, c.path)
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

// fits checks the configuration against the schema, and decodes it; each violation is reported at
// its own place.
func (r *configReader) fits(root *yaml.Node, c *Config) bool {
	text := value.EncodeJSON(root.Data())
	schema, err := configSchema()
	var result *gojsonschema.Result
	if err == nil {
		result, err = schema.Validate(gojsonschema.NewBytesLoader(text))
	}
	if err == nil && result.Valid() {
		err = json.Unmarshal(text, c)
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
	for _, s := range append([]scope{c.scope}, c.Paths...) {
		if s.Match == nil || below && matches(s.Match, local) {
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
	return below && matches(c.Exclude, local)
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
			looked = (looked || slices.Contains(s.Enabled, name)) && !slices.Contains(s.Disabled, name)
			if level, err := ParseLevel(s.Severity[name]); err == nil {
				severity = source.Severity(level)
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
		environments = append(environments, s.Options.Environments...)
		for name, v := range s.Options.Parameters {
			text := string(v) // a number or a boolean
			_ = json.Unmarshal(v, &text)
			parameters[name] = text
		}
	}
	o.Environments = append(environments, o.Environments...)
	maps.Copy(parameters, o.Parameters)
	o.Parameters = parameters
	return o
}
