package hot

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/compiler/value"
)

// str_split and Fn::Split, Fn::Base64 (heat/engine/hot/functions.py: StrSplit;
// heat/engine/cfn/functions.py: Split, Base64).

var (
	strSplit = &Function{Name: "str_split", Gives: contract.List, works: SplitText, Check: checkSplit, Apply: applySplit}
	fnSplit  = &Function{Name: "Fn::Split", Check: checkFnSplit, Apply: applyFnSplit, Positional: everyItem}
	fnBase64 = &Function{Name: "Fn::Base64", Apply: applyBase64}
)

func checkSplit(arg *Expr) error {
	if _, isText := arg.text(); isText || arg.isMap() {
		return wants("str_split", "a list of the delimiter, the string and optionally an index", arg)
	}
	return nil
}

func applySplit(_ *work, arg value.Value) (value.Value, error) {
	args, _ := arg.([]value.Value)
	if len(args) < 2 {
		return nil, fmt.Errorf("str_split needs a list of the delimiter, the string and optionally an index")
	}
	if args[1] == nil {
		return nil, nil
	}
	parts, err := splitText("str_split", args[0], args[1])
	if err != nil || len(args) == 2 {
		return parts, err
	}
	n, ok := value.Integer(args[2])
	if !ok {
		return nil, fmt.Errorf("str_split: the index must be a number, not %s", shown(args[2]))
	}
	i, ok := position(n, len(parts))
	if !ok {
		return nil, fmt.Errorf("str_split: index %s is out of range: the parts are 0 to %d", value.ToString(n), len(parts)-1)
	}
	return parts[i], nil
}

// splitText is Python's str.split: without a delimiter it splits at white space.
func splitText(name string, delimiter, text value.Value) ([]value.Value, error) {
	s, ok := text.(string)
	if !ok {
		return nil, fmt.Errorf("%s splits a string, not %s", name, value.TypeName(text))
	}
	var parts []string
	switch d := delimiter.(type) {
	case nil:
		parts = strings.FieldsFunc(s, value.IsSpace)
	case string:
		if d == "" {
			return nil, fmt.Errorf("%s: the delimiter is empty", name)
		}
		parts = strings.Split(s, d)
	default:
		return nil, fmt.Errorf("%s: the delimiter must be a string, not %s", name, value.TypeName(d))
	}
	return value.Texts(parts), nil
}

func checkFnSplit(arg *Expr) error {
	items, ok := arg.list()
	if !ok || len(items) != 2 {
		return wants("Fn::Split", "a list of the delimiter and the string", arg)
	}
	if _, isText := items[0].text(); !isText {
		return wants("Fn::Split: the delimiter", "to be a string", items[0])
	}
	return nil
}

func applyFnSplit(_ *work, arg value.Value) (value.Value, error) {
	args := arg.([]value.Value)
	parts, err := splitText("Fn::Split", args[0], args[1])
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// Fn::Base64 encodes nothing: Heat expects user data as plain text.
func applyBase64(_ *work, arg value.Value) (value.Value, error) {
	if _, ok := arg.(string); !ok {
		return nil, fmt.Errorf("Fn::Base64 needs a string, not %s", value.TypeName(arg))
	}
	return arg, nil
}

// shown formats a value for a message.
func shown(v value.Value) string {
	if s, ok := v.(string); ok && len(s) <= 60 {
		return strconv.Quote(s)
	}
	switch v.(type) {
	case bool, float64, int64:
		return value.ToString(v)
	}
	return value.TypeName(v)
}
