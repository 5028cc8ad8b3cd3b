package hot

import (
	"fmt"
	"slices"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// map_merge and map_replace (heat/engine/hot/functions.py: MapMerge, MapReplace).

var (
	mapMerge   = &Function{Name: "map_merge", Gives: contract.JSON, works: MergedMaps, Apply: applyMerge, Partial: merging.partial}
	mapReplace = &Function{Name: "map_replace", Gives: contract.JSON, Apply: applyMapReplace, leftToHeat: mayInsertNonString}
)

func applyMerge(w *work, arg value.Value) (value.Value, error) {
	maps, ok := arg.([]value.Value)
	if !ok && arg != "" { // a string is a sequence of characters, and none is a map
		return nil, fmt.Errorf("map_merge needs a list of maps, not %s", value.TypeName(arg))
	}
	out := value.NewDict()
	for _, m := range maps {
		d, ok := m.(*value.Dict)
		if !ok {
			if m == nil {
				continue
			}
			return nil, fmt.Errorf("map_merge joins maps, not %s", value.TypeName(m))
		}
		if err := w.spend(perEntry * d.Len()); err != nil {
			return nil, err
		}
		out.SetAll(d)
	}
	return out, nil
}

// merged is the map with another's entries merged over it; not ok where an entry may
// be omitted.
func (e *Expr) merged(over *Expr) (*Expr, bool) {
	out := e.asMap()
	out.Keys, out.Items = slices.Clone(out.Keys), slices.Clone(out.Items)
	over = over.asMap()
	for i, k := range over.Keys {
		if j := slices.Index(out.Keys, k); j < 0 {
			out.Keys, out.Items = append(out.Keys, k), append(out.Items, over.Items[i])
		} else if over.Items[i].mayBeAbsent() || out.Items[j].mayBeAbsent() || !out.Items[j].harmless() {
			return nil, false
		} else {
			out.Items[j] = over.Items[i]
		}
	}
	return out, true
}

// asMap is the map as one of separate expressions.
func (e *Expr) asMap() *Expr {
	if e.Kind == MapExpr {
		return &Expr{Kind: MapExpr, At: e.At, Keys: e.Keys, Items: e.Items}
	}
	d := e.Value.(*value.Dict)
	return &Expr{Kind: MapExpr, At: e.At, Keys: d.Keys(), Items: constants(d.Values(), e.At)}
}

func applyMapReplace(_ *work, arg value.Value) (value.Value, error) {
	args, _ := arg.([]value.Value)
	if len(args) != 2 {
		return nil, fmt.Errorf("map_replace needs a list of a map and a map with keys and values")
	}
	in, err := mapOrNull(args[0])
	if err != nil {
		return nil, err
	}
	with, err := mapOrNull(args[1])
	if err != nil {
		return nil, err
	}
	for _, k := range with.Keys() {
		if k != "keys" && k != "values" {
			return nil, fmt.Errorf("map_replace: unknown key %q; the keys are keys and values", k)
		}
	}
	keys, err := mapOrNull(with.At("keys"))
	if err != nil {
		return nil, err
	}
	values, err := mapOrNull(with.At("values"))
	if err != nil {
		return nil, err
	}
	return replaceInMap(in, keys, values)
}

func mapOrNull(v value.Value) (*value.Dict, error) {
	if d, ok := v.(*value.Dict); ok {
		return d, nil
	}
	if v == nil {
		return value.NewDict(), nil
	}
	return nil, fmt.Errorf("map_replace works on maps, not on %s", value.TypeName(v))
}

func replaceInMap(in, keys, values *value.Dict) (value.Value, error) {
	out := value.SizedDict(in.Len())
	for _, k := range in.Keys() {
		key := k
		if to := keys.At(k); to != nil {
			name, err := newKey(k, to)
			if err != nil {
				return nil, err
			}
			if in.Has(name) && name != k {
				return nil, fmt.Errorf("map_replace: the new key %q for %q is already in the map", name, k)
			}
			if out.Has(name) {
				return nil, fmt.Errorf("map_replace: the new key %q for %q is already in the result", name, k)
			}
			key = name
		}
		v := in.At(k)
		if s, ok := v.(string); ok {
			if to, found := values.Get(s); found {
				v = to
			}
		}
		out.Set(key, v)
	}
	return out, nil
}

// mayInsertNonString reports whether map_replace may insert a key that is not a string.
func mayInsertNonString(arg *Expr) bool {
	args, _ := arg.list()
	if len(args) != 2 {
		return false
	}
	keys, said := args[1].entry("keys")
	if !said {
		return false
	}
	names, news := keys.entries()
	for i, k := range names {
		if !news[i].IsValue() || news[i].Value == nil {
			continue
		}
		_, isThere := args[0].entry(k)
		if _, err := newKey(k, news[i].Value); err == errLeftToHeat && (isThere || args[0].Kind == CallExpr) {
			return true
		}
	}
	return false
}

// newKey is the replacement of a key. Python's maps accept numbers as keys, ours do
// not, so these are left to Heat.
func newKey(k string, to value.Value) (string, error) {
	switch to := to.(type) {
	case string:
		return to, nil
	case []value.Value, *value.Dict:
		return "", fmt.Errorf("map_replace: the new key for %q cannot be %s", k, value.TypeName(to))
	}
	return "", errLeftToHeat
}
