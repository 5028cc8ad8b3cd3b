package driver_test

import (
	"strings"
	"testing"

	"github.com/hotc-dev/hotc/compiler/contract"
	"github.com/hotc-dev/hotc/runtime/driver"
)

func TestATextIsReadByTheDeclaredType(t *testing.T) {
	for _, c := range []struct {
		declared contract.Type
		text     string
		want     string // a value, or after "!" a part of the error
	}{
		{contract.String, "mysql://db", `"mysql://db"`},
		{contract.String, "with its newline\n", `"with its newline\n"`},
		{contract.String, "", `""`},
		{contract.String, `a "quote" <b> ☃`, `"a \"quote\" <b> ☃"`},
		{contract.String, "123", `"123"`},
		{contract.String, "\xff\xfe", "!not UTF-8"},
		{contract.Number, "3306\n", `3306`},
		{contract.Number, "-1.5e3", `-1.5e3`},
		{contract.Number, "many", `!the value is not valid JSON`},
		{contract.Number, `"3306"`, `!expected a number, but the value is a string: "\"3306\""`},
		{contract.Boolean, "false", `false`},
		{contract.Boolean, "0", `!expected a boolean`},
		{contract.List, " [ 1, 2 ] ", `[1,2]`},
		{contract.List, "{}", `!expected a list, but the value is a map or null`},
		{contract.JSON, `{"a": [null]}`, `{"a":[null]}`},
		{contract.JSON, "null", `null`},
		{contract.JSON, "", `!the value is not valid JSON`},
		{contract.JSON, "\"\xff\"", "!not UTF-8"},
	} {
		value, err := driver.Parse(c.declared, []byte(c.text))
		if part, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q as %s: got %s, %v, want an error with %q", c.text, c.declared, value, err, part)
			}
		} else if err != nil || string(value) != c.want {
			t.Errorf("%q as %s: got %s, %v, want %s", c.text, c.declared, value, err, c.want)
		}
	}
}

func TestAValueIsReadBackAsItWasWritten(t *testing.T) {
	for value, want := range map[string]string{
		`"a\n\"b\""`: "a\n\"b\"",
		`""`:         "",
		`3306`:       "3306",
		`[1,"a"]`:    `[1,"a"]`,
		`false`:      "false",
		`null`:       "null",
	} {
		if got := string(driver.Text([]byte(value))); got != want {
			t.Errorf("%s reads as %q, want %q", value, got, want)
		}
	}
}

func TestNamesOfFilesAreExactAndReversible(t *testing.T) {
	for name, want := range map[string]string{
		"wordpress.db.url": "wordpress.db.url",
		"a/b":              "a%2Fb",
		"a%2Fb":            "a%252Fb",
		"..":               "%2E%2E",
		".":                "%2E",
		".hidden":          ".hidden",
	} {
		if got := driver.FileName(name); got != want {
			t.Errorf("%q is the file %q, want %q", name, got, want)
		}
		if back := driver.NameOfFile(driver.FileName(name)); back != name {
			t.Errorf("%q came back as %q", name, back)
		}
	}
}
