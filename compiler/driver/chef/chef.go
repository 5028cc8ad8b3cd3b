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
var Driver = driver.Driver{Name: "chef", InstallsFrom: []string{"gem", "url", "packages"}, CheckLicence: checkLicence, CheckResource: checkResource, Lower: lower}

// checkLicence takes the words of Chef's own CHEF_LICENSE.
func checkLicence(licence string) error {
	if words := []string{"accept", "accept-no-persist", "accept-silent"}; !slices.Contains(words, licence) {
		return fmt.Errorf("Chef's licence is accepted with one of %s, not %q", strings.Join(words, ", "), licence)
	}
	return nil
}

var resourceForm = regexp.MustCompile(`^[a-z_][a-z0-9_]*\[[^\[\]\n]+\]$`)

func checkResource(name string) error {
	if !resourceForm.MatchString(name) {
		return fmt.Errorf("%q is not a resource of Chef's: it is written TYPE[NAME], as in a notification: service[mysql]", name)
	}
	return nil
}

// lowering is the reading of one role's source.
type lowering struct {
	driver.Reading
	keys *value.Dict // of the source
	// holds is what is known of the trees.
	holds holdings
	items []item // the run list
}

var form = driver.Form{Driver: "chef", Needs: "cookbooks", Takes: "a map",
	Keys: []string{"cookbooks", "repository", "roles", "data_bags", "environments", "environment", "run_list", "attributes", "prepare", "config", "mode"},
	Hint: "`source: {cookbooks: ./cookbooks, run_list: [\"recipe[web]\"]}`; docs/chef.md has all keys"}

func lower(role driver.Role, diags *source.Diagnostics) *program.Meaning {
	l := &lowering{Reading: driver.NewReading(role, diags)}
	l.Open(&form, nil, l.source)
	if l.Failed {
		return nil
	}
	sequence, unchecked := l.sequence()
	return &program.Meaning{Source: l.Out, Files: l.Files, Sequence: sequence, Unchecked: unchecked}
}

func (l *lowering) source(keys *value.Dict) {
	l.keys = keys
	if !slices.ContainsFunc([]string{"cookbooks", "repository", "prepare"}, keys.Has) {
		if !l.Failed { // a key that is written wrong may be the one that is missed
			l.Wrong(nil, "name `cookbooks:` or `repository:`; a role's own source takes the place of the whole source of the defaults",
				"the source of role %q says nothing of cookbooks", l.Role.Name)
		}
		return
	}
	l.trees()
	l.texts()
	l.attributes()
	l.runList()
	l.places()
}

// texts takes the keys that are texts along.
func (l *lowering) texts() {
	for _, key := range []string{"environment", "prepare", "config", "mode"} {
		val, given := l.keys.Get(key)
		if !given {
			continue
		}
		text, is := val.(string)
		switch at := l.Role.Locate(key); {
		case !is || strings.TrimSpace(text) == "":
			l.WrongAt(at, "", "%s of role %q must be a text, not %s", key, l.Role.Name, value.TypeName(val))
		case key == "mode" && text != "solo" && text != "client":
			l.WrongAt(at, "`solo` is chef-solo; `client` is chef-client in local mode", "there is no mode %q", text)
		case key == "environment" && !nameForm.MatchString(text):
			l.WrongAt(at, "letters, digits, _ and -", "%q is not a name of an environment", text)
		default:
			l.Out.Set(key, text)
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
	at := l.Role.Locate("attributes")
	if text, is := val.(string); is {
		decoded, err := yaml.DecodeJSON([]byte(text))
		if err != nil {
			l.WrongAt(at, "", "the attributes of role %q are not JSON: %v", l.Role.Name, err)
			return
		}
		val = decoded
	}
	attributes, is := val.(*value.Dict)
	if !is {
		l.WrongAt(at, "`attributes: {mysql: {port: 3306}}`, or {get_file: node.json}", "the attributes of role %q must be a map, not %s", l.Role.Name, value.TypeName(val))
		return
	}
	kept := value.NewDict()
	for _, key := range attributes.Keys() {
		inner, _ := attributes.Get(key)
		if key != "run_list" {
			kept.Set(key, inner)
			continue
		}
		if l.keys.Has("run_list") {
			l.WrongAt(at, "leave one of them out", "the attributes of role %q hold a run list, and the source has one, too", l.Role.Name)
			return
		}
		l.keys.Set("run_list", inner)
	}
	l.Out.Set("attributes", kept)
}
