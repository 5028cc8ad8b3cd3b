package environment

import (
	"fmt"

	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// The merge strategies (heat/common/environment_util.py,
// ALLOWED_PARAM_MERGE_STRATEGIES).
const (
	overwrite = "overwrite"
	merge     = "merge"
	deepMerge = "deep_merge"
)

// merging is the state of one merge: the first file with a parameter decides its
// strategy.
type merging struct {
	types    func(parameter string) string
	strategy map[string]string
	diags    *source.Diagnostics
}

func (e *Environment) merge(types func(string) string, diags *source.Diagnostics) {
	m := &merging{types: types, strategy: map[string]string{}, diags: diags}
	for _, f := range e.Files { // the client
		m.client(f, "parameters", e.Parameters)
		m.client(f, "parameter_defaults", e.Defaults)
	}
	for _, f := range e.Files { // the engine, in the order of each file's sections
		for _, s := range f.Root.Entries {
			switch s.Name {
			case "parameters":
				m.engine(f, s.Name, e.Parameters)
			case "parameter_defaults":
				m.engine(f, s.Name, e.Defaults)
			}
		}
	}
}

// client is deep_update.
func (m *merging) client(f *File, section string, into map[string]Setting) {
	for _, p := range f.section(section).All() {
		v := p.Value.Data()
		old, had := into[p.Name]
		if _, isMap := old.Value.(*value.Dict); had && isMap && v == nil {
			continue
		}
		merged, ok := deepUpdate(old.Value, v)
		if !ok {
			m.diags.Error(source.BadEnvironment, f.Place(p.Key), fmt.Sprintf("parameter %q is a map here but not in an earlier file, on which Heat's client fails", p.Name), "").Note(old.At, "the earlier file")
		}
		into[p.Name] = Setting{Value: merged, At: f.Place(p.Key)}
	}
}

// deepUpdate merges one value into another; ok is false where the client fails.
func deepUpdate(old, new value.Value) (v value.Value, ok bool) {
	d, isMap := new.(*value.Dict)
	if !isMap {
		return new, true
	}
	out := value.NewDict()
	o, wasMap := old.(*value.Dict)
	if old != nil && !wasMap {
		return old, d.Len() == 0 // an empty map changes nothing, not even what is no map
	}
	if wasMap {
		out.SetAll(o)
	}
	for k, v := range d.All() {
		before := out.At(k)
		if _, wasMap := before.(*value.Dict); wasMap && v == nil {
			continue
		}
		merged, ok := deepUpdate(before, v)
		if !ok {
			return new, false
		}
		out.Set(k, merged)
	}
	return out, true
}

// engine is merge_parameters. Undeclared parameters stay as the client merged them.
func (m *merging) engine(f *File, section string, into map[string]Setting) {
	for _, p := range f.section(section).All() {
		kind := m.types(p.Name)
		v := p.Value.Data()
		if kind == "" || v == nil {
			continue
		}
		strategy := m.strategyOf(f, p)
		at := f.Place(p.Key)
		if strategy == overwrite {
			into[p.Name] = Setting{Value: v, At: at}
			continue
		}
		merged, err := combine(kind, into[p.Name].Value, v, strategy == deepMerge)
		if err != nil {
			m.diags.Error(source.BadEnvironment, at, fmt.Sprintf("parameter %q cannot be merged: %v", p.Name, err), "")
			continue
		}
		into[p.Name] = Setting{Value: merged, At: at}
	}
}

// strategyOf is get_param_merge_strategy, including its check that files agree.
func (m *merging) strategyOf(f *File, p yaml.Entry) string {
	first, decided := m.strategy[p.Name]
	n := f.section("parameter_merge_strategies")
	general := overwrite
	if d, ok := n.Get("default").Text(); ok {
		general = d
	}
	strategy := general
	if decided {
		strategy = first
	}
	if own, ok := n.Get(p.Name).Text(); ok {
		strategy = own
	}
	if !known(strategy) {
		strategy = general
	}
	if !known(strategy) {
		strategy = overwrite // Heat's fallback
	}
	if !decided {
		m.strategy[p.Name] = strategy
	} else if strategy != first {
		m.diags.Error(source.BadEnvironment, f.Place(p.Key), fmt.Sprintf("the merge strategy of parameter %q is %s here but %s in an earlier file, which Heat refuses", p.Name, strategy, first),
			"set the same strategy in every file with the parameter")
	}
	return strategy
}

func known(strategy string) bool {
	return strategy == overwrite || strategy == merge || strategy == deepMerge
}

// combine is param_merge.
func combine(kind string, old, new value.Value, deep bool) (value.Value, error) {
	switch kind {
	case "json":
		if text, isText := new.(string); isText {
			v, err := yaml.DecodeJSON([]byte(text))
			if err != nil {
				return nil, fmt.Errorf("expected JSON: %w", err)
			}
			new = v
		}
		return combineMaps(old, new, deep)
	case "comma_delimited_list":
		return combineLists(old, new)
	case "string":
		text, ok := new.(string)
		if !ok {
			return nil, fmt.Errorf("expected a string, not %s", value.TypeName(new))
		}
		before, _ := old.(string)
		return before + text, nil
	}
	return nil, fmt.Errorf("Heat merges strings, lists and maps, not parameters of type %s", kind)
}

func combineMaps(old, new value.Value, deep bool) (value.Value, error) {
	o, wasMap := old.(*value.Dict)
	n, isMap := new.(*value.Dict)
	switch {
	case !value.Truthy(old):
		return new, nil
	case isMap && n.Len() == 0:
		return old, nil
	case !wasMap || !isMap:
		return nil, fmt.Errorf("%s cannot be merged into %s", value.TypeName(new), value.TypeName(old))
	}
	out := value.NewDict()
	out.SetAll(o)
	for k, v := range n.All() {
		merged, err := combineEntry(out.At(k), v, deep)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out.Set(k, merged)
		}
	}
	return out, nil
}

func combineEntry(old, new value.Value, deep bool) (value.Value, error) {
	if !deep {
		return new, nil
	}
	switch n := new.(type) {
	case *value.Dict:
		return combineMaps(old, n, true)
	case []value.Value:
		if list, ok := old.([]value.Value); ok && len(list) > 0 {
			return combineLists(old, n)
		}
	case string:
		if text, ok := old.(string); ok {
			return text + n, nil
		}
		if old != nil {
			return nil, fmt.Errorf("a string cannot be joined to %s", value.TypeName(old))
		}
	}
	return new, nil
}

func combineLists(old, new value.Value) (value.Value, error) {
	if !value.Truthy(old) {
		return new, nil
	}
	if list, isList := new.([]value.Value); isList {
		before, wasList := old.([]value.Value)
		if !wasList {
			return nil, fmt.Errorf("a list cannot be joined to %s", value.TypeName(old))
		}
		return append(append([]value.Value{}, before...), list...), nil
	}
	text, isText := new.(string)
	before, wasText := old.(string)
	if !isText || !wasText {
		return nil, fmt.Errorf("%s cannot be joined to %s", value.TypeName(new), value.TypeName(old))
	}
	return before + "," + text, nil
}
