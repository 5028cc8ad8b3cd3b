// Package chef is the compiler's half of the chef driver: the source is where the
// cookbooks are and what of them runs; inputs and outputs are places in the node's
// attributes.
//
// Cookbooks that lie beside the template are looked into: what the run list names
// must be there. Those that the server fetches, or that a `prepare` command brings,
// are known only there.
package chef

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hotc-dev/hotc/compiler/driver"
	"github.com/hotc-dev/hotc/compiler/program"
	"github.com/hotc-dev/hotc/compiler/source"
	"github.com/hotc-dev/hotc/compiler/value"
	"github.com/hotc-dev/hotc/compiler/yaml"
)

// Driver is the chef driver.
type Driver struct{}

// Name is "chef".
func (Driver) Name() string { return "chef" }

// InstallsFrom implements driver.Installable.
func (Driver) InstallsFrom() []string { return []string{"gem", "url", "packages"} }

// CheckLicence implements driver.Licensed.
func (Driver) CheckLicence(licence string) error {
	// the words of Chef's own CHEF_LICENSE
	if words := []string{"accept", "accept-no-persist", "accept-silent"}; !slices.Contains(words, licence) {
		return fmt.Errorf("Chef's licence is accepted with one of %s, not %q", strings.Join(words, ", "), licence)
	}
	return nil
}

var resourceForm = regexp.MustCompile(`^[a-z_][a-z0-9_]*\[[^\[\]\n]+\]$`)

// CheckResource implements driver.Resources.
func (Driver) CheckResource(name string) error {
	if !resourceForm.MatchString(name) {
		return fmt.Errorf("%q is not a resource of Chef's: it is written TYPE[NAME], as in a notification: service[mysql]", name)
	}
	return nil
}

// lowering is the reading of one role's source.
type lowering struct {
	role  driver.Role
	diags *source.Diagnostics
	keys  *value.Dict // of the source
	out   *value.Dict // what the driver's other half gets
	files []program.File
	// holds is what is known of the trees.
	holds holdings
	items []item // the run list
	bad   bool
}

// Lower reads a source.
func (Driver) Lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	l := &lowering{role: role, diags: diags, out: value.NewDict()}
	if !l.openSource() {
		return nil
	}
	l.trees()
	l.texts()
	l.attributes()
	l.runList()
	l.places()
	if l.bad {
		return nil
	}
	sequence, unchecked := l.sequence()
	return &program.Meaning{Source: l.out, Files: l.files, Sequence: sequence, Unchecked: unchecked}
}

// sourceKeys are the keys of a source.
var sourceKeys = []string{"cookbooks", "repository", "roles", "data_bags", "environments", "environment", "run_list", "attributes", "prepare", "config", "mode"}

const sourceHint = "`source: {cookbooks: ./cookbooks, run_list: [\"recipe[web]\"]}`; docs/chef.md has all keys"

func (l *lowering) openSource() bool {
	if l.role.Source == nil {
		l.wrong(l.role.At, sourceHint, "role %q has no source: the chef driver needs cookbooks", l.role.Name)
		return false
	}
	keys, is := l.role.Source.(*value.Dict)
	if !is {
		l.wrong(l.role.SourceAt, sourceHint, "the source of role %q must be a map, not %s", l.role.Name, value.TypeName(l.role.Source))
		return false
	}
	l.keys = keys
	for _, key := range keys.Keys() {
		if slices.Contains(sourceKeys, key) {
			continue
		}
		l.wrong(l.role.Locate(key), driver.KeyHint(key, sourceKeys), "the source of role %q has the key %q, which chef does not know", l.role.Name, key)
	}
	for _, key := range []string{"cookbooks", "repository", "prepare"} {
		if _, given := keys.Get(key); given {
			return true
		}
	}
	if !l.bad { // a key that is written wrong may be the one that is missed
		l.wrong(l.role.SourceAt, "name `cookbooks:` or `repository:`; a role's own source takes the place of the whole source of the defaults",
			"the source of role %q says nothing of cookbooks", l.role.Name)
	}
	return false
}

// wrong says what is wrong with the source.
func (l *lowering) wrong(at source.Place, hint, format string, args ...any) {
	l.bad = true
	l.diags.Error(source.BadSource, at, fmt.Sprintf(format, args...), hint)
}

// texts takes the keys that are texts along.
func (l *lowering) texts() {
	for _, key := range []string{"environment", "prepare", "config", "mode"} {
		val, given := l.keys.Get(key)
		if !given {
			continue
		}
		text, is := val.(string)
		switch at := l.role.Locate(key); {
		case !is || strings.TrimSpace(text) == "":
			l.wrong(at, "", "%s of role %q must be a text, not %s", key, l.role.Name, value.TypeName(val))
		case key == "mode" && text != "solo" && text != "client":
			l.wrong(at, "`solo` is chef-solo; `client` is chef-client in local mode", "there is no mode %q", text)
		case key == "environment" && !nameForm.MatchString(text):
			l.wrong(at, "letters, digits, _ and -", "%q is not a name of an environment", text)
		default:
			l.out.Set(key, text)
		}
	}
}

// attributes takes the node's JSON along: a map, or the text of one. Such a file may
// hold the run list, too.
func (l *lowering) attributes() {
	val, given := l.keys.Get("attributes")
	if !given {
		return
	}
	at := l.role.Locate("attributes")
	if text, is := val.(string); is {
		decoded, err := yaml.DecodeJSON([]byte(text))
		if err != nil {
			l.wrong(at, "", "the attributes of role %q are not JSON: %v", l.role.Name, err)
			return
		}
		val = decoded
	}
	attributes, is := val.(*value.Dict)
	if !is {
		l.wrong(at, "`attributes: {mysql: {port: 3306}}`, or {get_file: node.json}", "the attributes of role %q must be a map, not %s", l.role.Name, value.TypeName(val))
		return
	}
	kept := value.NewDict()
	for _, key := range attributes.Keys() {
		inner, _ := attributes.Get(key)
		if key != "run_list" {
			kept.Set(key, inner)
			continue
		}
		if _, twice := l.keys.Get("run_list"); twice {
			l.wrong(at, "leave one of them out", "the attributes of role %q hold a run list, and the source has one, too", l.role.Name)
			return
		}
		l.keys.Set("run_list", inner)
	}
	l.out.Set("attributes", kept)
}
