package hot

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// repeat (heat/engine/hot/functions.py: Repeat until 2016-04-08, RepeatWithMap
// until 2017-02-24, RepeatWithNestedLoop since).

// repeating is one variant of repeat.
type repeating struct {
	maps         bool // for_each accepts maps, and iterates over their keys
	permutations bool // it has the key permutations
}

var (
	repeatLists = repeating{}.function()
	repeatMaps  = repeating{maps: true}.function()
	repeat      = repeating{maps: true, permutations: true}.function()
)

func (r repeating) function() *Function {
	return &Function{Name: "repeat", Gives: contract.List, Check: r.check, Apply: r.apply, Parts: []string{"for_each", "template", "permutations"}}
}

func (r repeating) check(arg *Expr) error {
	if !arg.isMap() {
		return wants("repeat", "a map with for_each and template", arg)
	}
	forEach, ok := arg.entry("for_each")
	if _, hasTemplate := arg.entry("template"); !ok || !hasTemplate {
		return fmt.Errorf("repeat needs the keys for_each and template")
	}
	if forEach.Kind != CallExpr && !forEach.isMap() {
		return wants("repeat: for_each", "a map", forEach)
	}
	if p, ok := arg.entry("permutations"); ok && r.permutations {
		if _, isBool := p.Value.(bool); !isBool || p.Kind != ValueExpr {
			return wants("repeat: permutations", "true or false", p)
		}
	}
	return nil
}

func (r repeating) apply(w *work, arg value.Value) (value.Value, error) {
	args := arg.(*value.Dict)
	each, ok := args.At("for_each").(*value.Dict)
	if !ok || each.Len() == 0 {
		return nil, fmt.Errorf("repeat: for_each must be a map with at least one entry")
	}
	nested := true
	if p, ok := args.At("permutations").(bool); ok && r.permutations {
		nested = p
	}
	lists, err := r.lists(each, nested)
	if err != nil {
		return nil, err
	}
	body := args.At("template")
	l := loop{work: w, keys: each.Keys(), body: body, hasText: hasText(body), values: make([]value.Value, len(lists)), out: []value.Value{}}
	switch {
	case slices.ContainsFunc(lists, func(list []value.Value) bool { return len(list) == 0 }):
	case nested:
		err = l.permute(lists, 0)
	default:
		err = l.zip(lists)
	}
	return l.out, err
}

// lists are the lists to iterate over; null is an empty one.
func (r repeating) lists(each *value.Dict, nested bool) ([][]value.Value, error) {
	lists := make([][]value.Value, each.Len())
	length := -1
	for i, k := range each.Keys() {
		switch v := each.At(k).(type) {
		case nil:
			continue
		case []value.Value:
			lists[i] = v
		case *value.Dict:
			if !r.maps || !nested {
				return nil, fmt.Errorf("repeat: for_each of %q must be a list, not a map", k)
			}
			lists[i] = value.Texts(v.Keys())
		default:
			return nil, fmt.Errorf("repeat: for_each of %q must be a list, not %s", k, value.TypeName(v))
		}
		if !nested && length >= 0 && length != len(lists[i]) {
			return nil, fmt.Errorf("repeat without permutations: the lists of for_each have %d and %d items", length, len(lists[i]))
		}
		length = len(lists[i])
	}
	return lists, nil
}

// loop makes the copies of a body.
type loop struct {
	work    *work
	keys    []string
	body    value.Value
	hasText bool
	values  []value.Value // for the keys, in this round
	out     []value.Value
}

// permute iterates over all combinations, the last key's values fastest.
func (l *loop) permute(lists [][]value.Value, i int) error {
	if i == len(lists) {
		return l.add()
	}
	for _, v := range lists[i] {
		l.values[i] = v
		if err := l.permute(lists, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) zip(lists [][]value.Value) error {
	shortest := len(lists[0])
	for _, list := range lists {
		shortest = min(shortest, len(list))
	}
	for n := range shortest {
		for i, list := range lists {
			l.values[i] = list[n]
		}
		if err := l.add(); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) add() error {
	if l.hasText {
		for i, v := range l.values {
			if _, ok := v.(string); !ok {
				return fmt.Errorf("repeat: %q can only be replaced by strings, not %s", l.keys[i], value.TypeName(v))
			}
		}
	}
	v, err := l.replace(l.body)
	l.out = append(l.out, v)
	return err
}

// replace inserts the values. What does not change is not copied.
func (l *loop) replace(v value.Value) (value.Value, error) {
	if err := l.work.spend(sizeOf(v)); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		s, err := l.text(v)
		if err != nil || s == v {
			return v, err
		}
		return s, nil
	case []value.Value:
		out := make([]value.Value, len(v))
		for i, x := range v {
			var err error
			if out[i], err = l.replace(x); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *value.Dict:
		out := value.SizedDict(v.Len())
		for _, k := range v.Keys() {
			key, err := l.text(k)
			if err != nil {
				return nil, err
			}
			x, err := l.replace(v.At(k))
			if err != nil {
				return nil, err
			}
			out.Set(key, x)
		}
		return out, nil
	}
	return v, nil
}

// text replaces one key after the other, also in what was inserted before.
func (l *loop) text(s string) (string, error) {
	for i, k := range l.keys {
		uses := strings.Count(s, k)
		if k == "" {
			uses = utf8.RuneCountInString(s) + 1
		}
		if uses == 0 {
			continue
		}
		with := l.values[i].(string)
		if err := l.work.spend(len(s) + uses*(len(with)-len(k))); err != nil {
			return "", err
		}
		s = strings.ReplaceAll(s, k, with)
	}
	return s, nil
}

// sizeOf is the cost of a shallow copy of a value.
func sizeOf(v value.Value) int {
	if d, ok := v.(*value.Dict); ok {
		return perItem + perEntry*d.Len()
	}
	return perItem
}

func hasText(v value.Value) bool {
	switch v := v.(type) {
	case string:
		return true
	case []value.Value:
		return slices.ContainsFunc(v, hasText)
	case *value.Dict:
		return v.Len() > 0
	}
	return false
}
