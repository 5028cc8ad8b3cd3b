package hot

import (
	"math/rand/v2"
	"slices"

	"github.com/hotc-dev/hotc/compiler/value"
)

// generator generates expressions of any version of HOT, most of them sensible, some with
// wrong arguments.
type generator struct {
	*rand.Rand
	version Version
	names   []string // of functions, mostly those of the version
}

func newGenerator(seed uint64, v Version) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), version: v}
	for _, s := range slices.Concat(functions, cfnFunctions) {
		if s.function.HeatOnly {
			continue
		}
		if s.from <= v && v <= s.until || g.IntN(12) == 0 {
			g.names = append(g.names, s.function.Name)
		}
	}
	return g
}

// kind is what an argument should be.
type kind uint8

const (
	anything kind = iota
	aText
	aList
	aMap
	aNumber
	aTruth
)

func list(items ...value.Value) value.Value { return append([]value.Value{}, items...) }

func dict(pairs ...any) *value.Dict {
	d := value.NewDict()
	for i := 0; i < len(pairs); i += 2 {
		d.Set(pairs[i].(string), pairs[i+1])
	}
	return d
}

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

// value generates an expression.
func (g *generator) value(k kind, depth int) value.Value {
	if g.IntN(14) == 0 {
		k = kind(g.IntN(6)) // a mistake
	}
	if depth > 0 && g.IntN(3) > 0 {
		return g.call(k, depth)
	}
	return g.literal(k, depth)
}

func (g *generator) literal(k kind, depth int) value.Value {
	switch k {
	case aText:
		return g.text()
	case aList:
		return g.items(anything, depth, g.IntN(4))
	case aMap:
		d := value.NewDict()
		for range g.IntN(4) {
			d.Set(g.key(), g.value(anything, depth-1))
		}
		return d
	case aNumber:
		return pick[value.Value](g, int64(0), int64(1), int64(-1), int64(2), int64(80), 1.0, 1.5, 1e16, 0.00001, int64(1)<<62, "3", " 2 ", "1_0")
	case aTruth:
		return pick[value.Value](g, true, false)
	}
	if g.IntN(6) == 0 {
		return nil
	}
	return g.literal(pick(g, aText, aText, aText, aList, aMap, aNumber, aTruth), depth)
}

func (g *generator) items(k kind, depth, n int) value.Value {
	out := []value.Value{}
	for range n {
		out = append(out, g.value(k, depth-1))
	}
	return out
}

func (g *generator) text() value.Value {
	return pick[value.Value](g, "", "a", "ab", "abc", "a,b,,c", "%x%", "%x%-%y%", "$k and $kk", "é", "😀x", "line\nline", "1", " 2 ", "true",
		"[1, 2]", `{"a": 1}`, "None", "x y  z", "\u2028", `quo"te'd\`, "\u00a0", "http", "[::1]", "a/b?c=d&e", ".member.1.Name=k", ".member.01.Value=v")
}

func (g *generator) key() string {
	return pick(g, "a", "b", "c", "k", "kk", "%x%", "%y%", "$k", "$kk", "x", "keys", "values", "1", "", "é", "filter")
}

// call generates a call of some function, of the kind if that is simple.
func (g *generator) call(k kind, depth int) value.Value {
	if g.IntN(3) == 0 {
		if g.version.CFN() && g.IntN(8) > 0 {
			return g.cfnReference(k, depth)
		}
		return g.reference(k, depth)
	}
	name := pick(g, g.names...)
	for range 6 {
		if gives, ok := givenBy[name]; !ok || k == anything || gives == k {
			break
		}
		name = pick(g, g.names...)
	}
	return dict(name, g.argument(name, depth-1))
}

var givenBy = map[string]kind{"str_replace": aText, "str_replace_strict": aText, "str_replace_vstrict": aText, "list_join": aText,
	"digest": aText, "repeat": aList, "str_split": aList, "map_merge": aMap, "map_replace": aMap, "list_concat": aList,
	"list_concat_unique": aList, "contains": aTruth, "make_url": aText, "Fn::Join": aText, "Fn::Split": aList, "Fn::Base64": aText,
	"Fn::Replace": aText, "Fn::MemberListToMap": aMap, "filter": aList}

func (g *generator) argument(name string, depth int) value.Value {
	if g.IntN(25) == 0 {
		return g.value(anything, depth)
	}
	v := func(k kind) value.Value { return g.value(k, depth) }
	switch name {
	case "str_replace", "str_replace_strict", "str_replace_vstrict":
		d := dict("template", v(aText), "params", v(aMap))
		if g.IntN(2) == 0 {
			d.Set("template", pick[value.Value](g, "%x%-%y%-%x%", "$k$kk$k", "x$k.%x%é", "a%x%"))
			d.Set("params", dict(pick(g, "%x%", "$k"), v(aText), pick(g, "%y%", "$kk", "x"), v(anything)))
		}
		if g.IntN(15) == 0 {
			d.Set("more", v(anything))
		}
		return d
	case "list_join", "Fn::Join":
		args := []value.Value{pick[value.Value](g, ",", "", "-", v(aText)), g.strings(depth)}
		for name == "list_join" && g.IntN(3) == 0 {
			args = append(args, g.strings(depth))
		}
		return args
	case "digest":
		return list(pick[value.Value](g, "md5", "sha1", "SHA256", "sha512", "sha3_256", "sha512_224", "sha224", "Sha384", "nothing", "SHA3_256", "blake2b", "blake2s", v(aText)), v(aText))
	case "repeat":
		return g.repeat(depth)
	case "str_split":
		args := []value.Value{pick[value.Value](g, ",", " ", "x", v(aText), nil), v(aText)}
		if g.IntN(2) == 0 {
			args = append(args, v(aNumber))
		}
		return args
	case "map_merge", "list_concat", "list_concat_unique":
		if name == "map_merge" {
			return g.items(aMap, depth+1, g.IntN(4))
		}
		return g.items(aList, depth+1, g.IntN(4))
	case "map_replace":
		return list(v(aMap), dict("keys", v(aMap), "values", v(aMap)))
	case "filter":
		return list(v(aList), v(aList))
	case "contains", "equals":
		return list(v(anything), pick(g, v(aList), v(anything)))
	case "Fn::Select":
		return list(pick(g, v(aNumber), v(aText)), pick(g, v(aList), v(aMap), v(aText)))
	case "Fn::Split":
		return list(pick[value.Value](g, ",", "a", " "), v(aText))
	case "Fn::Replace":
		return list(dict(pick(g, "%x%", "$k"), v(aText), "$kk", v(aNumber)), v(aText))
	case "Fn::MemberListToMap":
		return list("Name", "Value", pick(g, list(".member.1.Name=a", ".member.1.Value=b", ".member.0.Name=z", ".member.0.Value=y", v(aText)), v(aList)))
	case "make_url":
		return g.url(depth)
	case "if", "Fn::If":
		args := []value.Value{g.condition(2), v(anything), v(anything)}
		return args[:pick(g, 3, 3, 3, 3, 2)]
	case "Fn::FindInMap":
		return g.lookUp(depth)
	case "Fn::GetAtt":
		return list("server", pick(g, v(aText), "map"))
	case "get_param", "get_attr", "get_resource", "get_file", "Ref":
		if g.version.CFN() {
			return pick[value.Value](g, "server", "text", "number", "nowhere", "items", v(aText))
		}
		for _, x := range g.reference(anything, depth).(*value.Dict).Values() {
			return x
		}
	}
	return v(aText)
}

func (g *generator) strings(depth int) value.Value {
	if g.IntN(3) == 0 {
		return g.value(aList, depth)
	}
	return g.items(pick(g, aText, aText, aMap), depth, g.IntN(4))
}

func (g *generator) repeat(depth int) value.Value {
	forEach := value.NewDict()
	for range 1 + g.IntN(2) {
		forEach.Set(pick(g, "%x%", "%y%", "$k", "a"), pick(g, g.items(aText, depth, 1+g.IntN(2)), g.value(aList, depth), g.value(aMap, depth)))
	}
	d := dict("for_each", forEach, "template", g.value(pick(g, aText, aMap, anything), depth))
	if g.IntN(3) == 0 {
		d.Set("permutations", pick[value.Value](g, false, false, true, "false", dict("get_param", "yes")))
	}
	return d
}

func (g *generator) url(depth int) value.Value {
	d := value.NewDict()
	for _, part := range []string{"scheme", "username", "password", "host", "port", "path", "query", "fragment", "part"} {
		switch {
		case g.IntN(2) == 0, part == "part" && g.IntN(8) > 0:
		case part == "port":
			d.Set(part, g.value(aNumber, depth))
		case part == "query":
			d.Set(part, g.value(aMap, depth))
		default:
			d.Set(part, g.value(aText, depth))
		}
	}
	return d
}

// reference is a call that names a parameter, resource or file.
func (g *generator) reference(k kind, depth int) value.Value {
	parameters := map[kind][]string{aText: {"text", "empty", "commas", "named"}, aList: {"items", "none", "array"}, aMap: {"object"},
		aNumber: {"number", "fraction"}, aTruth: {"yes", "no"}, anything: {"text", "items", "object", "missing", "array", "yes", "null"}}[k]
	switch g.IntN(9) {
	case 0:
		return dict("get_attr", g.path(list("server", pick(g, "ip", "list", "map", "none", "number", "nothing")), depth))
	case 1:
		return dict("get_attr", pick[value.Value](g, list("server", "map", "k"), list("server", "list", g.value(aNumber, 0)), list("server"),
			list("server", nil), "s", list("nowhere", "ip"), g.value(anything, depth-1)))
	case 2:
		return dict("get_resource", pick[value.Value](g, "server", "server", "nowhere", dict("get_param", "text"), nil))
	case 3:
		return dict("get_file", pick[value.Value](g, "file.txt", "file.txt", "gone.txt", g.value(aText, depth-1)))
	case 4:
		if g.version == V20130523 {
			return dict("Ref", pick[value.Value](g, "server", "text", "number", "nowhere", dict("get_param", "text")))
		}
	}
	name := value.Value(pick(g, parameters...))
	if g.IntN(4) == 0 {
		name = g.path(list(pick(g, "object", "array", "items", "text", "number")), depth)
	}
	return dict("get_param", name)
}

// cfnReference is one in CloudFormation's notation.
func (g *generator) cfnReference(k kind, depth int) value.Value {
	switch g.IntN(4) {
	case 0:
		return dict("Fn::GetAtt", pick[value.Value](g, list("server", pick(g, "ip", "list", "map", "none", "number", "nothing")), list("server", "ip"),
			list("server", dict("Ref", "text")), list("nowhere", "ip"), list("server"), "ip", "server.ip", g.value(anything, depth-1)))
	case 1:
		return dict("Fn::FindInMap", g.lookUp(depth))
	}
	parameters := map[kind][]string{aText: {"text", "empty", "commas", "named"}, aList: {"items", "none", "array"}, aMap: {"object"},
		aNumber: {"number", "fraction"}, aTruth: {"yes", "no"}, anything: {"text", "items", "object", "missing", "array", "yes", "null", "server"}}[k]
	return dict("Ref", pick(g, parameters...))
}

// lookUp is an argument of Fn::FindInMap.
func (g *generator) lookUp(depth int) value.Value {
	if g.IntN(5) == 0 {
		return list(pick[value.Value](g, "m", "deep", "gone", g.value(aText, depth-1)), g.value(aText, depth-1), g.value(aText, depth-1))
	}
	return list("m", pick[value.Value](g, "a", "b", dict("Ref", "key")), pick[value.Value](g, "x", "y", "l", dict("Fn::Join", list("", list("x")))))
}

func (g *generator) path(from value.Value, depth int) value.Value {
	path := from.([]value.Value)
	for range g.IntN(3) {
		path = append(path, pick[value.Value](g, "k", "n", int64(0), int64(1), int64(-1), "1", " 1", "x", true, 1.0, g.value(aText, depth-1)))
	}
	return path
}

// condition is anything usable as a condition.
func (g *generator) condition(depth int) value.Value {
	if g.version.CFN() && (depth == 0 || g.IntN(4) == 0) {
		return pick[value.Value](g, true, false, "is_on", "is_off", "both", "nobody", nil, dict("Ref", "yes"), dict("Ref", "named"), "loop", "bad", dict("Ref", "text"))
	}
	if depth == 0 || g.IntN(4) == 0 {
		return pick[value.Value](g, true, false, "is_on", "is_off", "both", "nobody", nil, dict("get_param", "yes"), dict("get_param", "no"),
			dict("get_param", "named"), "loop", "bad", dict("get_param", "text"))
	}
	args := []value.Value{g.condition(depth - 1), g.condition(depth - 1)}
	if g.IntN(3) == 0 {
		args = append(args, g.condition(depth-1))
	}
	operand := func() value.Value {
		return pick[value.Value](g, g.literal(anything, 0), dict("get_param", pick(g, "text", "yes", "number", "items", "object")))
	}
	if g.version.CFN() {
		return g.cfnCondition(args, depth)
	}
	switch g.IntN(6) {
	case 0:
		return dict("not", args[0])
	case 1:
		return dict("and", list(args...))
	case 2:
		return dict("or", list(args...))
	case 3:
		return dict("contains", list(operand(), pick(g, operand(), list(operand(), operand()))))
	case 4:
		return g.value(anything, 1)
	}
	return dict("equals", list(operand(), operand()))
}

func (g *generator) cfnCondition(args []value.Value, depth int) value.Value {
	operand := func() value.Value {
		return pick[value.Value](g, g.literal(anything, 0), dict("Ref", pick(g, "text", "yes", "number", "items", "object", "server")), dict("Fn::FindInMap", g.lookUp(0)))
	}
	switch g.IntN(6) {
	case 0:
		return dict("Fn::Not", pick[value.Value](g, list(args[0]), list(args[0]), args[0]))
	case 1:
		return dict("Fn::And", list(args...))
	case 2:
		return dict("Fn::Or", list(args...))
	case 3:
		return g.value(anything, 1)
	}
	return dict("Fn::Equals", list(operand(), operand()))
}

// withoutElse generates an expression in which items and entries may be omitted.
func (g *generator) withoutElse() value.Value {
	var vanishing func(v value.Value) value.Value
	vanishing = func(v value.Value) value.Value {
		switch x := v.(type) {
		case []value.Value:
			out := make([]value.Value, len(x))
			for i := range x {
				out[i] = vanishing(x[i])
			}
			v = out
		case *value.Dict:
			out := value.NewDict()
			for _, k := range x.Keys() {
				item, _ := x.Get(k)
				out.Set(k, vanishing(item))
			}
			v = out
		}
		switch g.IntN(8) {
		case 0:
			return dict("if", list(pick[value.Value](g, "is_on", "is_off"), v))
		case 1:
			return list("first", dict("if", list(pick[value.Value](g, "is_on", "is_off"), v)), "last")
		case 2:
			return dict("a", "one", "b", dict("if", list("is_off", v)), "c", dict("if", list("is_on", dict("if", list("is_off", v)), v)))
		}
		return v
	}
	return vanishing(g.value(anything, 1+g.IntN(3)))
}
