package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/environment"
	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// suppliedParameters collects the parameter values that the compiler knows: from environments
// and -P and, without Heat, the defaults.
func suppliedParameters(t *hot.Template, env *environment.Environment, o Options, diags *source.Diagnostics) *program.Supplied {
	g := &program.Supplied{Parameters: map[string]value.Value{}, Unpinnable: map[string]bool{}, Unpinned: o.WithoutHeat}
	if o.WithoutHeat {
		for _, p := range t.Parameters {
			if p.Default != nil {
				g.Parameters[p.Name] = p.Default.Data()
			}
		}
	}
	for _, p := range t.Parameters {
		if d, ok := env.Defaults[p.Name]; ok && d.Value != nil {
			g.Parameters[p.Name] = d.Value
		}
		if v, ok := env.Parameters[p.Name]; ok && v.Value != nil {
			g.Parameters[p.Name] = v.Value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env.Parameters)) {
		if t.Parameter(name) == nil {
			unknownParameter(t, name, env.Parameters[name].At, diags)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		p := t.Parameter(name)
		if p == nil {
			unknownParameter(t, name, source.Place{}, diags)
			continue
		}
		g.Parameters[name] = o.Parameters[name]
		if p.Hidden && !o.WithoutHeat && !slices.Contains(o.SecretParameters, name) {
			diags.Warning(source.HiddenLeftOut, source.Place{}, fmt.Sprintf("-P sets the hidden parameter %q, but no artifact uses its value", name),
				fmt.Sprintf("omit -P %s, which the process list shows, and pass the value when you create the stack, with -e and a file that only you can read", name))
		}
	}
	suppliedTwice(t, env, o, diags)
	castParameters(t, g, diags)
	return g
}

// suppliedTwice reports other values of secret parameters, which would be ignored. It shows no
// line of an environment, which contains such a value.
func suppliedTwice(t *hot.Template, env *environment.Environment, o Options, diags *source.Diagnostics) {
	for _, name := range o.SecretParameters {
		if p := t.Parameter(name); p == nil || !p.Hidden {
			continue // binding reports it
		}
		if _, given := o.Parameters[name]; given {
			diags.Error(source.SecretParameter, source.Place{}, fmt.Sprintf("the parameter %q takes its value from --secret-param, and -P sets one that would not be used", name),
				fmt.Sprintf("omit -P %s: the value comes from a file, `--secret-param %s=FILE`", name, name))
		}
		for _, settings := range []map[string]environment.Setting{env.Parameters, env.Defaults} {
			if x, given := settings[name]; given && x.Value != nil {
				diags.Warning(source.SecretParameter, source.Place{}, fmt.Sprintf("%s sets the parameter %q to a value that is not used, since --secret-param supplies it", x.At, name),
					"remove it from the environment, where anyone who can read the file sees it")
			}
		}
	}
}

func unknownParameter(t *hot.Template, name string, at source.Place, diags *source.Diagnostics) {
	known, hint := t.ParameterNames(), "the template declares no parameters"
	if len(known) > 0 {
		hint = hot.DidYouMean(name, known, "the template declares "+strings.Join(known, ", "))
	}
	diags.Error(source.UnknownParameter, at, fmt.Sprintf("the template has no parameter %q", name), hint)
}

// castParameters converts the values to their parameters' types. Values of hidden parameters are
// never used when compiling: no artifact contains a secret.
func castParameters(t *hot.Template, g *program.Supplied, diags *source.Diagnostics) {
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
		switch {
		case err != nil && p.Hidden:
			diags.Error(source.BadParameter, t.Place(p.Entry.Key), fmt.Sprintf("the hidden parameter %q does not accept its value", p.Name), "")
			continue
		case err != nil:
			diags.Error(source.BadParameter, t.Place(p.Entry.Key), fmt.Sprintf("invalid value of parameter %q: %v", p.Name, err), "")
			continue
		}
		g.Parameters[p.Name] = cast
		g.Unpinnable[p.Name] = !g.Unpinned && !p.Pinnable()
	}
}

// readEnvironments reads the environment files. The root template and those that it nests
// declare the parameters.
func readEnvironments(o Options, t *hot.Template, f *files, diags *source.Diagnostics) *environment.Environment {
	var texts []*source.File
	for _, path := range o.Environments {
		text, err := f.access.Read(path)
		if err != nil {
			diags.Add(CannotRead(path, err))
			continue
		}
		file := source.NewFile(path, text)
		file.Portable = f.portable(path)
		texts = append(texts, file)
	}
	types := func(name string) string {
		if p := t.Parameter(name); p != nil {
			return p.Type
		}
		return ""
	}
	return environment.Read(texts, types, diags)
}
