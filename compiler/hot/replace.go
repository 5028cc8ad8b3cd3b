package hot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// str_replace and its stricter variants (heat/engine/hot/functions.py: Replace,
// ReplaceJson, ReplaceJsonStrict, ReplaceJsonVeryStrict).

// replacing is one variant of str_replace.
type replacing struct {
	name       string
	structures bool // maps and lists are inserted as JSON
	strict     bool // every placeholder must occur in the template
	veryStrict bool // and no value may be empty
}

var (
	strReplaceText       = replacing{name: "str_replace"}.function()
	strReplace           = replacing{name: "str_replace", structures: true}.function()
	strReplaceStrict     = replacing{name: "str_replace_strict", structures: true, strict: true}.function()
	strReplaceVeryStrict = replacing{name: "str_replace_vstrict", structures: true, strict: true, veryStrict: true}.function()
)

func (r replacing) function() *Function {
	return &Function{Name: r.name, Check: r.check, Apply: r.apply, Partial: r.partial, Parts: []string{"template", "params"}}
}

func (r replacing) check(arg *Expr) error {
	if !arg.isMap() {
		return wants(r.name, "a map with template and params", arg)
	}
	params, ok := arg.entry("params")
	if _, hasTemplate := arg.entry("template"); !ok || !hasTemplate {
		return fmt.Errorf("%s needs the keys template and params", r.name)
	}
	if params.Kind != CallExpr && !params.isMap() {
		return wants(r.name+": params", "a map", params)
	}
	return nil
}

func (r replacing) apply(w *work, arg value.Value) (value.Value, error) {
	args := arg.(*value.Dict)
	t, _ := args.Get("template")
	p, _ := args.Get("params")
	return r.replace(w, t, p)
}

func (r replacing) replace(w *work, t, p value.Value) (value.Value, error) {
	template, ok := t.(string)
	if !ok {
		return nil, fmt.Errorf("%s: template must be a string, not %s", r.name, value.TypeName(t))
	}
	params, ok := p.(*value.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: params must be a map, not %s", r.name, value.TypeName(p))
	}
	keys := placeholders(params.Keys())
	with := make([]string, len(keys))
	for i, k := range keys {
		v, _ := params.Get(k)
		var err error
		if with[i], err = r.text(k, v); err != nil {
			return nil, err
		}
	}
	segments, err := split(template, keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name, err)
	}
	if err := r.allFound(segments, keys); err != nil {
		return nil, err
	}
	return fill(w, segments, with)
}

// text is a value as inserted into the template.
func (r replacing) text(key string, v value.Value) (string, error) {
	var text string
	switch x := v.(type) {
	case nil:
	case []value.Value:
		if !r.structures {
			return "", fmt.Errorf("%s: the param %q is a list; only strings and numbers can be inserted", r.name, key)
		}
		if text = value.InsertedJSON(v); len(x) == 0 && r.veryStrict {
			text = ""
		}
	case *value.Dict:
		if !r.structures {
			return "", fmt.Errorf("%s: the param %q is a map; only strings and numbers can be inserted", r.name, key)
		}
		if text = value.InsertedJSON(v); x.Len() == 0 && r.veryStrict {
			text = ""
		}
	default:
		text = value.ToString(v)
	}
	if text == "" && r.veryStrict {
		return "", fmt.Errorf("%s: the param %q is empty, which this function forbids", r.name, key)
	}
	return text, nil
}

// placeholders are the keys in Heat's order: longer ones first, then by code point.
func placeholders(keys []string) []string {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(utf8.RuneCountInString(b), utf8.RuneCountInString(a)), cmp.Compare(a, b))
	})
	return keys
}

// segment is a piece of a template: text, or the use of a placeholder.
type segment struct {
	text string
	key  int // index of the placeholder; -1 for text
}

// maxUses limits the placeholders in one template: no text that Heat accepts has more.
const maxUses = 1 << 18

// split splits a template at its placeholders. Each piece is searched only for later
// ones, so that inserted text is never searched.
func split(template string, keys []string) ([]segment, error) {
	all := 0
	segments := append(make([]segment, 0, 2*len(keys)+1), segment{template, -1})
	var next []segment
	for i, k := range keys {
		if k == "" {
			return nil, fmt.Errorf("a placeholder is empty")
		}
		uses := 0
		for _, s := range segments {
			if s.key < 0 {
				uses += strings.Count(s.text, k)
			}
		}
		if uses == 0 {
			continue
		}
		if all += uses; all > maxUses {
			return nil, fmt.Errorf("the template uses placeholders more than %d times", maxUses)
		}
		next = slices.Grow(next[:0], len(segments)+2*uses)
		for _, s := range segments {
			for text, found := s.text, s.key < 0; found; {
				if s.text, text, found = strings.Cut(text, k); found {
					next = append(next, segment{s.text, -1}, segment{key: i})
				}
			}
			next = append(next, s)
		}
		segments, next = next, segments
	}
	return segments, nil
}

func (r replacing) allFound(segments []segment, keys []string) error {
	if !r.strict {
		return nil
	}
	found := make([]bool, len(keys))
	for _, s := range segments {
		if s.key >= 0 {
			found[s.key] = true
		}
	}
	for i, k := range keys {
		if !found[i] {
			return fmt.Errorf("%s: the param %q does not occur in the template", r.name, k)
		}
	}
	return nil
}

func fill(w *work, segments []segment, with []string) (string, error) {
	size := 0
	for _, s := range segments {
		if size += len(s.text); s.key >= 0 {
			size += len(with[s.key])
		}
	}
	if err := w.spend(size); err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(size)
	for _, s := range segments {
		if b.WriteString(s.text); s.key >= 0 {
			b.WriteString(with[s.key])
		}
	}
	return b.String(), nil
}

// partial inserts what is known, if the resulting template splits at the same places
// for the rest: if a known value contains another placeholder, or forms one with its
// neighbours, the call stays as it is.
func (r replacing) partial(f *folder, call *Expr) (*Expr, error) {
	t, _ := call.arg.entry("template")
	params, _ := call.arg.entry("params")
	template, ok := t.text()
	if t.IsValue() && !ok {
		return nil, fmt.Errorf("%s: template must be a string, not %s", r.name, t.described())
	}
	if !ok || params.Kind != MapExpr {
		return call, nil
	}
	keys := placeholders(params.Keys)
	with, open, err := r.known(keys, params)
	if err != nil || with == nil {
		return call, err
	}
	segments, err := split(template, keys)
	if err == nil {
		err = r.allFound(segments, keys)
	}
	if err != nil {
		return nil, err
	}
	rest, err := fill(&work{left: maxWork / 8}, segments, with)
	again, _ := split(rest, openKeys(keys, open))
	if err != nil || !sameUse(segments, again, keys, with, open) {
		return call, nil
	}
	left := &Expr{Kind: MapExpr, At: params.At}
	for i, k := range params.Keys {
		if open[slices.Index(keys, k)] {
			left.Keys, left.Items = append(left.Keys, k), append(left.Items, params.Items[i])
		}
	}
	if len(left.Keys) == 1 && f.isFunction(left.Keys[0]) {
		return call, nil // it would be read as a call
	}
	items := slices.Clone(call.arg.Items) // with keys that Heat only checks
	items[slices.Index(call.arg.Keys, "template")] = Constant(rest, t.At)
	items[slices.Index(call.arg.Keys, "params")] = left
	return call.withArg(call.arg.with(items)), nil
}

// known returns the texts of the known placeholders, nil if none is known, or if it
// is unknown which placeholders there are.
func (r replacing) known(keys []string, params *Expr) (with []string, open []bool, err error) {
	with, open = make([]string, len(keys)), make([]bool, len(keys))
	any := false
	for i, k := range keys {
		x, _ := params.entry(k)
		switch {
		case x.mayBeAbsent():
			return nil, nil, nil
		case !x.IsValue() && !r.structures && x.surelyNot(contract.String, contract.Number, contract.Boolean) != "":
			return nil, nil, errorf(x.At, "%s: the param %q is %s; only strings and numbers can be inserted", r.name, k, x.surelyNot())
		case !x.IsValue():
			open[i] = true
			continue
		}
		any = true
		if with[i], err = r.text(k, x.Value); err != nil {
			return nil, nil, err
		}
	}
	if !any {
		return nil, nil, nil
	}
	for i, k := range keys {
		if open[i] {
			with[i] = k
		}
	}
	return with, open, nil
}

func openKeys(keys []string, open []bool) []string {
	var out []string
	for i, k := range keys {
		if open[i] {
			out = append(out, k)
		}
	}
	return out
}

// sameUse reports whether the merged template uses the open placeholders at the same
// places as the original.
func sameUse(before, after []segment, keys, with []string, open []bool) bool {
	left := openKeys(keys, open)
	want := layout(before, func(s segment) (string, bool) { return with[s.key], open[s.key] })
	got := layout(after, func(s segment) (string, bool) { return left[s.key], true })
	return slices.Equal(want, got)
}

// layout is text, placeholder, text, placeholder, …, text.
func layout(segments []segment, use func(segment) (text string, isOpen bool)) []string {
	var out []string
	var between strings.Builder
	for _, s := range segments {
		between.WriteString(s.text)
		if s.key < 0 {
			continue
		}
		text, isOpen := use(s)
		if !isOpen {
			between.WriteString(text)
			continue
		}
		out = append(out, between.String(), text)
		between.Reset()
	}
	return append(out, between.String())
}
