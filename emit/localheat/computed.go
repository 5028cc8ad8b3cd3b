package localheat

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	"github.com/google/uuid"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/resourcetype"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Some of stock Heat's resources only evaluate an expression: Heat computes their attributes
// from their own properties, and so does `hotc run`.

// computed returns an attribute that Heat computes from the template; nil for others.
func (s *scope) computed(call *hot.Expr, resource, attribute string, path []value.Value) (*hot.Expr, error) {
	r := s.stack.Template.Resource(resource)
	if r == nil || call.Ref().Kind != hot.ToAttribute {
		return nil, nil
	}
	switch s.stack.Type(r) {
	case "OS::Heat::None": // none_resource.py, get_attribute
		return hot.Constant(nil, call.At), nil
	case "OS::Heat::Value":
		if attribute != "value" || r.Property("value") == nil {
			return nil, nil
		}
		v, err := s.value(r)
		if err != nil || !v.IsValue() {
			return v, err
		}
		return hot.Constant(hot.Select(v.Value, path), call.At), nil
	}
	return nil, nil
}

// value returns the attribute of an OS::Heat::Value
// (heat/engine/resources/openstack/heat/value.py) as written in the template, whatever its type.
func (s *scope) value(r *hot.Resource) (*hot.Expr, error) {
	v, err := s.property(r, "value")
	if err != nil || !v.IsValue() || r.Property("type") == nil {
		return v, err
	}
	t, err := s.property(r, "type")
	if err != nil || !t.IsValue() {
		return t, err
	}
	if typeName, _ := t.Value.(string); !resourcetype.KindOf(typeName).Takes(v.Value) {
		return nil, &source.Diagnostic{Code: source.BadArgument, At: s.stack.Place(r.Property("value")), Message: fmt.Sprintf("%q is an OS::Heat::Value of type %s, but its value is not", r.Name, typeName)}
	}
	return v, nil
}

func (s *scope) property(r *hot.Resource, name string) (*hot.Expr, error) {
	return hot.Fold(s.stack.Template.Expr(r.Property(name)), s.answer)
}

// written is the error for an expression of Heat's that needs a value written by a role; nil for
// others. Heat would wait for a wait condition.
func (s *scope) written(call *hot.Expr, resource, attribute string) error {
	var output *program.Output
	if server := s.stack.Server(resource); server != nil {
		output = server.Output(attribute)
	}
	if output == nil {
		return nil
	}
	return &source.Diagnostic{Code: source.MissingFact, At: call.At, Message: fmt.Sprintf("Heat would wait for role %s here and pass on what it writes; `hotc run` must know the value before the roles run", output.Role.Key()),
		Hint: fmt.Sprintf("have the role's input read the role's output itself, or set it with --fact %s.%s=VALUE", s.stack.PathOf(resource), attribute)}
}

// Values that Heat makes up without input from outside the template: `hotc run` makes them up,
// too, once for each resource.

// invented returns a value that Heat makes up; nil for others.
func (s *scope) invented(call *hot.Expr, resource, attribute string, path []value.Value) (*hot.Expr, error) {
	r := s.stack.Template.Resource(resource)
	if r == nil {
		return nil, nil
	}
	whole := call.Ref().Kind == hot.ToResource
	make := func() (string, error) { return uuid.NewString(), nil }
	switch s.stack.Type(r) {
	case "OS::Heat::RandomString":
		if !whole && attribute != "value" {
			return nil, nil
		}
		make = func() (string, error) { return s.randomString(r) }
	case "OS::Heat::SoftwareConfig", "OS::Heat::StructuredConfig", "OS::Heat::SoftwareComponent", "OS::Heat::CloudConfig", "OS::Heat::MultipartMime":
		if !whole {
			return nil, nil
		}
	default:
		return nil, nil
	}
	where := s.stack.PathOf(resource)
	if _, have := s.heat.invented[where]; !have {
		text, err := make()
		if err != nil {
			return nil, err
		}
		s.heat.invented[where] = text
	}
	return hot.Constant(hot.Select(s.heat.invented[where], path), call.At), nil
}

// characterClasses are those of heat/common/password_gen.py.
var characterClasses = map[string]string{
	"lettersdigits": letters + strings.ToUpper(letters) + digits, "letters": letters + strings.ToUpper(letters), "lowercase": letters,
	"uppercase": strings.ToUpper(letters), "digits": digits, "hexdigits": digits + "ABCDEF", "octdigits": digits[:8],
}

const (
	letters = "abcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
	// The default and maximum length of an OS::Heat::RandomString.
	usualRandom, longestRandom = 32, 512
)

// randomString is the value of an OS::Heat::RandomString (heat/engine/resources/openstack/
// heat/random_string.py).
func (s *scope) randomString(r *hot.Resource) (string, error) {
	given, err := s.supplied(r, "length", int64(usualRandom))
	if err != nil {
		return "", err
	}
	length := whole(given)
	pick := randomPick{length: length}
	if err := s.pickFrom(r, &pick); err != nil {
		return "", err
	}
	if length < 1 || length > longestRandom || len(pick.least) > length || len(pick.all) == 0 {
		return "", &source.Diagnostic{Code: source.BadArgument, At: s.stack.Place(r.TypeNode), Message: fmt.Sprintf("%q is an OS::Heat::RandomString that Heat cannot create: %d characters, but its classes and sequences need %d", r.Name, length, len(pick.least))}
	}
	return pick.make(), nil
}

// pickFrom reads the character classes and sequences.
func (s *scope) pickFrom(r *hot.Resource, pick *randomPick) error {
	classes, err := s.list(r, "character_classes")
	if err != nil {
		return err
	}
	sequences, err := s.list(r, "character_sequences")
	if err != nil {
		return err
	}
	old, err := s.supplied(r, "sequence", nil)
	if err != nil {
		return err
	}
	if old != nil {
		classes = append(classes, value.DictOf([]string{"class"}, []value.Value{old}))
	}
	if classes == nil {
		classes = []value.Value{value.NewDict()}
	}
	for _, c := range sequences {
		if d, ok := c.(*value.Dict); ok {
			pick.add(value.ToString(valueOf(d, "sequence", "")), valueOf(d, "min", int64(1)))
		}
	}
	for _, c := range classes {
		if d, ok := c.(*value.Dict); ok {
			pick.add(characterClasses[value.ToString(valueOf(d, "class", "lettersdigits"))], valueOf(d, "min", int64(1)))
		}
	}
	return nil
}

func valueOf(d *value.Dict, key string, otherwise value.Value) value.Value {
	if v, ok := d.Get(key); ok {
		return v
	}
	return otherwise
}

// supplied returns the value of a property, or a default if the template has none.
func (s *scope) supplied(r *hot.Resource, name string, otherwise value.Value) (value.Value, error) {
	if r.Property(name) == nil {
		return otherwise, nil
	}
	e, err := s.property(r, name)
	if err != nil {
		return nil, err
	}
	return e.Value, nil
}

func (s *scope) list(r *hot.Resource, name string) ([]value.Value, error) {
	v, err := s.supplied(r, name, nil)
	list, _ := v.([]value.Value)
	return list, err
}

// whole returns a value as an integer, which may be written as a string; 0 if it is not one.
func whole(v value.Value) int {
	n, err := (&hot.Parameter{Type: "number"}).Cast(v)
	if i, ok := n.(int64); ok && err == nil {
		return int(i)
	}
	return 0
}

// randomPick picks characters as Heat does (generate_password).
type randomPick struct {
	length int
	least  []string // a set for each character that must come from it
	all    []rune
}

func (p *randomPick) add(set string, least value.Value) {
	for range min(whole(least), longestRandom+1) {
		p.least = append(p.least, set)
	}
	for _, c := range set {
		if !strings.ContainsRune(string(p.all), c) {
			p.all = append(p.all, c)
		}
	}
}

func (p *randomPick) make() string {
	var picked []rune
	for len(picked) < p.length {
		from := p.all
		if n := len(picked); n < len(p.least) {
			from = []rune(p.least[n])
		}
		picked = append(picked, from[below(len(from))])
	}
	for i := len(picked) - 1; i > 0; i-- {
		at := below(i + 1)
		picked[i], picked[at] = picked[at], picked[i]
	}
	return string(picked)
}

func below(n int) int {
	at, _ := rand.Int(rand.Reader, big.NewInt(int64(max(n, 1)))) // rand.Reader never fails
	return int(at.Int64())
}
