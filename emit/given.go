package emit

import (
	"fmt"
	"sort"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
)

// givenParameters collects the values of parameters that the compiler knows: of
// environments and of -P, and without Heat the defaults.
func givenParameters(t *hot.Template, o Options, diags *source.Diagnostics) *program.Given {
	g := &program.Given{Parameters: map[string]hot.Value{}, Unpinnable: map[string]bool{}, Unpinned: o.WithoutHeat}
	if o.WithoutHeat {
		for _, p := range t.Parameters {
			if p.Default != nil {
				g.Parameters[p.Name] = p.Default.Data()
			}
		}
	}
	for _, path := range o.Environments {
		readEnvironment(t, path, g, diags)
	}
	names := make([]string, 0, len(o.Parameters))
	for name := range o.Parameters {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if t.Parameter(name) == nil {
			unknownParameter(t, name, source.Place{}, diags)
			continue
		}
		g.Parameters[name] = o.Parameters[name]
	}
	castParameters(t, g, diags)
	return g
}

func unknownParameter(t *hot.Template, name string, at source.Place, diags *source.Diagnostics) {
	var known []string
	for _, p := range t.Parameters {
		known = append(known, p.Name)
	}
	hint := "the template declares " + strings.Join(known, ", ")
	if near := hot.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	diags.Error(source.UnknownParameter, at, fmt.Sprintf("the template has no parameter %q", name), hint)
}

// castParameters gives the values their parameters' types. Values of hidden
// parameters are never used when compiling: no artifact holds a secret.
func castParameters(t *hot.Template, g *program.Given, diags *source.Diagnostics) {
	for _, p := range t.Parameters {
		v, given := g.Parameters[p.Name]
		if !given {
			continue
		}
		if p.Hidden && !g.Unpinned {
			delete(g.Parameters, p.Name)
			continue
		}
		cast, err := p.Cast(v)
		if err == nil {
			err = p.Check(cast)
		}
		if err != nil {
			diags.Error(source.BadParameter, t.Place(p.Entry.Key), fmt.Sprintf("the value of parameter %q: %v", p.Name, err), "")
			continue
		}
		g.Parameters[p.Name] = cast
		if !g.Unpinned && (p.Type == "json" || p.Type == "comma_delimited_list") {
			g.Unpinnable[p.Name] = true
		}
	}
}

// environmentSections are the keys of an environment file
// (heat/common/environment_format.py, SECTIONS).
var environmentSections = map[string]bool{"parameters": true, "parameter_defaults": true, "parameter_merge_strategies": true,
	"resource_registry": true, "encrypted_param_names": true, "event_sinks": true}

func readEnvironment(t *hot.Template, path string, g *program.Given, diags *source.Diagnostics) {
	text, err := readFile(path)
	if err != nil {
		diags.Add(cannotRead(source.Place{}, path, err))
		return
	}
	file := source.NewFile(path, text)
	root := hot.Parse(file, diags)
	if root.IsNull() {
		return
	}
	place := func(n *hot.Node) source.Place { return source.Place{File: file, Span: n.Span} }
	if root.Kind != hot.Map {
		diags.Error(source.BadEnvironment, place(root), "an environment is a map of sections, this is "+root.Kind.String(), "")
		return
	}
	for _, e := range root.Entries {
		switch {
		case !environmentSections[e.Name]:
			diags.Error(source.BadEnvironment, place(e.Key), fmt.Sprintf("an environment has no section %q", e.Name),
				"the sections are parameters, parameter_defaults, resource_registry, parameter_merge_strategies, encrypted_param_names, event_sinks")
		case e.Name != "parameters" && e.Name != "parameter_defaults" && !e.Value.IsNull():
			diags.Warning(source.NotYet, place(e.Key), fmt.Sprintf("hotc does not look at %q of environments yet; Heat will", e.Name), "")
		}
	}
	for _, section := range []string{"parameter_defaults", "parameters"} {
		n := root.Get(section)
		if n.IsNull() {
			continue
		}
		for _, e := range n.Entries {
			if t.Parameter(e.Name) == nil {
				if section == "parameters" {
					unknownParameter(t, e.Name, place(e.Key), diags)
				}
				continue
			}
			g.Parameters[e.Name] = e.Value.Data()
		}
	}
}
