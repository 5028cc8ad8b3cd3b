package resourcetype

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/hotc-dev/hotc/compiler/hot"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Violation says which constraint of a property a value breaks that is of its type; nil if
// it breaks none that can be judged without a cloud.
func (p *Property) Violation(v value.Value) error {
	if b, is := v.(bool); is && p.Kind == String {
		v = map[bool]string{true: "True", false: "False"}[b] // as Python has it
	} else if is || v == nil {
		return nil
	}
	if p.Kind == String {
		v = value.ToString(v)
	}
	if err := p.parameter().Violates(v); err != nil {
		return err
	}
	if check := customs[p.Custom]; check != nil {
		if text, is := v.(string); is {
			return check(text)
		}
	}
	return nil
}

// Nothing is what Heat makes of null: the default, or the empty value of the type (heat/
// engine/properties.py, Property).
func (p *Property) Nothing() value.Value {
	switch {
	case p.Default != nil && (p.Kind != List && p.Kind != Map):
		return decoded(p.Default)
	case p.Default != nil:
		return nil
	}
	switch p.Kind {
	case String:
		return ""
	case Integer, Number:
		return int64(0)
	case List:
		return []value.Value{}
	case Map:
		return value.NewDict()
	}
	return nil
}

// parameter is a parameter with the same constraints: HOT's are the same code in Heat.
func (p *Property) parameter() *hot.Parameter {
	p.made.Do(func() { p.like = p.asParameter() })
	return p.like
}

func (p *Property) asParameter() *hot.Parameter {
	types := map[Kind]string{String: "string", Integer: "number", Number: "number", Boolean: "boolean", List: "comma_delimited_list", Map: "json"}
	out := &hot.Parameter{Type: types[p.Kind]}
	add := func(c hot.Constraint) { out.Constraints = append(out.Constraints, c) }
	if p.Range != nil {
		add(hot.Constraint{Kind: "range", Min: decoded(p.Range[0]), Max: decoded(p.Range[1])})
	}
	if p.Length != nil {
		add(hot.Constraint{Kind: "length", Min: decoded(p.Length[0]), Max: decoded(p.Length[1])})
	}
	if p.Values != nil {
		allowed := make([]value.Value, len(p.Values))
		for i, v := range p.Values {
			allowed[i] = decoded(v)
		}
		add(hot.Constraint{Kind: "allowed_values", Allowed: allowed})
	}
	if p.Step != nil {
		add(hot.Constraint{Kind: "modulo", Step: decoded(p.Step), Offset: decoded(p.Offset)})
	}
	if p.Pattern != "" {
		add(hot.AllowedPattern(p.Pattern))
	}
	return out
}

// decoded is a value of the table as HOT has it: its whole numbers are integers.
func decoded(v any) value.Value {
	if f, is := v.(float64); is && f == float64(int64(f)) {
		return int64(f)
	}
	return v
}

// customs are the constraints that need no cloud (heat/engine/constraint/common_constraints.py,
// neutron_lib/api/validators), as far as they are worth it.
var customs = map[string]func(string) error{
	"ip_addr":  address,
	"net_cidr": cidr,
	"ip_or_cidr": func(text string) error {
		if strings.Contains(text, "/") {
			return cidr(text)
		}
		return address(text)
	},
	"mac_addr": func(text string) error {
		if !macAddress.MatchString(text) {
			return fmt.Errorf("a MAC address is expected, such as fa:16:3e:00:00:01, not %q", text)
		}
		return nil
	},
	"dns_domain": func(text string) error {
		if text != "" && !strings.HasSuffix(text, ".") {
			return fmt.Errorf("a domain that ends with a dot is expected, not %q", text)
		}
		return nil
	},
	"rel_dns_name": func(text string) error {
		if strings.HasSuffix(text, ".") {
			return fmt.Errorf("a name below a domain is expected, without a dot at its end, not %q", text)
		}
		return nil
	},
}

// macAddress is what netaddr takes, and a little more.
var macAddress = regexp.MustCompile(`^[0-9a-fA-F]{1,12}([:.-][0-9a-fA-F]{1,6}){0,5}$`)

func address(text string) error {
	if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
		return fmt.Errorf("an IP address is expected, not %q", text)
	}
	return nil
}

func cidr(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return fmt.Errorf("a network is expected, such as 10.0.0.0/24, not %q", text)
	}
	return nil
}
