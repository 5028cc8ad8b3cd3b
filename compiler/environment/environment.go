// Package environment reads environment files and merges them as Heat's client and
// engine do.
//
// Both of them merge. The client merges the files deeply, the last one wins, and
// sends the result together with the list of the files
// (heatclient/common/template_utils.py, deep_update); the engine merges each file
// into that once more, parameters by their merge strategies and the other sections
// key by key (heat/common/environment_util.py, merge_environments). In effect a
// parameter has the value of the last file that sets it, and
// `resource_registry.resources` is that of the last file that has it.
package environment

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Environment is the result of merging all files.
type Environment struct {
	Files []*File
	// Parameters and Defaults are the sections parameters and parameter_defaults.
	Parameters map[string]Setting
	Defaults   map[string]Setting
	Registry   *Registry
}

// File is one environment file.
type File struct {
	Text *source.File
	Root *yaml.Node
	// Path is its path, Dir its folder.
	Path, Dir string
	// Named are the files that its registry refers to.
	Named []Named
}

// Named is a file that an environment refers to.
type Named struct {
	Node *yaml.Node
	Path string
}

// Setting is the value of a parameter, and where it is set.
type Setting struct {
	Value value.Value
	At    source.Place
}

// Place is the position of a node of the file.
func (f *File) Place(n source.Spanned) source.Place {
	return source.Place{File: f.Text, Span: n.Extent()}
}

// sections are the keys of an environment (heat/common/environment_format.py,
// SECTIONS), with their kinds.
var sections = map[string]yaml.Kind{"parameters": yaml.Map, "parameter_defaults": yaml.Map, "parameter_merge_strategies": yaml.Map,
	"resource_registry": yaml.Map, "encrypted_param_names": yaml.List, "event_sinks": yaml.List}

const sectionNames = "parameters, parameter_defaults, resource_registry, parameter_merge_strategies, encrypted_param_names and event_sinks"

// Read reads the files and merges them. types returns the declared type of a
// parameter of the root template or those nested in it: undeclared ones are merged,
// too, but never by a strategy.
func Read(files []*source.File, types func(parameter string) string, diags *source.Diagnostics) *Environment {
	e := &Environment{Parameters: map[string]Setting{}, Defaults: map[string]Setting{}}
	for _, text := range files {
		if f := readFile(text, diags); f != nil {
			e.Files = append(e.Files, f)
		}
	}
	e.merge(types, diags)
	e.Registry = newRegistry(e.Files, diags)
	return e
}

func readFile(text *source.File, diags *source.Diagnostics) *File {
	root := yaml.ParseYAML(text, diags)
	if root == nil {
		return nil
	}
	f := &File{Text: text, Root: root, Path: text.Name, Dir: filepath.Dir(text.Name)}
	if root.IsNull() {
		return f
	}
	if root.Kind != yaml.Map {
		diags.Error(source.BadEnvironment, f.Place(root), "an environment must be a map of sections, not "+root.Kind.String(), "")
		return nil
	}
	for _, s := range root.Entries {
		want, known := sections[s.Name]
		switch {
		case !known:
			d := diags.Error(source.BadEnvironment, f.Place(s.Key), fmt.Sprintf("an environment has no section %q", s.Name), "the sections are "+sectionNames)
			if near := meant(s.Name); near != "" {
				d.Meant(s.Name, near)
			}
		case s.Value.IsNull():
			diags.Error(source.BadEnvironment, f.Place(s.Key), fmt.Sprintf("the section %q is empty, which Heat refuses", s.Name), "remove it, or write {} or []")
		case s.Value.Kind != want:
			diags.Error(source.BadEnvironment, f.Place(s.Value), fmt.Sprintf("%s must be %s, not %s", s.Name, want, s.Value.Kind), "")
		}
	}
	f.checkSinks(diags)
	return f
}

// Is reports whether a text is an environment file, perhaps with misspelt sections, and
// not a template without a version.
func Is(root *yaml.Node) bool {
	if root == nil || root.Kind != yaml.Map || root.Get("resources") != nil || root.Get("Resources") != nil {
		return false
	}
	if key, meant := hot.VersionKey(root); key != nil || meant != "" {
		return false
	}
	for _, e := range root.Entries {
		switch section := meant(e.Name); {
		case section == "" || hot.IsSection(e.Name) && e.Name != "parameters":
		case section != "parameters", len(root.Entries) == 1:
			return true
		}
	}
	return false
}

// meant is the section that a key is, or misspells; "" if none.
func meant(key string) string {
	if _, known := sections[key]; known {
		return key
	}
	return hot.Nearest(key, strings.FieldsFunc(sectionNames, func(r rune) bool { return r == ',' || r == ' ' }))
}

// section is a section of the right kind, nil if there is none.
func (f *File) section(name string) *yaml.Node {
	if n := f.Root.Get(name); n != nil && n.Kind == sections[name] {
		return n
	}
	return nil
}

// checkSinks checks event_sinks (heat/engine/environment.py,
// _update_event_sinks).
func (f *File) checkSinks(diags *source.Diagnostics) {
	for _, sink := range f.section("event_sinks").List() {
		if kind, ok := sink.Get("type").Text(); !ok || kind == "" {
			diags.Error(source.BadEnvironment, f.Place(sink), "an event sink must be a map with a type", "for example `type: zaqar-queue`")
		}
	}
}
