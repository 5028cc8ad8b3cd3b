package puppet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/value"
)

// Names of Puppet variables: of the top scope, and of a class.
var (
	topForm   = regexp.MustCompile(`^[a-z_]\w*$`)
	classVar  = regexp.MustCompile(`^[a-z]\w*(::[a-z]\w*)*::[a-z_]\w*$`)
	reference = regexp.MustCompile(`^[A-Z]\w*(::[A-Z]\w*)*\[.+\]$`)
)

// taken are variables that Puppet itself sets.
var taken = []string{"facts", "trusted", "server_facts", "environment", "name", "title", "module_name", "caller_module_name",
	"settings", "servername", "serverip", "serverversion"}

// names checks the names of inputs and outputs. It returns what each output is in
// Puppet: a variable, a fact or a resource.
func (l *lowering) names() *value.Dict {
	for _, in := range l.Role.Inputs {
		if why := notReadable(in.Name); why != "" {
			l.WrongName("input", in.Name, in.At, why, nameHint)
		}
	}
	outputs := value.NewDict()
	for _, o := range l.Role.Outputs {
		kind, name := outputOf(o)
		if kind == "" {
			l.WrongName("output", o.Name, o.At, name, nameHint)
			continue
		}
		of := value.NewDict()
		of.Set(kind, name)
		outputs.Set(o.Name, of)
	}
	return outputs
}

const nameHint = "an input is `db_url` ($db_url, $facts['db_url'] and the Hiera key) or `wordpress::db_url` (the class parameter and Hiera key); an output is a variable `endpoint`, `mysql::endpoint`, a fact `facts.os.name`, or has `resource:`"

// notReadable says why a manifest cannot read an input of a name.
func notReadable(name string) string {
	switch {
	case strings.HasPrefix(name, "$"), strings.HasPrefix(name, "::"):
		return fmt.Sprintf("write it without %s", name[:len(name)-len(strings.TrimLeft(name, "$:"))])
	case slices.Contains(taken, name):
		return "Puppet itself sets that variable"
	case strings.Contains(name, "."):
		return "a dot selects a part of a Hiera value: declare the whole as `" + name[:strings.Index(name, ".")] + "`, a map"
	}
	return ""
}

// outputOf returns what an output is; without a kind, why it is invalid.
func outputOf(o *program.Output) (kind, name string) {
	if o.Resource != "" {
		return "resource", plainReference(o.Resource)
	}
	fact, isFact := strings.CutPrefix(o.Name, "facts.")
	switch {
	case isFact && fact != "":
		return "fact", fact
	case strings.HasPrefix(o.Name, "$"), strings.HasPrefix(o.Name, "::"):
		return "", notReadable(o.Name)
	case slices.Contains(taken, o.Name):
		return "", "Puppet itself sets that variable"
	case topForm.MatchString(o.Name), classVar.MatchString(o.Name):
		return "variable", o.Name
	}
	return "", "not a valid variable name"
}

// plainReference removes the quotes that a reference may have in a manifest.
func plainReference(text string) string {
	open := strings.IndexByte(text, '[')
	title := strings.TrimSuffix(text[open+1:], "]")
	for _, quote := range []string{"'", `"`} {
		if inner, quoted := strings.CutPrefix(title, quote); quoted {
			title = strings.TrimSuffix(inner, quote)
		}
	}
	return text[:open+1] + title + "]"
}

// checkResource accepts a resource reference as in a manifest.
func checkResource(name string) error {
	if reference.MatchString(name) {
		return nil
	}
	if open := strings.IndexByte(name, '['); open > 0 && strings.HasSuffix(name, "]") {
		parts := strings.Split(name[:open], "::")
		for i, part := range parts {
			if part != "" {
				parts[i] = strings.ToUpper(part[:1]) + part[1:]
			}
		}
		if better := strings.Join(parts, "::") + name[open:]; reference.MatchString(better) {
			return fmt.Errorf("write the resource %q as %q, as in Puppet", name, better)
		}
	}
	return fmt.Errorf("%q is not a resource reference, such as \"Service[mysql]\" or \"Class[mysql::server]\"", name)
}
